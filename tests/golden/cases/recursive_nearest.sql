-- an aggregate over it: the shortest way
-- construct: WITH RECURSIVE
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b, n) AS (SELECT a, b, 1 FROM lake.link UNION SELECT r.a, l.b, r.n + 1 FROM r JOIN lake.link l ON r.b = l.a WHERE r.n < 4)
SELECT a, b, MIN(n) AS hops, COUNT(*) AS ways
FROM r
GROUP BY a, b

-- commits
--   1  + lake.link (1, 2) (2, 3) (3, 4)
--   2  + lake.link (1, 3)
--   3  - lake.link (2, 3)  + lake.link (4, 1)
--   4  - lake.link (1, 3)
--   5  + lake.link (2, 3) (2, 3)
-- blocks
--   v#0: fixpoint of distinct rows
--     + changes of lake.link in (1, 2]
--     + v#0 as of 1 x changes of lake.link in (1, 2]
--     + changes of v#0 in (1, 2] x lake.link as of 2, stamps kept since 1
--   v: bags by a, b, groups
--     + changes of v#0 in (1, 2]
-- rows
--   1: (1, 2, 1, 1) (1, 3, 2, 1) (1, 4, 3, 1) (2, 3, 1, 1) (2, 4, 2, 1) (3, 4, 1, 1)
--   2: (1, 2, 1, 1) (1, 3, 1, 2) (1, 4, 2, 2) (2, 3, 1, 1) (2, 4, 2, 1) (3, 4, 1, 1)
--   3: (1, 1, 3, 1) (1, 2, 1, 2) (1, 3, 1, 2) (1, 4, 2, 1) (3, 1, 2, 1) (3, 2, 3, 1) (3, 3, 3, 1) (3, 4, 1, 2) (4, 1, 1, 2) (4, 2, 2, 1) (4, 3, 2, 1) (4, 4, 3, 1)
--   4: (1, 2, 1, 1) (3, 1, 2, 1) (3, 2, 3, 1) (3, 4, 1, 1) (4, 1, 1, 1) (4, 2, 2, 1)
--   5: (1, 1, 4, 1) (1, 2, 1, 1) (1, 3, 2, 1) (1, 4, 3, 1) (2, 1, 3, 1) (2, 2, 4, 1) (2, 3, 1, 1) (2, 4, 2, 1) (3, 1, 2, 1) (3, 2, 3, 1) (3, 3, 4, 1) (3, 4, 1, 1) (4, 1, 1, 1) (4, 2, 2, 1) (4, 3, 3, 1) (4, 4, 4, 1)
