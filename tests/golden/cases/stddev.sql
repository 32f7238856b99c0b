-- STDDEV, STDDEV_POP
-- construct: STDDEV, VARIANCE, COVAR, CORR, REGR
-- table lake.measure (k INT, x DOUBLE, y DOUBLE)

SELECT k, ROUND(STDDEV(x), 4) AS s, ROUND(STDDEV_POP(x), 4) AS p
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
--   1: (1, 1.8028, 1.472) (2, NULL, 0.0) (NULL, NULL, 0.0)
--   2: (1, 1.7678, 1.25) (2, 1.9419, 1.5855) (NULL, NULL, 0.0)
--   3: (1, 1.7678, 1.25) (2, 3.1325, 2.5577) (NULL, NULL, 0.0)
--   4: (2, 3.1325, 2.5577) (NULL, NULL, 0.0)
