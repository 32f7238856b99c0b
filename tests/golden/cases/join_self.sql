-- a table with itself
-- construct: Inner joins
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT a.id, b.id AS other
FROM lake.sales a
JOIN lake.sales b ON a.region = b.region AND a.id < b.id

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: join
--     + changes of lake.sales in (1, 2] x lake.sales as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of lake.sales in (1, 2]
-- rows
--   1: (1, 3) x2
--   2: (1, 3) (2, 5)
--   3: (1, 3) (2, 5)
--   4: (1, 3) (2, 5)
--   5: nothing
--   6: (1, 3)
