-- PERCENT_RANK and CUME_DIST
-- construct: Ranking windows
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, region, ROUND(PERCENT_RANK() OVER (PARTITION BY region ORDER BY id), 4) AS p, ROUND(CUME_DIST() OVER (PARTITION BY region ORDER BY id), 4) AS c
FROM lake.sales

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: bags by region, windows
--     + changes of lake.sales in (1, 2]
-- rows
--   1: (1, 'n', 0.0, 0.6667) x2 (2, 's', 0.0, 1.0) (3, 'n', 1.0, 1.0) (4, NULL, 0.0, 1.0)
--   2: (1, 'n', 0.0, 0.5) (2, 's', 0.0, 0.5) (3, 'n', 1.0, 1.0) (4, NULL, 0.0, 1.0) (5, 's', 1.0, 1.0) (6, 'e', 0.0, 1.0)
--   3: (1, 'n', 0.0, 0.5) (2, 's', 0.0, 0.5) (3, 'n', 1.0, 1.0) (4, NULL, 0.0, 1.0) (5, 's', 1.0, 1.0) (6, 'e', 0.0, 1.0)
--   4: (1, 'n', 0.0, 0.5) (2, 's', 0.0, 0.5) (3, 'n', 1.0, 1.0) (4, NULL, 0.0, 1.0) (5, 's', 1.0, 1.0) (6, 'e', 0.0, 1.0)
--   5: (3, 'n', 0.0, 1.0) (5, 's', 0.0, 1.0) (6, 'e', 0.0, 1.0)
--   6: (1, 'n', 0.0, 0.5) (3, 'n', 1.0, 1.0) (5, 's', 0.0, 1.0) (6, 'e', 0.0, 1.0)
