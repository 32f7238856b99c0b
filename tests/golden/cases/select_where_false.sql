-- a condition that is never true
-- construct: SELECT, WHERE
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id FROM lake.sales WHERE 1 = 2

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
--   1: nothing
--   2: nothing
--   3: nothing
--   4: nothing
--   5: nothing
--   6: nothing
