-- a condition with OR
-- construct: Inner joins
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT s.id, c.name
FROM lake.sales s
JOIN lake.customer c ON s.cust = c.cust OR s.region = c.region

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
--   v: join
--     + changes of lake.sales in (1, 2] x lake.customer as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of lake.customer in (1, 2]
-- rows
--   1: (1, 'ann') x2 (2, 'bea') (2, 'bob') (3, 'ann') (4, 'ann')
--   2: (1, 'ann') (1, 'nil') (2, 'bea') (3, 'ann') (3, 'nil') (4, 'ann') (5, 'bea')
--   3: (1, 'ann') (1, 'nil') (2, 'ann') (2, 'bea') (3, 'ann') (3, 'nil') (4, 'ann') (5, 'bea') (5, 'cid') x2
--   4: (1, 'ann') (1, 'nil') (2, 'ann') (2, 'bea') (3, 'ann') (3, 'nil') (4, 'ann') (5, 'bea') (5, 'cid') x2
--   5: (1, 'amy') (1, 'nil') (2, 'amy') (2, 'bea') (3, 'amy') (3, 'nil') (4, 'amy') (5, 'bea') (5, 'cid') x2
--   6: (3, 'amy') (3, 'nil') (5, 'bea') (5, 'cid')
--   7: nothing
