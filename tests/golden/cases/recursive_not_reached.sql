-- negation over it
-- construct: WITH RECURSIVE
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(x) AS (SELECT b FROM lake.link WHERE a = 1 UNION SELECT l.b FROM r JOIN lake.link l ON r.x = l.a)
SELECT DISTINCT l.a
FROM lake.link l
WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.x = l.a)

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
--   v#1: reduce by k0
--     + changes of v#0 in (1, 2]
--   v: reduce by a
--     + changes of lake.link in (1, 2]
--     - changes of lake.link in (1, 2] x v#1 as of 1
--     - lake.link as of 2, stamps kept since 1 x changes of v#1 in (1, 2]
-- rows
--   1: (1) (5)
--   2: (1) (5)
--   3: (1) (5)
--   4: (1) (3) (4) (5)
--   5: (1) (5) (NULL)
--   6: (1) (4) (NULL)
