-- SKEWNESS and KURTOSIS
-- construct: APPROX_COUNT_DISTINCT and other Spark aggregates
-- spark only: another definition in DuckDB
-- table lake.measure (k INT, x DOUBLE, y DOUBLE)

SELECT k, ROUND(SKEWNESS(x), 4) AS s, ROUND(KURTOSIS(x), 4) AS q
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
