-- A sketch that depends on the order of rows
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, HLL_SKETCH_AGG(cust) AS h FROM lake.sales GROUP BY region

-- refused
--   aggregate HLL_SKETCH_AGG at line 1
--   SELECT region, HLL_SKETCH_AGG(cust) AS h FROM lake.sales GROUP BY region
--                  ^^^^^^^^^^^^^^^^^^^^
--   hint: write COUNT(DISTINCT x), or APPROX_COUNT_DISTINCT(x)
