-- ARRAY_AGG of distinct values, sorted
-- construct: COLLECT_SET, ARRAY_AGG, STRING_AGG
-- spark only: another grammar in DuckDB
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, SORT_ARRAY(ARRAY_AGG(DISTINCT cust)) AS c
FROM lake.sales
WHERE cust IS NOT NULL
GROUP BY region

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: bags by region, groups
--     + changes of lake.sales in (1, 2]
