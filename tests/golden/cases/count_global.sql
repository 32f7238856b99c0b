-- without groups: one row, also over nothing
-- construct: COUNT, SUM, AVG
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS a FROM lake.sales

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: reduce, 2 sums
--     + changes of lake.sales in (1, 2]
-- rows
--   1: (5, 45, 11.25)
--   2: (6, 62, 12.4)
--   3: (6, 62, 12.4)
--   4: (6, 62, 12.4)
--   5: (3, 32, 10.6667)
--   6: (4, 42, 10.5)
