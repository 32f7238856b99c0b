-- REGR_SLOPE, REGR_INTERCEPT
-- construct: STDDEV, VARIANCE, COVAR, CORR, REGR
-- table lake.measure (k INT, x DOUBLE, y DOUBLE)

SELECT ROUND(REGR_SLOPE(y, x), 4) AS s, ROUND(REGR_INTERCEPT(y, x), 4) AS i
FROM lake.measure
WHERE y IS NOT NULL
HAVING COUNT(DISTINCT x) > 1

-- commits
--   1  + lake.measure (1, 0.5, 1.5) (1, 1.5, 4.0) (1, 4.0, 0.5) (2, 1.5, NULL) (NULL, 0.5, 0.5)
--   2  + lake.measure (2, 0.5, 4.0) (2, -2.25, 1.5)  - lake.measure (1, 0.5, 1.5)
--   3  - lake.measure (2, 1.5, NULL)  + lake.measure (2, 4.0, 4.0)
--   4  - lake.measure (1, 1.5, 4.0) (1, 4.0, 0.5)
-- blocks
--   v: bags, groups
--     + changes of lake.measure in (1, 2]
-- rows
--   1: (-0.1908, 1.9351)
--   2: (-0.1015, 2.1863)
--   3: (0.1032, 2.2748)
--   4: (0.4067, 2.2204)
