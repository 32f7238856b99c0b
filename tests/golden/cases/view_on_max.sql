-- an outer join with MAX
-- construct: Views on views
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- view top

SELECT region, MAX(amount) AS hi FROM lake.sales GROUP BY region
-- view v

SELECT s.id, m.hi
FROM lake.sales s
LEFT JOIN top m ON m.region = s.region AND m.hi = s.amount

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   top: bags by region, groups
--     + changes of lake.sales in (1, 2]
--   v#0: reduce by k0, k1
--     + changes of top in (1, 2]
--   v: union
--     + changes of lake.sales in (1, 2] x top as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of top in (1, 2]
--     + changes of lake.sales in (1, 2]
--     - changes of lake.sales in (1, 2] x v#0 as of 1
--     - lake.sales as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
-- rows
--   1: (1, 10) x2 (2, 20) (3, NULL) (4, NULL)
--   2: (1, 10) (2, 20) (3, NULL) (4, NULL) (5, NULL) (6, 20)
--   3: (1, 10) (2, 20) (3, NULL) (4, NULL) (5, NULL) (6, 20)
--   4: (1, 10) (2, 20) (3, NULL) (4, NULL) (5, NULL) (6, 20)
--   5: (3, 5) (5, 7) (6, 20)
--   6: (1, 10) (3, NULL) (5, 7) (6, 20)
