-- an alias read by a later column
-- construct: SELECT, WHERE
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id AS a, a + 1 AS b FROM lake.sales

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: select
--     + changes of lake.sales in (1, 2]
-- rows
--   1: (1, 2) x2 (2, 3) (3, 4) (4, 5)
--   2: (1, 2) (2, 3) (3, 4) (4, 5) (5, 6) (6, 7)
--   3: (1, 2) (2, 3) (3, 4) (4, 5) (5, 6) (6, 7)
--   4: (1, 2) (2, 3) (3, 4) (4, 5) (5, 6) (6, 7)
--   5: (3, 4) (5, 6) (6, 7)
--   6: (1, 2) (3, 4) (5, 6) (6, 7)
