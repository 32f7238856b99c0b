-- an aggregate over it
-- construct: WITH RECURSIVE
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION SELECT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a)
SELECT a, COUNT(*) AS n
FROM r
GROUP BY a

-- commits
--   1  + lake.link (1, 2) (2, 3) (5, 6)
--   2  + lake.link (3, 4) (3, 4)
--   3  + lake.link (4, 2)
--   4  - lake.link (2, 3)
--   5  - lake.link (3, 4)  + lake.link (2, 3) (NULL, 1)
--   6  - lake.link (3, 4) (5, 6)
-- blocks
--   v#0: fixpoint of distinct rows
--     + changes of lake.link in (1, 2]
--     + v#0 as of 1 x changes of lake.link in (1, 2]
--     + changes of v#0 in (1, 2] x lake.link as of 2, stamps kept since 1
--   v: reduce by a
--     + changes of v#0 in (1, 2]
-- rows
--   1: (1, 2) (2, 1) (5, 1)
--   2: (1, 3) (2, 2) (3, 1) (5, 1)
--   3: (1, 3) (2, 3) (3, 3) (4, 3) (5, 1)
--   4: (1, 1) (3, 2) (4, 1) (5, 1)
--   5: (1, 3) (2, 3) (3, 3) (4, 3) (5, 1) (NULL, 4)
--   6: (1, 2) (2, 1) (4, 2) (NULL, 3)
