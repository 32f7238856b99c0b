-- of aggregates
-- construct: EXCEPT
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT cust, COUNT(*) AS n
FROM lake.sales
GROUP BY cust
EXCEPT
SELECT cust, COUNT(*)
FROM lake.customer
GROUP BY cust

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--      + lake.customer (1, 'ann', 'n') (2, 'bob', 's') (2, 'bea', 's')
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--      - lake.customer (2, 'bob', 's')  + lake.customer (NULL, 'nil', 'n')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--      + lake.customer (3, 'cid', NULL) (3, 'cid', NULL)
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.customer (1, 'ann', 'n')  + lake.customer (1, 'amy', 'n')
--   6  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--      - lake.customer (3, 'cid', NULL)
--   7  + lake.sales (1, 1, 10, 'n')
--      - lake.customer (1, 'amy', 'n') (2, 'bea', 's') (3, 'cid', NULL) (NULL, 'nil', 'n')
-- blocks
--   v#0: reduce by cust
--     + changes of lake.sales in (1, 2]
--   v#1: reduce by cust
--     + changes of lake.customer in (1, 2]
--   v: reduce by cust, n, 1 sums
--     + changes of v#0 in (1, 2]
--     + changes of v#1 in (1, 2]
-- rows
--   1: (1, 3) (2, 1) (NULL, 1)
--   2: (1, 2) (3, 1) (4, 1)
--   3: (1, 3) (3, 1) (4, 1)
--   4: (1, 3) (3, 1) (4, 1)
--   5: (1, 3) (3, 1) (4, 1)
--   6: (4, 1)
--   7: (1, 1) (3, 1) (4, 1) (NULL, 1)
