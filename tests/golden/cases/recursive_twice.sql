-- read twice, and by another recursion
-- construct: WITH RECURSIVE
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION SELECT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a), q(x, y) AS (SELECT a, b FROM r WHERE a = 1 UNION SELECT q.x, r.a FROM q JOIN r ON r.b = q.y)
SELECT q.x, q.y, r.b
FROM q
LEFT JOIN r ON r.a = q.y

-- commits
--   1  + lake.link (1, 2) (3, 2)
--   2  + lake.link (4, 3)
--   3  - lake.link (3, 2)  + lake.link (3, 3)
--   4  - lake.link (1, 2)
--   5  + lake.link (1, 3)
-- blocks
--   v#0: fixpoint of distinct rows
--     + changes of lake.link in (1, 2]
--     + v#0 as of 1 x changes of lake.link in (1, 2]
--     + changes of v#0 in (1, 2] x lake.link as of 2, stamps kept since 1
--   v#1: fixpoint of distinct rows
--     + changes of v#0 in (1, 2]
--     + v#1 as of 1 x changes of v#0 in (1, 2]
--     + changes of v#1 in (1, 2] x v#0 as of 2, stamps kept since 1
--   v#2: reduce by k0
--     + changes of v#0 in (1, 2]
--   v: union
--     + changes of v#1 in (1, 2] x v#0 as of 1
--     + v#1 as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
--     + changes of v#1 in (1, 2]
--     - changes of v#1 in (1, 2] x v#2 as of 1
--     - v#1 as of 2, stamps kept since 1 x changes of v#2 in (1, 2]
-- rows
--   1: (1, 1, 2) (1, 2, NULL) (1, 3, 2)
--   2: (1, 1, 2) (1, 2, NULL) (1, 3, 2) (1, 4, 2) (1, 4, 3)
--   3: (1, 1, 2) (1, 2, NULL)
--   4: nothing
--   5: (1, 1, 3) (1, 3, 3) (1, 4, 3)
