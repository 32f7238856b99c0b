-- ROLLUP
-- construct: GROUPING SETS, ROLLUP, CUBE
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, cust, COUNT(*) AS n, SUM(amount) AS s
FROM lake.sales
GROUP BY ROLLUP (region, cust)

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v#0: reduce by k0, k1, 2 sums
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
--   1: ('n', 1, 2, 20) ('n', NULL, 1, 5) ('n', NULL, 3, 25) ('s', 2, 1, 20) ('s', NULL, 1, 20) (NULL, 1, 1, NULL) (NULL, NULL, 1, NULL) (NULL, NULL, 5, 45)
--   2: ('e', 4, 1, 20) ('e', NULL, 1, 20) ('n', 1, 1, 10) ('n', NULL, 1, 5) ('n', NULL, 2, 15) ('s', 2, 1, 20) ('s', 3, 1, 7) ('s', NULL, 2, 27) (NULL, 1, 1, NULL) (NULL, NULL, 1, NULL) (NULL, NULL, 6, 62)
--   3: ('e', 4, 1, 20) ('e', NULL, 1, 20) ('n', 1, 1, 10) ('n', NULL, 1, 5) ('n', NULL, 2, 15) ('s', 1, 1, 20) ('s', 3, 1, 7) ('s', NULL, 2, 27) (NULL, 1, 1, NULL) (NULL, NULL, 1, NULL) (NULL, NULL, 6, 62)
--   4: ('e', 4, 1, 20) ('e', NULL, 1, 20) ('n', 1, 1, 10) ('n', NULL, 1, 5) ('n', NULL, 2, 15) ('s', 1, 1, 20) ('s', 3, 1, 7) ('s', NULL, 2, 27) (NULL, 1, 1, NULL) (NULL, NULL, 1, NULL) (NULL, NULL, 6, 62)
--   5: ('e', 4, 1, 20) ('e', NULL, 1, 20) ('n', NULL, 1, 5) x2 ('s', 3, 1, 7) ('s', NULL, 1, 7) (NULL, NULL, 3, 32)
--   6: ('e', 4, 1, 20) ('e', NULL, 1, 20) ('n', 1, 1, 10) ('n', NULL, 1, 5) ('n', NULL, 2, 15) ('s', 3, 1, 7) ('s', NULL, 1, 7) (NULL, NULL, 4, 42)
