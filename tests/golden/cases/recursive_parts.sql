-- UNION ALL: quantities along a bill of materials
-- construct: WITH RECURSIVE
-- table lake.part (whole INT, part INT, n INT)

WITH RECURSIVE r AS (SELECT whole, part, n FROM lake.part WHERE whole < part UNION ALL SELECT r.whole, p.part, r.n * p.n AS n FROM r JOIN lake.part p ON r.part = p.whole WHERE p.whole < p.part)
SELECT whole, part, SUM(n) AS n
FROM r
GROUP BY whole, part

-- commits
--   1  + lake.part (1, 2, 2) (2, 3, 4) (1, 3, 1)
--   2  + lake.part (3, 4, 10)
--   3  - lake.part (2, 3, 4)  + lake.part (2, 3, 5)
--   4  - lake.part (1, 3, 1)
--   5  - lake.part (1, 2, 2)  + lake.part (1, NULL, 2)
-- blocks
--   v#0: fixpoint of all rows
--     + changes of lake.part in (1, 2]
--     + v#0 as of 1 x changes of lake.part in (1, 2]
--     + changes of v#0 in (1, 2] x lake.part as of 2, stamps kept since 1
--   v: reduce by whole, part, 2 sums
--     + changes of v#0 in (1, 2]
-- rows
--   1: (1, 2, 2) (1, 3, 9) (2, 3, 4)
--   2: (1, 2, 2) (1, 3, 9) (1, 4, 90) (2, 3, 4) (2, 4, 40) (3, 4, 10)
--   3: (1, 2, 2) (1, 3, 11) (1, 4, 110) (2, 3, 5) (2, 4, 50) (3, 4, 10)
--   4: (1, 2, 2) (1, 3, 10) (1, 4, 100) (2, 3, 5) (2, 4, 50) (3, 4, 10)
--   5: (2, 3, 5) (2, 4, 50) (3, 4, 10)
