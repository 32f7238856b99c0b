-- something else than a SELECT
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

DROP TABLE lake.sales

-- refused
--   DROP at line 1
--   DROP TABLE lake.sales
--   ^^^^
--   hint: a view is one SELECT statement
