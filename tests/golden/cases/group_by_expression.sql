-- groups by an expression
-- construct: COUNT, SUM, AVG
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT COALESCE(region, 'none') AS r, COUNT(*) AS n
FROM lake.sales
GROUP BY COALESCE(region, 'none')

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: reduce by r
--     + changes of lake.sales in (1, 2]
-- rows
--   1: ('n', 3) ('none', 1) ('s', 1)
--   2: ('e', 1) ('n', 2) ('none', 1) ('s', 2)
--   3: ('e', 1) ('n', 2) ('none', 1) ('s', 2)
--   4: ('e', 1) ('n', 2) ('none', 1) ('s', 2)
--   5: ('e', 1) ('n', 1) ('s', 1)
--   6: ('e', 1) ('n', 2) ('s', 1)
