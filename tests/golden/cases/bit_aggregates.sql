-- BIT_AND, BIT_OR, BIT_XOR
-- construct: BOOL_AND, BOOL_OR, BIT_*
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, BIT_AND(id) AS a, BIT_OR(id) AS o, BIT_XOR(id) AS x
FROM lake.sales
GROUP BY region

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: bags by region, groups
--     + changes of lake.sales in (1, 2]
-- rows
--   1: ('n', 1, 3, 3) ('s', 2, 2, 2) (NULL, 4, 4, 4)
--   2: ('e', 6, 6, 6) ('n', 1, 3, 2) ('s', 0, 7, 7) (NULL, 4, 4, 4)
--   3: ('e', 6, 6, 6) ('n', 1, 3, 2) ('s', 0, 7, 7) (NULL, 4, 4, 4)
--   4: ('e', 6, 6, 6) ('n', 1, 3, 2) ('s', 0, 7, 7) (NULL, 4, 4, 4)
--   5: ('e', 6, 6, 6) ('n', 3, 3, 3) ('s', 5, 5, 5)
--   6: ('e', 6, 6, 6) ('n', 1, 3, 2) ('s', 5, 5, 5)
