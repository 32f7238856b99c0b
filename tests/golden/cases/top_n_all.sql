-- ORDER BY ALL: by every column, the first before the others
-- construct: Top-N
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, amount, id FROM lake.sales ORDER BY ALL DESC NULLS FIRST LIMIT 3

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (6, 4, 20, 'e')  + lake.sales (6, 4, 20, 'e') (7, 4, 20, 'e')
--   6  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   7  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: bags, windows
--     + changes of lake.sales in (1, 2]
-- rows
--   1: ('n', 10, 1) ('s', 20, 2) (NULL, NULL, 4)
--   2: ('s', 20, 2) ('s', 7, 5) (NULL, NULL, 4)
--   3: ('s', 20, 2) ('s', 7, 5) (NULL, NULL, 4)
--   4: ('s', 20, 2) ('s', 7, 5) (NULL, NULL, 4)
--   5: ('s', 20, 2) ('s', 7, 5) (NULL, NULL, 4)
--   6: ('e', 20, 7) ('n', 5, 3) ('s', 7, 5)
--   7: ('n', 10, 1) ('n', 5, 3) ('s', 7, 5)
