-- the default frame: peers count
-- construct: Windowed aggregates
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, SUM(amount) OVER (PARTITION BY region ORDER BY id) AS s FROM lake.sales

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: bags by _rv_a1, windows
--     + changes of lake.sales in (1, 2]
-- rows
--   1: (1, 20) x2 (2, 20) (3, 25) (4, NULL)
--   2: (1, 10) (2, 20) (3, 15) (4, NULL) (5, 27) (6, 20)
--   3: (1, 10) (2, 20) (3, 15) (4, NULL) (5, 27) (6, 20)
--   4: (1, 10) (2, 20) (3, 15) (4, NULL) (5, 27) (6, 20)
--   5: (3, 5) (5, 7) (6, 20)
--   6: (1, 10) (3, 15) (5, 7) (6, 20)
