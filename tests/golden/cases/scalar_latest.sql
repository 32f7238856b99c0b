-- the row with the newest value
-- construct: Scalar subqueries
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, amount FROM lake.sales WHERE amount = (SELECT MAX(amount) FROM lake.sales)

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v#0: bags, groups
--     + changes of lake.sales in (1, 2]
--   v: join
--     + changes of lake.sales in (1, 2] x v#0 as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
-- rows
--   1: (2, 20)
--   2: (2, 20) (6, 20)
--   3: (2, 20) (6, 20)
--   4: (2, 20) (6, 20)
--   5: (6, 20)
--   6: (6, 20)
