-- LAG and LEAD
-- construct: LAG, LEAD, FIRST_VALUE
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, amount, LAG(amount) OVER (PARTITION BY region ORDER BY id, amount, cust) AS before, LEAD(amount) OVER (PARTITION BY region ORDER BY id, amount, cust) AS after
FROM lake.sales

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: bags by _rv_a3, windows
--     + changes of lake.sales in (1, 2]
-- rows
--   1: (1, 10, 10, 5) (1, 10, NULL, 10) (2, 20, NULL, NULL) (3, 5, 10, NULL) (4, NULL, NULL, NULL)
--   2: (1, 10, NULL, 5) (2, 20, NULL, 7) (3, 5, 10, NULL) (4, NULL, NULL, NULL) (5, 7, 20, NULL) (6, 20, NULL, NULL)
--   3: (1, 10, NULL, 5) (2, 20, NULL, 7) (3, 5, 10, NULL) (4, NULL, NULL, NULL) (5, 7, 20, NULL) (6, 20, NULL, NULL)
--   4: (1, 10, NULL, 5) (2, 20, NULL, 7) (3, 5, 10, NULL) (4, NULL, NULL, NULL) (5, 7, 20, NULL) (6, 20, NULL, NULL)
--   5: (3, 5, NULL, NULL) (5, 7, NULL, NULL) (6, 20, NULL, NULL)
--   6: (1, 10, NULL, 5) (3, 5, 10, NULL) (5, 7, NULL, NULL) (6, 20, NULL, NULL)
