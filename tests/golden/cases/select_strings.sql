-- functions of strings
-- construct: SELECT, WHERE
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, UPPER(region) AS u, CONCAT(region, '-', region) AS c, LENGTH(region) AS n
FROM lake.sales
WHERE region LIKE 'n%' OR region = 's'

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: select
--     + changes of lake.sales in (1, 2]
-- rows
--   1: (1, 'N', 'n-n', 1) x2 (2, 'S', 's-s', 1) (3, 'N', 'n-n', 1)
--   2: (1, 'N', 'n-n', 1) (2, 'S', 's-s', 1) (3, 'N', 'n-n', 1) (5, 'S', 's-s', 1)
--   3: (1, 'N', 'n-n', 1) (2, 'S', 's-s', 1) (3, 'N', 'n-n', 1) (5, 'S', 's-s', 1)
--   4: (1, 'N', 'n-n', 1) (2, 'S', 's-s', 1) (3, 'N', 'n-n', 1) (5, 'S', 's-s', 1)
--   5: (3, 'N', 'n-n', 1) (5, 'S', 's-s', 1)
--   6: (1, 'N', 'n-n', 1) (3, 'N', 'n-n', 1) (5, 'S', 's-s', 1)
