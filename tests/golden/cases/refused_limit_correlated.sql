-- LIMIT in a subquery that an inequality relates
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT id, (SELECT name FROM lake.customer c WHERE c.cust < s.cust ORDER BY name LIMIT 1) AS n FROM lake.sales s

-- refused
--   LIMIT in a correlated subquery at line 1
--   SELECT id, (SELECT name FROM lake.customer c WHERE c.cust < s.cust ORDER BY name LIMIT 1) AS n FROM lake.sales s
--                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: relate it by equalities in WHERE, and only there; or write MAX_BY or MIN_BY
