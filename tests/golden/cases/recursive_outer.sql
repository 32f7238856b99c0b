-- LEFT JOIN in the recursive part
-- construct: WITH RECURSIVE
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(x, y, n) AS (SELECT a, b, 1 FROM lake.link WHERE a = 1 UNION SELECT r.y, l.b, r.n + 1 FROM r LEFT JOIN lake.link l ON r.y = l.a WHERE r.n < 4)
SELECT x, y, n
FROM r

-- commits
--   1  + lake.link (1, 2)
--   2  + lake.link (2, 3) (1, NULL)
--   3  - lake.link (2, 3)
--   4  + lake.link (2, 1)
--   5  - lake.link (1, 2)
-- blocks
--   v#0: reduce by k0
--     + changes of lake.link in (1, 2]
--   v#1: fixpoint of distinct rows
--     + changes of lake.link in (1, 2]
--     + v#1 as of 1 x changes of lake.link in (1, 2]
--     + changes of v#1 in (1, 2] x lake.link as of 2, stamps kept since 1
--     + changes of v#1 in (1, 2]
--     - v#1 as of 1 x changes of v#0 in (1, 2]
--     - changes of v#1 in (1, 2] x v#0 as of 2, stamps kept since 1
--   v: select
--     + changes of v#1 in (1, 2]
-- rows
--   1: (1, 2, 1) (2, NULL, 2) (NULL, NULL, 3) (NULL, NULL, 4)
--   2: (1, 2, 1) (1, NULL, 1) (2, 3, 2) (3, NULL, 3) (NULL, NULL, 2) (NULL, NULL, 3) (NULL, NULL, 4)
--   3: (1, 2, 1) (1, NULL, 1) (2, NULL, 2) (NULL, NULL, 2) (NULL, NULL, 3) (NULL, NULL, 4)
--   4: (1, 2, 1) (1, 2, 3) (1, NULL, 1) (1, NULL, 3) (2, 1, 2) (2, 1, 4) (NULL, NULL, 2) (NULL, NULL, 3) (NULL, NULL, 4)
--   5: (1, NULL, 1) (NULL, NULL, 2) (NULL, NULL, 3) (NULL, NULL, 4)
