-- Sums over the groups of a CUBE, filtered
-- construct: Windowed aggregates
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, cust, SUM(amount) AS total, SUM(SUM(amount)) OVER (PARTITION BY GROUPING(region), GROUPING(cust)) AS whole
FROM lake.sales GROUP BY CUBE (region, cust) HAVING COUNT(*) > 1

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (6, 4, 20, 'e')  + lake.sales (6, 4, 20, 'e') (7, 4, 20, 'e')
--   6  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   7  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v#0: reduce by k0, k1, 2 sums
--     + changes of lake.sales in (1, 2]
--   v#1: reduce by k0, 2 sums
--     + changes of lake.sales in (1, 2]
--   v#2: reduce by k0, 2 sums
--     + changes of lake.sales in (1, 2]
--   v#3: reduce, 2 sums
--     + changes of lake.sales in (1, 2]
--   v#4: union
--     + changes of v#0 in (1, 2]
--     + changes of v#1 in (1, 2]
--     + changes of v#2 in (1, 2]
--     + changes of v#3 in (1, 2]
--   v: bags by _rv_a4, _rv_a3, windows
--     + changes of v#4 in (1, 2]
-- rows
--   1: ('n', 1, 20, 20) ('n', NULL, 25, 25) (NULL, 1, 20, 20) (NULL, NULL, 45, 45)
--   2: ('n', NULL, 15, 42) ('s', NULL, 27, 42) (NULL, 1, 10, 10) (NULL, NULL, 62, 62)
--   3: ('n', NULL, 15, 42) ('s', NULL, 27, 42) (NULL, 1, 30, 30) (NULL, NULL, 62, 62)
--   4: ('n', NULL, 15, 42) ('s', NULL, 27, 42) (NULL, 1, 30, 30) (NULL, NULL, 62, 62)
--   5: ('e', 4, 40, 40) ('e', NULL, 40, 82) ('n', NULL, 15, 82) ('s', NULL, 27, 82) (NULL, 1, 30, 70) (NULL, 4, 40, 70) (NULL, NULL, 82, 82)
--   6: ('e', 4, 40, 40) ('e', NULL, 40, 40) (NULL, 4, 40, 40) (NULL, NULL, 52, 52)
--   7: ('e', 4, 40, 40) ('e', NULL, 40, 55) ('n', NULL, 15, 55) (NULL, 4, 40, 40) (NULL, NULL, 62, 62)
