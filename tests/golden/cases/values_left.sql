-- on the left of an outer join
-- construct: VALUES
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT v.r, COUNT(s.id) AS n
FROM (VALUES ('n'), ('s'), ('w')) AS v(r)
LEFT JOIN lake.sales s ON s.region = v.r
GROUP BY v.r

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
--   v: reduce by r, 1 sums
--     + changes of lake.sales in (1, 2]
--     + changes of lake.sales in (1, 2]
--     + changes of lake.sales in (1, 2]
--     - changes of v#0 in (1, 2]
--     - changes of v#0 in (1, 2]
--     - changes of v#0 in (1, 2]
-- rows
--   1: ('n', 3) ('s', 1) ('w', 0)
--   2: ('n', 2) ('s', 2) ('w', 0)
--   3: ('n', 2) ('s', 2) ('w', 0)
--   4: ('n', 2) ('s', 2) ('w', 0)
--   5: ('n', 1) ('s', 1) ('w', 0)
--   6: ('n', 2) ('s', 1) ('w', 0)
