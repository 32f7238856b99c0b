-- numbers made from nothing, joined with a table
-- construct: WITH RECURSIVE
-- table lake.link (a INT, b INT)

WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 4)
SELECT n.i, l.b
FROM n
JOIN lake.link l ON l.a = n.i

-- commits
--   1  + lake.link (1, 2) (4, 3)
--   2  + lake.link (5, 2) (4, 3)
--   3  - lake.link (1, 2)
-- blocks
--   v#0: fixpoint of all rows
--     + changes of v#0 in (1, 2]
--   v: join
--     + changes of v#0 in (1, 2] x lake.link as of 1
--     + v#0 as of 2, stamps kept since 1 x changes of lake.link in (1, 2]
-- rows
--   1: (1, 2) (4, 3)
--   2: (1, 2) (4, 3) x2
--   3: (4, 3) x2
