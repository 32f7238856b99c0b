-- LIMIT in LATERAL, related by less than
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT c.name, x.id FROM lake.customer c, LATERAL (SELECT s.id FROM lake.sales s WHERE s.cust < c.cust ORDER BY s.id LIMIT 1) x

-- refused
--   LIMIT in a correlated subquery at line 1
--   d FROM lake.customer c, LATERAL (SELECT s.id FROM lake.sales s WHERE s.cust < c.cust ORDER BY s.id LIMIT 1) x
--                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: relate it by equalities in WHERE, and only there; or write MAX_BY or MIN_BY
