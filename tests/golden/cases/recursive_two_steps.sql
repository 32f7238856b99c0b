-- two ways to go on, and two to begin
-- construct: WITH RECURSIVE
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS ((SELECT a, b FROM lake.link WHERE a = 1 UNION ALL SELECT b, a FROM lake.link WHERE b = 2) UNION (SELECT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a UNION ALL SELECT l.a, r.b FROM r JOIN lake.link l ON r.a = l.b))
SELECT a, b
FROM r

-- commits
--   1  + lake.link (1, 2) (2, 3) (4, 1)
--   2  - lake.link (1, 2)  + lake.link (3, 2)
--   3  + lake.link (1, 3)
--   4  - lake.link (2, 3) (3, 2)
-- blocks
--   v#0: fixpoint of distinct rows
--     + changes of lake.link in (1, 2]
--     + changes of lake.link in (1, 2]
--     + v#0 as of 1 x changes of lake.link in (1, 2]
--     + changes of v#0 in (1, 2] x lake.link as of 2, stamps kept since 1
--     + v#0 as of 1 x changes of lake.link in (1, 2]
--     + changes of v#0 in (1, 2] x lake.link as of 2, stamps kept since 1
--   v: select
--     + changes of v#0 in (1, 2]
-- rows
--   1: (1, 1) (1, 2) (1, 3) (2, 1) (2, 2) (2, 3) (4, 1) (4, 2) (4, 3)
--   2: (2, 2) (2, 3) (3, 2) (3, 3)
--   3: (1, 2) (1, 3) (2, 2) (2, 3) (3, 2) (3, 3) (4, 2) (4, 3)
--   4: (1, 3) (4, 3)
