-- DISTINCT ON
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT DISTINCT ON (region) region, id FROM lake.sales ORDER BY region, id

-- refused
--   DISTINCT ON at line 1
--   SELECT DISTINCT ON (region) region, id FROM lake.sales ORDER BY region, id
--          ^^^^^^^^^^^^^^^^^^^
--   hint: write QUALIFY ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) = 1
