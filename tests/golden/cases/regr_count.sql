-- REGR_COUNT, REGR_AVGX, REGR_AVGY
-- construct: STDDEV, VARIANCE, COVAR, CORR, REGR
-- table lake.measure (k INT, x DOUBLE, y DOUBLE)

SELECT k, REGR_COUNT(y, x) AS n, ROUND(REGR_AVGX(y, x), 4) AS ax, ROUND(REGR_AVGY(y, x), 4) AS ay
FROM lake.measure
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
--   1: (1, 3, 2.0, 2.0) (2, 0, NULL, NULL) (NULL, 1, 0.5, 0.5)
--   2: (1, 2, 2.75, 2.25) (2, 2, -0.875, 2.75) (NULL, 1, 0.5, 0.5)
--   3: (1, 2, 2.75, 2.25) (2, 3, 0.75, 3.1667) (NULL, 1, 0.5, 0.5)
--   4: (2, 3, 0.75, 3.1667) (NULL, 1, 0.5, 0.5)
