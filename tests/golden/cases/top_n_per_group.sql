-- per group
-- construct: Top-N
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, region, amount
FROM (SELECT id, region, amount, ROW_NUMBER() OVER (PARTITION BY region ORDER BY amount DESC, id) AS n FROM lake.sales) q
WHERE n <= 2

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
--   1: (1, 'n', 10) x2 (2, 's', 20) (4, NULL, NULL)
--   2: (1, 'n', 10) (2, 's', 20) (3, 'n', 5) (4, NULL, NULL) (5, 's', 7) (6, 'e', 20)
--   3: (1, 'n', 10) (2, 's', 20) (3, 'n', 5) (4, NULL, NULL) (5, 's', 7) (6, 'e', 20)
--   4: (1, 'n', 10) (2, 's', 20) (3, 'n', 5) (4, NULL, NULL) (5, 's', 7) (6, 'e', 20)
--   5: (3, 'n', 5) (5, 's', 7) (6, 'e', 20)
--   6: (1, 'n', 10) (3, 'n', 5) (5, 's', 7) (6, 'e', 20)
