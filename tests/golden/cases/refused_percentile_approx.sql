-- PERCENTILE_APPROX
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, PERCENTILE_APPROX(amount, 0.5) AS q FROM lake.sales GROUP BY region

-- refused
--   aggregate PERCENTILE_APPROX at line 1
--   SELECT region, PERCENTILE_APPROX(amount, 0.5) AS q FROM lake.sales GROUP BY region
--                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write PERCENTILE(x, 0.5), which is exact
