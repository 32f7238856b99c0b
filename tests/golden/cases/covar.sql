-- COVAR_POP, COVAR_SAMP
-- construct: STDDEV, VARIANCE, COVAR, CORR, REGR
-- table lake.measure (k INT, x DOUBLE, y DOUBLE)

SELECT k, ROUND(COVAR_POP(x, y), 4) AS p, ROUND(COVAR_SAMP(x, y), 4) AS s
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
--   1: (1, -1.0833, -1.625) (2, NULL, NULL) (NULL, 0.0, NULL)
--   2: (1, -2.1875, -4.375) (2, 1.7188, 3.4375) (NULL, 0.0, NULL)
--   3: (1, -2.1875, -4.375) (2, 2.5, 3.75) (NULL, 0.0, NULL)
--   4: (2, 2.5, 3.75) (NULL, 0.0, NULL)
