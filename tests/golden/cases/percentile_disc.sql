-- PERCENTILE_DISC WITHIN GROUP
-- construct: Median, percentiles, mode
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY amount) AS q
FROM lake.sales
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
-- rows
--   1: ('n', 10.0) ('s', 20.0) (NULL, NULL)
--   2: ('e', 20.0) ('n', 5.0) ('s', 7.0) (NULL, NULL)
--   3: ('e', 20.0) ('n', 5.0) ('s', 7.0) (NULL, NULL)
--   4: ('e', 20.0) ('n', 5.0) ('s', 7.0) (NULL, NULL)
--   5: ('e', 20.0) ('n', 5.0) ('s', 7.0)
--   6: ('e', 20.0) ('n', 5.0) ('s', 7.0)
