-- an alias that is a column of the query around
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT c.name, x.f FROM lake.customer c, LATERAL (SELECT s.id AS name, name AS f FROM lake.sales s WHERE s.cust = c.cust) x

-- refused
--   "name" is an alias and a column of the query around at line 1
--   stomer c, LATERAL (SELECT s.id AS name, name AS f FROM lake.sales s WHERE s.cust = c.cust) x
--                                           ^^^^
--   hint: put the table before it, or choose another alias
