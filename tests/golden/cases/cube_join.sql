-- over a join
-- construct: GROUPING SETS, ROLLUP, CUBE
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT s.region, c.name, COUNT(*) AS n
FROM lake.sales s
JOIN lake.customer c ON s.cust = c.cust
GROUP BY CUBE (s.region, c.name)

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
--   v#0: reduce by k0, k1
--     + changes of lake.sales in (1, 2] x lake.customer as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of lake.customer in (1, 2]
--   v#1: reduce by k0
--     + changes of lake.sales in (1, 2] x lake.customer as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of lake.customer in (1, 2]
--   v#2: reduce by k0
--     + changes of lake.sales in (1, 2] x lake.customer as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of lake.customer in (1, 2]
--   v#3: reduce
--     + changes of lake.sales in (1, 2] x lake.customer as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of lake.customer in (1, 2]
--   v: union
--     + changes of v#0 in (1, 2]
--     + changes of v#1 in (1, 2]
--     + changes of v#2 in (1, 2]
--     + changes of v#3 in (1, 2]
-- rows
--   1: ('n', 'ann', 2) ('n', NULL, 2) ('s', 'bea', 1) ('s', 'bob', 1) ('s', NULL, 2) (NULL, 'ann', 1) (NULL, 'ann', 3) (NULL, 'bea', 1) (NULL, 'bob', 1) (NULL, NULL, 1) (NULL, NULL, 5)
--   2: ('n', 'ann', 1) ('n', NULL, 1) ('s', 'bea', 1) ('s', NULL, 1) (NULL, 'ann', 1) (NULL, 'ann', 2) (NULL, 'bea', 1) (NULL, NULL, 1) (NULL, NULL, 3)
--   3: ('n', 'ann', 1) ('n', NULL, 1) ('s', 'ann', 1) ('s', 'cid', 2) ('s', NULL, 3) (NULL, 'ann', 1) (NULL, 'ann', 3) (NULL, 'cid', 2) (NULL, NULL, 1) (NULL, NULL, 5)
--   4: ('n', 'ann', 1) ('n', NULL, 1) ('s', 'ann', 1) ('s', 'cid', 2) ('s', NULL, 3) (NULL, 'ann', 1) (NULL, 'ann', 3) (NULL, 'cid', 2) (NULL, NULL, 1) (NULL, NULL, 5)
--   5: ('n', 'amy', 1) ('n', NULL, 1) ('s', 'amy', 1) ('s', 'cid', 2) ('s', NULL, 3) (NULL, 'amy', 1) (NULL, 'amy', 3) (NULL, 'cid', 2) (NULL, NULL, 1) (NULL, NULL, 5)
--   6: ('s', 'cid', 1) ('s', NULL, 1) (NULL, 'cid', 1) (NULL, NULL, 1)
--   7: nothing
