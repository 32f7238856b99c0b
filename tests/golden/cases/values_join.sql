-- joined with a table
-- construct: VALUES
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT s.id, v.label
FROM lake.sales s
JOIN (VALUES (1, 'one'), (2, 'two')) AS v(cust, label) ON s.cust = v.cust

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: union
--     + changes of lake.sales in (1, 2]
--     + changes of lake.sales in (1, 2]
-- rows
--   1: (1, 'one') x2 (2, 'two') (4, 'one')
--   2: (1, 'one') (2, 'two') (4, 'one')
--   3: (1, 'one') (2, 'one') (4, 'one')
--   4: (1, 'one') (2, 'one') (4, 'one')
--   5: nothing
--   6: (1, 'one')
