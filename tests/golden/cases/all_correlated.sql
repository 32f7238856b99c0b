-- >= ALL, correlated: the most of each region
-- construct: ANY, ALL
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, region FROM lake.sales s
WHERE amount >= ALL (SELECT t.amount FROM lake.sales t WHERE t.region = s.region)

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (6, 4, 20, 'e')  + lake.sales (6, 4, 20, 'e') (7, 4, 20, 'e')
--   6  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   7  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v#0: bags by k0, groups
--     + changes of lake.sales in (1, 2]
--   v: union
--     + changes of lake.sales in (1, 2] x v#0 as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
--     + changes of lake.sales in (1, 2]
--     - changes of lake.sales in (1, 2] x v#0 as of 1
--     - lake.sales as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
-- rows
--   1: (1, 'n') x2 (2, 's') (4, NULL)
--   2: (1, 'n') (2, 's') (4, NULL) (6, 'e')
--   3: (1, 'n') (2, 's') (4, NULL) (6, 'e')
--   4: (1, 'n') (2, 's') (4, NULL) (6, 'e')
--   5: (1, 'n') (2, 's') (4, NULL) (6, 'e') (7, 'e')
--   6: (3, 'n') (5, 's') (6, 'e') (7, 'e')
--   7: (1, 'n') (5, 's') (6, 'e') (7, 'e')
