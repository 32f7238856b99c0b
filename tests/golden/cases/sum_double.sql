-- doubles leave nothing behind
-- construct: COUNT, SUM, AVG
-- table lake.measure (k INT, x DOUBLE, y DOUBLE)

SELECT k, SUM(x) AS s, COUNT(y) AS n FROM lake.measure GROUP BY k

-- commits
--   1  + lake.measure (1, 0.5, 1.5) (1, 1.5, 4.0) (1, 4.0, 0.5) (2, 1.5, NULL) (NULL, 0.5, 0.5)
--   2  + lake.measure (2, 0.5, 4.0) (2, -2.25, 1.5)  - lake.measure (1, 0.5, 1.5)
--   3  - lake.measure (2, 1.5, NULL)  + lake.measure (2, 4.0, 4.0)
--   4  - lake.measure (1, 1.5, 4.0) (1, 4.0, 0.5)
-- blocks
--   v: reduce by k, 7 sums
--     + changes of lake.measure in (1, 2]
-- rows
--   1: (1, 6.0, 3) (2, 1.5, 0) (NULL, 0.5, 1)
--   2: (1, 5.5, 2) (2, -0.25, 2) (NULL, 0.5, 1)
--   3: (1, 5.5, 2) (2, 2.25, 3) (NULL, 0.5, 1)
--   4: (2, 2.25, 3) (NULL, 0.5, 1)
