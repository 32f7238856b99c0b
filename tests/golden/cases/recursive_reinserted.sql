-- edges that go and come back
-- construct: WITH RECURSIVE
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION SELECT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a)
SELECT a, b
FROM r

-- commits
--   1  + lake.link (1, 2) (2, 3) (3, 4) (1, 3)
--   2  - lake.link (2, 3)
--   3  + lake.link (2, 3)
--   4  - lake.link (3, 4)  + lake.link (3, 4)
--   5  + lake.link (4, 5)  - lake.link (4, 5)
--   6  - lake.link (1, 2) (1, 3)
--   7  + lake.link (1, 2)  - lake.link (2, 3)
--   8  + lake.link (1, 3) (2, 3)
-- blocks
--   v#0: fixpoint of distinct rows
--     + changes of lake.link in (1, 2]
--     + v#0 as of 1 x changes of lake.link in (1, 2]
--     + changes of v#0 in (1, 2] x lake.link as of 2, stamps kept since 1
--   v: select
--     + changes of v#0 in (1, 2]
-- rows
--   1: (1, 2) (1, 3) (1, 4) (2, 3) (2, 4) (3, 4)
--   2: (1, 2) (1, 3) (1, 4) (3, 4)
--   3: (1, 2) (1, 3) (1, 4) (2, 3) (2, 4) (3, 4)
--   4: (1, 2) (1, 3) (1, 4) (2, 3) (2, 4) (3, 4)
--   5: (1, 2) (1, 3) (1, 4) (2, 3) (2, 4) (3, 4)
--   6: (2, 3) (2, 4) (3, 4)
--   7: (1, 2) (3, 4)
--   8: (1, 2) (1, 3) (1, 4) (2, 3) (2, 4) (3, 4)
