-- over an outer join
-- construct: Windowed aggregates
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT s.id, c.name, COUNT(c.name) OVER (PARTITION BY s.region) AS n
FROM lake.sales s
LEFT JOIN lake.customer c ON s.cust = c.cust

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
--   v#0: reduce by k0
--     + changes of lake.customer in (1, 2]
--   v#1: union
--     + changes of lake.sales in (1, 2] x lake.customer as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of lake.customer in (1, 2]
--     + changes of lake.sales in (1, 2]
--     - changes of lake.sales in (1, 2] x v#0 as of 1
--     - lake.sales as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
--   v: bags by _rv_a2, windows
--     + changes of v#1 in (1, 2]
-- rows
--   1: (1, 'ann', 2) x2 (2, 'bea', 2) (2, 'bob', 2) (3, NULL, 2) (4, 'ann', 1)
--   2: (1, 'ann', 1) (2, 'bea', 1) (3, NULL, 1) (4, 'ann', 1) (5, NULL, 1) (6, NULL, 0)
--   3: (1, 'ann', 1) (2, 'ann', 3) (3, NULL, 1) (4, 'ann', 1) (5, 'cid', 3) x2 (6, NULL, 0)
--   4: (1, 'ann', 1) (2, 'ann', 3) (3, NULL, 1) (4, 'ann', 1) (5, 'cid', 3) x2 (6, NULL, 0)
--   5: (1, 'amy', 1) (2, 'amy', 3) (3, NULL, 1) (4, 'amy', 1) (5, 'cid', 3) x2 (6, NULL, 0)
--   6: (3, NULL, 0) (5, 'cid', 1) (6, NULL, 0)
--   7: (1, NULL, 0) (3, NULL, 0) (5, NULL, 0) (6, NULL, 0)
