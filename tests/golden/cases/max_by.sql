-- MAX_BY
-- construct: MIN_BY, MAX_BY, FIRST, LAST
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, MAX_BY(cust, id * 10 + cust) AS c FROM lake.sales GROUP BY region

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
--   1: ('n', 1) ('s', 2) (NULL, 1)
--   2: ('e', 4) ('n', 1) ('s', 3) (NULL, 1)
--   3: ('e', 4) ('n', 1) ('s', 3) (NULL, 1)
--   4: ('e', 4) ('n', 1) ('s', 3) (NULL, 1)
--   5: ('e', 4) ('n', NULL) ('s', 3)
--   6: ('e', 4) ('n', 1) ('s', 3)
