-- UNION ALL: every path, with duplicates, up to a length
-- construct: WITH RECURSIVE
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b, n) AS (SELECT a, b, 1 FROM lake.link UNION ALL SELECT r.a, l.b, r.n + 1 FROM r JOIN lake.link l ON r.b = l.a WHERE r.n < 3)
SELECT a, b, n
FROM r

-- commits
--   1  + lake.link (1, 2) (2, 3) (1, 2)
--   2  + lake.link (3, 1)
--   3  - lake.link (1, 2)  + lake.link (2, 2)
--   4  - lake.link (1, 2) (2, 3)
--   5  + lake.link (1, 2) (2, 3) (2, 3)
-- blocks
--   v#0: fixpoint of all rows
--     + changes of lake.link in (1, 2]
--     + v#0 as of 1 x changes of lake.link in (1, 2]
--     + changes of v#0 in (1, 2] x lake.link as of 2, stamps kept since 1
--   v: select
--     + changes of v#0 in (1, 2]
-- rows
--   1: (1, 2, 1) x2 (1, 3, 2) x2 (2, 3, 1)
--   2: (1, 1, 3) x2 (1, 2, 1) x2 (1, 3, 2) x2 (2, 1, 2) (2, 2, 3) x2 (2, 3, 1) (3, 1, 1) (3, 2, 2) x2 (3, 3, 3) x2
--   3: (1, 1, 3) (1, 2, 1) (1, 2, 2) (1, 2, 3) (1, 3, 2) (1, 3, 3) (2, 1, 2) (2, 1, 3) (2, 2, 1) (2, 2, 2) (2, 2, 3) x2 (2, 3, 1) (2, 3, 2) (2, 3, 3) (3, 1, 1) (3, 2, 2) (3, 2, 3) (3, 3, 3)
--   4: (2, 2, 1) (2, 2, 2) (2, 2, 3) (3, 1, 1)
--   5: (1, 1, 3) x2 (1, 2, 1) (1, 2, 2) (1, 2, 3) (1, 3, 2) x2 (1, 3, 3) x2 (2, 1, 2) x2 (2, 1, 3) x2 (2, 2, 1) (2, 2, 2) (2, 2, 3) x3 (2, 3, 1) x2 (2, 3, 2) x2 (2, 3, 3) x2 (3, 1, 1) (3, 2, 2) (3, 2, 3) (3, 3, 3) x2
