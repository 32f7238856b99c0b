-- ORDER BY LIMIT
-- construct: Top-N
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, amount, cust, region
FROM lake.sales
ORDER BY amount DESC, id, cust, region LIMIT 3

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
--   1: (1, 10, 1, 'n') x2 (2, 20, 2, 's')
--   2: (1, 10, 1, 'n') (2, 20, 2, 's') (6, 20, 4, 'e')
--   3: (1, 10, 1, 'n') (2, 20, 1, 's') (6, 20, 4, 'e')
--   4: (1, 10, 1, 'n') (2, 20, 1, 's') (6, 20, 4, 'e')
--   5: (3, 5, NULL, 'n') (5, 7, 3, 's') (6, 20, 4, 'e')
--   6: (1, 10, 1, 'n') (5, 7, 3, 's') (6, 20, 4, 'e')
