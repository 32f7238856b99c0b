-- RANK over the groups of a ROLLUP
-- construct: Ranking windows
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, COUNT(*) AS n, RANK() OVER (PARTITION BY GROUPING_ID() ORDER BY COUNT(*) DESC) AS place FROM lake.sales
GROUP BY ROLLUP (region)

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (6, 4, 20, 'e')  + lake.sales (6, 4, 20, 'e') (7, 4, 20, 'e')
--   6  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   7  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v#0: reduce by k0
--     + changes of lake.sales in (1, 2]
--   v#1: reduce
--     + changes of lake.sales in (1, 2]
--   v#2: union
--     + changes of v#0 in (1, 2]
--     + changes of v#1 in (1, 2]
--   v: bags by _rv_a2, windows
--     + changes of v#2 in (1, 2]
-- rows
--   1: ('n', 3, 1) ('s', 1, 2) (NULL, 1, 2) (NULL, 5, 1)
--   2: ('e', 1, 3) ('n', 2, 1) ('s', 2, 1) (NULL, 1, 3) (NULL, 6, 1)
--   3: ('e', 1, 3) ('n', 2, 1) ('s', 2, 1) (NULL, 1, 3) (NULL, 6, 1)
--   4: ('e', 1, 3) ('n', 2, 1) ('s', 2, 1) (NULL, 1, 3) (NULL, 6, 1)
--   5: ('e', 2, 1) ('n', 2, 1) ('s', 2, 1) (NULL, 1, 4) (NULL, 7, 1)
--   6: ('e', 2, 1) ('n', 1, 2) ('s', 1, 2) (NULL, 4, 1)
--   7: ('e', 2, 1) ('n', 2, 1) ('s', 1, 3) (NULL, 5, 1)
