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
