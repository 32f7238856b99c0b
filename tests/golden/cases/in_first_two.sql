-- IN the first two of each region
-- construct: SEMI JOIN, IN, EXISTS
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, amount FROM lake.sales s
WHERE amount IN (SELECT t.amount FROM lake.sales t WHERE t.region = s.region ORDER BY t.amount DESC LIMIT 2)

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (6, 4, 20, 'e')  + lake.sales (6, 4, 20, 'e') (7, 4, 20, 'e')
--   6  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   7  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v#0: bags by row key 0, windows
--     + changes of lake.sales in (1, 2]
--   v#1: reduce by k0, k1
--     + changes of v#0 in (1, 2]
--   v: join
--     + changes of lake.sales in (1, 2] x v#1 as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of v#1 in (1, 2]
-- rows
--   1: (1, 10) x2 (2, 20)
--   2: (1, 10) (2, 20) (3, 5) (5, 7) (6, 20)
--   3: (1, 10) (2, 20) (3, 5) (5, 7) (6, 20)
--   4: (1, 10) (2, 20) (3, 5) (5, 7) (6, 20)
--   5: (1, 10) (2, 20) (3, 5) (5, 7) (6, 20) (7, 20)
--   6: (3, 5) (5, 7) (6, 20) (7, 20)
--   7: (1, 10) (3, 5) (5, 7) (6, 20) (7, 20)
