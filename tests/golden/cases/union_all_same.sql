-- of a table with itself
-- construct: UNION ALL
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id FROM lake.sales UNION ALL SELECT id FROM lake.sales

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: union
--     + changes of lake.sales in (1, 2]
--     + changes of lake.sales in (1, 2]
-- rows
--   1: (1) x4 (2) x2 (3) x2 (4) x2
--   2: (1) x2 (2) x2 (3) x2 (4) x2 (5) x2 (6) x2
--   3: (1) x2 (2) x2 (3) x2 (4) x2 (5) x2 (6) x2
--   4: (1) x2 (2) x2 (3) x2 (4) x2 (5) x2 (6) x2
--   5: (3) x2 (5) x2 (6) x2
--   6: (1) x2 (3) x2 (5) x2 (6) x2
