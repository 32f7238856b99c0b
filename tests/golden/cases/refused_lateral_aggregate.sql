-- a column of the query around in an aggregate of LATERAL
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT c.name, x.total FROM lake.customer c, LATERAL (SELECT SUM(s.amount * c.cust) AS total FROM lake.sales s WHERE s.cust = c.cust) x

-- refused
--   a column of the query around, in an aggregate of LATERAL or beside it at line 1
--   l FROM lake.customer c, LATERAL (SELECT SUM(s.amount * c.cust) AS total FROM lake.sales s WHERE s.cust = c.cust) x
--                                           ^^^^^^^^^^^^^^^^^^^^^^
--   hint: read it in WHERE, and compute with it outside
