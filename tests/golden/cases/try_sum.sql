-- TRY_SUM
-- construct: APPROX_COUNT_DISTINCT and other Spark aggregates
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, TRY_SUM(amount) AS s FROM lake.sales GROUP BY region

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
--   1: ('n', 25) ('s', 20) (NULL, NULL)
--   2: ('e', 20) ('n', 15) ('s', 27) (NULL, NULL)
--   3: ('e', 20) ('n', 15) ('s', 27) (NULL, NULL)
--   4: ('e', 20) ('n', 15) ('s', 27) (NULL, NULL)
--   5: ('e', 20) ('n', 5) ('s', 7)
--   6: ('e', 20) ('n', 15) ('s', 7)
