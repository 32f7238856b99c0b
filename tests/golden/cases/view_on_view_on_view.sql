-- three deep
-- construct: Views on views
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- view plain

SELECT cust, region FROM lake.sales WHERE amount > 5
-- view counted

SELECT region, COUNT(*) AS m FROM plain GROUP BY region
-- view v

SELECT m, COUNT(*) AS k FROM counted GROUP BY m

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   plain: select
--     + changes of lake.sales in (1, 2]
--   counted: reduce by region
--     + changes of plain in (1, 2]
--   v: reduce by m
--     + changes of counted in (1, 2]
-- rows
--   1: (1, 1) (2, 1)
--   2: (1, 2) (2, 1)
--   3: (1, 2) (2, 1)
--   4: (1, 2) (2, 1)
--   5: (1, 2)
--   6: (1, 3)
