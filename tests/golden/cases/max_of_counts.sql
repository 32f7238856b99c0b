-- over groups
-- construct: MIN, MAX
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT MAX(n) AS most FROM (SELECT cust, COUNT(*) AS n FROM lake.sales GROUP BY cust) q

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v#0: reduce by cust
--     + changes of lake.sales in (1, 2]
--   v: bags, groups
--     + changes of v#0 in (1, 2]
-- rows
--   1: (3)
--   2: (2)
--   3: (3)
--   4: (3)
--   5: (1)
--   6: (1)
