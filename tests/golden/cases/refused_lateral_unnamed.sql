-- a column without a name in LATERAL
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT * FROM lake.customer c, LATERAL (SELECT MAX(s.id) FROM lake.sales s WHERE s.cust = c.cust) x

-- refused
--   a column without a name in LATERAL at line 1
--   SELECT * FROM lake.customer c, LATERAL (SELECT MAX(s.id) FROM lake.sales s WHERE s.cust = c.cust) x
--                                                  ^^^^^^^^^
--   hint: name it with AS, or name all columns: LATERAL (…) AS q(a, b)
