-- an aggregate over a window
-- construct: Views on views
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- view ranked

SELECT id, RANK() OVER (PARTITION BY region ORDER BY amount) AS r FROM lake.sales
-- view v

SELECT r, COUNT(*) AS n FROM ranked GROUP BY r

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   ranked: bags by _rv_a2, windows
--     + changes of lake.sales in (1, 2]
--   v: reduce by r
--     + changes of ranked in (1, 2]
-- rows
--   1: (1, 3) (2, 2)
--   2: (1, 4) (2, 2)
--   3: (1, 4) (2, 2)
--   4: (1, 4) (2, 2)
--   5: (1, 3)
--   6: (1, 3) (2, 1)
