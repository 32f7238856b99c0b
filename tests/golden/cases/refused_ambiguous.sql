-- a column of two tables
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT region FROM lake.sales s, lake.customer c

-- refused
--   column "region" is ambiguous at line 1
--   SELECT region FROM lake.sales s, lake.customer c
--          ^^^^^^
--   hint: put the table before it; it is in c, s
