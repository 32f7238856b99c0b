-- >= ALL of groups in HAVING: the greatest group
-- construct: ANY, ALL
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, SUM(amount) AS total FROM lake.sales GROUP BY region
HAVING SUM(amount) >= ALL (SELECT SUM(amount) FROM lake.sales WHERE amount IS NOT NULL GROUP BY region)

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (6, 4, 20, 'e')  + lake.sales (6, 4, 20, 'e') (7, 4, 20, 'e')
--   6  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   7  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v#0: reduce by k0, 2 sums
--     + changes of lake.sales in (1, 2]
--   v#1: reduce by _rv_k0, 2 sums
--     + changes of lake.sales in (1, 2]
--   v#2: bags, groups
--     + changes of v#1 in (1, 2]
--   v: join
--     + changes of v#0 in (1, 2] x v#2 as of 1
--     + v#0 as of 2, stamps kept since 1 x changes of v#2 in (1, 2]
-- rows
--   1: ('n', 25)
--   2: ('s', 27)
--   3: ('s', 27)
--   4: ('s', 27)
--   5: ('e', 40)
--   6: ('e', 40)
--   7: ('e', 40)
