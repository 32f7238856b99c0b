-- REGR_SXX, REGR_SYY, REGR_SXY
-- construct: STDDEV, VARIANCE, COVAR, CORR, REGR
-- table lake.measure (k INT, x DOUBLE, y DOUBLE)

SELECT k, ROUND(REGR_SXX(y, x), 4) AS xx, ROUND(REGR_SYY(y, x), 4) AS yy, ROUND(REGR_SXY(y, x), 4) AS xy
FROM lake.measure
WHERE x IS NOT NULL AND y IS NOT NULL
GROUP BY k

-- commits
--   1  + lake.measure (1, 0.5, 1.5) (1, 1.5, 4.0) (1, 4.0, 0.5) (2, 1.5, NULL) (NULL, 0.5, 0.5)
--   2  + lake.measure (2, 0.5, 4.0) (2, -2.25, 1.5)  - lake.measure (1, 0.5, 1.5)
--   3  - lake.measure (2, 1.5, NULL)  + lake.measure (2, 4.0, 4.0)
--   4  - lake.measure (1, 1.5, 4.0) (1, 4.0, 0.5)
-- blocks
--   v: bags by k, groups
--     + changes of lake.measure in (1, 2]
-- rows
--   1: (1, 6.5, 6.5, -3.25) (NULL, 0.0, 0.0, 0.0)
--   2: (1, 3.125, 6.125, -4.375) (2, 3.7813, 3.125, 3.4375) (NULL, 0.0, 0.0, 0.0)
--   3: (1, 3.125, 6.125, -4.375) (2, 19.625, 4.1667, 7.5) (NULL, 0.0, 0.0, 0.0)
--   4: (2, 19.625, 4.1667, 7.5) (NULL, 0.0, 0.0, 0.0)
