-- FIRST without an order
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, FIRST(id) AS f FROM lake.sales GROUP BY region

-- refused
--   aggregate FIRST at line 1
--   SELECT region, FIRST(id) AS f FROM lake.sales GROUP BY region
--                  ^^^^^^^^^
--   hint: write MIN_BY(x, time), which says which row is meant
