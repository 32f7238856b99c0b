-- GROUPING tells a total from a NULL
-- construct: GROUPING SETS, ROLLUP, CUBE
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, GROUPING(region) AS g, COUNT(*) AS n
FROM lake.sales
GROUP BY ROLLUP (region)

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v#0: reduce by k0
--     + changes of lake.sales in (1, 2]
--   v#1: reduce
--     + changes of lake.sales in (1, 2]
--   v: union
--     + changes of v#0 in (1, 2]
--     + changes of v#1 in (1, 2]
-- rows
--   1: ('n', 0, 3) ('s', 0, 1) (NULL, 0, 1) (NULL, 1, 5)
--   2: ('e', 0, 1) ('n', 0, 2) ('s', 0, 2) (NULL, 0, 1) (NULL, 1, 6)
--   3: ('e', 0, 1) ('n', 0, 2) ('s', 0, 2) (NULL, 0, 1) (NULL, 1, 6)
--   4: ('e', 0, 1) ('n', 0, 2) ('s', 0, 2) (NULL, 0, 1) (NULL, 1, 6)
--   5: ('e', 0, 1) ('n', 0, 1) ('s', 0, 1) (NULL, 1, 3)
--   6: ('e', 0, 1) ('n', 0, 2) ('s', 0, 1) (NULL, 1, 4)
