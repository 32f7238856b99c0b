-- without PARTITION BY
-- construct: Windowed aggregates
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, amount, COUNT(*) OVER () AS n, SUM(amount) OVER () AS s FROM lake.sales

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: bags, windows
--     + changes of lake.sales in (1, 2]
-- rows
--   1: (1, 10, 5, 45) x2 (2, 20, 5, 45) (3, 5, 5, 45) (4, NULL, 5, 45)
--   2: (1, 10, 6, 62) (2, 20, 6, 62) (3, 5, 6, 62) (4, NULL, 6, 62) (5, 7, 6, 62) (6, 20, 6, 62)
--   3: (1, 10, 6, 62) (2, 20, 6, 62) (3, 5, 6, 62) (4, NULL, 6, 62) (5, 7, 6, 62) (6, 20, 6, 62)
--   4: (1, 10, 6, 62) (2, 20, 6, 62) (3, 5, 6, 62) (4, NULL, 6, 62) (5, 7, 6, 62) (6, 20, 6, 62)
--   5: (3, 5, 3, 32) (5, 7, 3, 32) (6, 20, 3, 32)
--   6: (1, 10, 4, 42) (3, 5, 4, 42) (5, 7, 4, 42) (6, 20, 4, 42)
