-- over another view
-- construct: WITH RECURSIVE
-- table lake.link (a INT, b INT)
-- view base

SELECT a, b FROM lake.link WHERE a <> b UNION SELECT b, a FROM lake.link WHERE a <> b
-- view v

WITH RECURSIVE r(a, b) AS (SELECT a, b FROM base UNION SELECT r.a, e.b FROM r JOIN base e ON r.b = e.a)
SELECT a, MIN(b) AS component
FROM r
GROUP BY a

-- commits
--   1  + lake.link (1, 2) (3, 4)
--   2  + lake.link (2, 3) (2, 1)
--   3  - lake.link (1, 2)
--   4  - lake.link (2, 3)  + lake.link (5, 4)
--   5  - lake.link (2, 1)
-- blocks
--   base: reduce by a, b
--     + changes of lake.link in (1, 2]
--     + changes of lake.link in (1, 2]
--   v#0: fixpoint of distinct rows
--     + changes of base in (1, 2]
--     + v#0 as of 1 x changes of base in (1, 2]
--     + changes of v#0 in (1, 2] x base as of 2, stamps kept since 1
--   v: bags by a, groups
--     + changes of v#0 in (1, 2]
-- rows
--   1: (1, 1) (2, 1) (3, 3) (4, 3)
--   2: (1, 1) (2, 1) (3, 1) (4, 1)
--   3: (1, 1) (2, 1) (3, 1) (4, 1)
--   4: (1, 1) (2, 1) (3, 3) (4, 3) (5, 3)
--   5: (3, 3) (4, 3) (5, 3)
