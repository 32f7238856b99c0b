-- used twice
-- construct: WITH
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

WITH t AS (SELECT region, COUNT(*) AS n FROM lake.sales GROUP BY region)
SELECT a.region, b.region AS other
FROM t a
JOIN t b ON a.n = b.n AND a.region < b.region

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v#0: reduce by region
--     + changes of lake.sales in (1, 2]
--   v: join
--     + changes of v#0 in (1, 2] x v#0 as of 1
--     + v#0 as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
-- rows
--   1: nothing
--   2: ('n', 's')
--   3: ('n', 's')
--   4: ('n', 's')
--   5: ('e', 'n') ('e', 's') ('n', 's')
--   6: ('e', 's')
