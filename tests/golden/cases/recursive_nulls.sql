-- keys that are NULL, compared by <=>
-- construct: WITH RECURSIVE
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION SELECT r.a, l.b FROM r JOIN lake.link l ON r.b <=> l.a)
SELECT a, b
FROM r

-- commits
--   1  + lake.link (1, NULL) (NULL, 2) (NULL, NULL)
--   2  - lake.link (NULL, NULL)  + lake.link (2, NULL)
--   3  - lake.link (NULL, 2)  + lake.link (NULL, 3) (NULL, 3)
--   4  - lake.link (NULL, 3)
--   5  - lake.link (NULL, 3)
-- blocks
--   v#0: fixpoint of distinct rows
--     + changes of lake.link in (1, 2]
--     + v#0 as of 1 x changes of lake.link in (1, 2]
--     + changes of v#0 in (1, 2] x lake.link as of 2, stamps kept since 1
--   v: select
--     + changes of v#0 in (1, 2]
-- rows
--   1: (1, 2) (1, NULL) (NULL, 2) (NULL, NULL)
--   2: (1, 2) (1, NULL) (2, 2) (2, NULL) (NULL, 2) (NULL, NULL)
--   3: (1, 3) (1, NULL) (2, 3) (2, NULL) (NULL, 3)
--   4: (1, 3) (1, NULL) (2, 3) (2, NULL) (NULL, 3)
--   5: (1, NULL) (2, NULL)
