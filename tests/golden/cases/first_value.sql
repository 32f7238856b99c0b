-- FIRST_VALUE and LAST_VALUE
-- construct: LAG, LEAD, FIRST_VALUE
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, region, FIRST_VALUE(amount) OVER (PARTITION BY region ORDER BY id, amount, cust) AS f, LAST_VALUE(amount) OVER (PARTITION BY region ORDER BY id, amount, cust ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS l
FROM lake.sales

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: bags by region, windows
--     + changes of lake.sales in (1, 2]
-- rows
--   1: (1, 'n', 10, 5) x2 (2, 's', 20, 20) (3, 'n', 10, 5) (4, NULL, NULL, NULL)
--   2: (1, 'n', 10, 5) (2, 's', 20, 7) (3, 'n', 10, 5) (4, NULL, NULL, NULL) (5, 's', 20, 7) (6, 'e', 20, 20)
--   3: (1, 'n', 10, 5) (2, 's', 20, 7) (3, 'n', 10, 5) (4, NULL, NULL, NULL) (5, 's', 20, 7) (6, 'e', 20, 20)
--   4: (1, 'n', 10, 5) (2, 's', 20, 7) (3, 'n', 10, 5) (4, NULL, NULL, NULL) (5, 's', 20, 7) (6, 'e', 20, 20)
--   5: (3, 'n', 5, 5) (5, 's', 7, 7) (6, 'e', 20, 20)
--   6: (1, 'n', 10, 5) (3, 'n', 10, 5) (5, 's', 7, 7) (6, 'e', 20, 20)
