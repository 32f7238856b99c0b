-- GROUPING SETS
-- construct: GROUPING SETS, ROLLUP, CUBE
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, cust, SUM(amount) AS s
FROM lake.sales
GROUP BY GROUPING SETS ((region), (cust), ())

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v#0: reduce by k0, 2 sums
--     + changes of lake.sales in (1, 2]
--   v#1: reduce by k0, 2 sums
--     + changes of lake.sales in (1, 2]
--   v#2: reduce, 2 sums
--     + changes of lake.sales in (1, 2]
--   v: union
--     + changes of v#0 in (1, 2]
--     + changes of v#1 in (1, 2]
--     + changes of v#2 in (1, 2]
-- rows
--   1: ('n', NULL, 25) ('s', NULL, 20) (NULL, 1, 20) (NULL, 2, 20) (NULL, NULL, 45) (NULL, NULL, 5) (NULL, NULL, NULL)
--   2: ('e', NULL, 20) ('n', NULL, 15) ('s', NULL, 27) (NULL, 1, 10) (NULL, 2, 20) (NULL, 3, 7) (NULL, 4, 20) (NULL, NULL, 5) (NULL, NULL, 62) (NULL, NULL, NULL)
--   3: ('e', NULL, 20) ('n', NULL, 15) ('s', NULL, 27) (NULL, 1, 30) (NULL, 3, 7) (NULL, 4, 20) (NULL, NULL, 5) (NULL, NULL, 62) (NULL, NULL, NULL)
--   4: ('e', NULL, 20) ('n', NULL, 15) ('s', NULL, 27) (NULL, 1, 30) (NULL, 3, 7) (NULL, 4, 20) (NULL, NULL, 5) (NULL, NULL, 62) (NULL, NULL, NULL)
--   5: ('e', NULL, 20) ('n', NULL, 5) ('s', NULL, 7) (NULL, 3, 7) (NULL, 4, 20) (NULL, NULL, 32) (NULL, NULL, 5)
--   6: ('e', NULL, 20) ('n', NULL, 15) ('s', NULL, 7) (NULL, 1, 10) (NULL, 3, 7) (NULL, 4, 20) (NULL, NULL, 42) (NULL, NULL, 5)
