-- How many different values a partition has
-- construct: Windowed aggregates
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, SIZE(COLLECT_SET(cust) OVER (PARTITION BY region)) AS customers FROM lake.sales

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (6, 4, 20, 'e')  + lake.sales (6, 4, 20, 'e') (7, 4, 20, 'e')
--   6  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   7  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: bags by _rv_a1, windows
--     + changes of lake.sales in (1, 2]
-- rows
--   1: (1, 1) x2 (2, 1) (3, 1) (4, 1)
--   2: (1, 1) (2, 2) (3, 1) (4, 1) (5, 2) (6, 1)
--   3: (1, 1) (2, 2) (3, 1) (4, 1) (5, 2) (6, 1)
--   4: (1, 1) (2, 2) (3, 1) (4, 1) (5, 2) (6, 1)
--   5: (1, 1) (2, 2) (3, 1) (4, 1) (5, 2) (6, 1) (7, 1)
--   6: (3, 0) (5, 1) (6, 1) (7, 1)
--   7: (1, 1) (3, 1) (5, 1) (6, 1) (7, 1)
