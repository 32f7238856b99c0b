-- a row that is read inside FROM of LATERAL
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT c.name, x.id FROM lake.customer c, LATERAL (SELECT q.id FROM (SELECT s.id FROM lake.sales s WHERE s.cust = c.cust) q) x

-- refused
--   a column of "c" inside FROM of a LATERAL query at line 1
--   T s.id FROM lake.sales s WHERE s.cust = c.cust) q) x
--                                           ^^^^^^
--   hint: write the condition in WHERE of the LATERAL query itself
