-- UNION in LATERAL
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT c.name, x.id FROM lake.customer c, LATERAL (SELECT s.id FROM lake.sales s WHERE s.cust = c.cust UNION SELECT c.cust) x

-- refused
--   UNION in a correlated LATERAL at line 1
--   es s WHERE s.cust = c.cust UNION SELECT c.cust) x
--                                           ^^^^^^
--   hint: write UNION ALL, or EXISTS and NOT EXISTS in WHERE
