-- CORR
-- construct: STDDEV, VARIANCE, COVAR, CORR, REGR
-- table lake.measure (k INT, x DOUBLE, y DOUBLE)

SELECT ROUND(CORR(x, y), 4) AS c
FROM lake.measure
WHERE x IS NOT NULL
HAVING COUNT(DISTINCT x) > 1 AND COUNT(DISTINCT y) > 1

-- commits
--   1  + lake.measure (1, 0.5, 1.5) (1, 1.5, 4.0) (1, 4.0, 0.5) (2, 1.5, NULL) (NULL, 0.5, 0.5)
--   2  + lake.measure (2, 0.5, 4.0) (2, -2.25, 1.5)  - lake.measure (1, 0.5, 1.5)
--   3  - lake.measure (2, 1.5, NULL)  + lake.measure (2, 4.0, 4.0)
--   4  - lake.measure (1, 1.5, 4.0) (1, 4.0, 0.5)
-- blocks
--   v: bags, groups
--     + changes of lake.measure in (1, 2]
-- rows
--   1: (-0.1908)
--   2: (-0.128)
--   3: (0.1389)
--   4: (0.5852)
