-- ANY_VALUE
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, ANY_VALUE(id) AS f FROM lake.sales GROUP BY region

-- refused
--   aggregate ANY_VALUE at line 1
--   SELECT region, ANY_VALUE(id) AS f FROM lake.sales GROUP BY region
--                  ^^^^^^^^^^^^^
--   hint: write MIN(x) or MAX(x)
