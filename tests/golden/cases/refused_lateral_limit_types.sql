-- LIMIT on keys of two types: '1' and '01' equal 1
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT c.name, x.id FROM lake.customer c, LATERAL (SELECT s.id FROM lake.sales s WHERE s.region = c.cust ORDER BY s.id LIMIT 1) x

-- refused
--   LIMIT in a subquery that is related by columns of different types at line 1
--   d FROM lake.customer c, LATERAL (SELECT s.id FROM lake.sales s WHERE s.region = c.cust ORDER BY s.id LIMIT 1) x
--                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: CAST its own column to the type of the other
