-- IN as a condition of ON, before a left join
-- construct: SEMI JOIN, IN, EXISTS
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT s.id, c.name, d.name AS namesake FROM lake.sales s
JOIN lake.customer c ON s.cust = c.cust AND c.region IN (SELECT region FROM lake.sales WHERE amount > 5)
LEFT JOIN lake.customer d ON d.name = c.name AND d.cust <> c.cust

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
--     + changes of lake.sales in (1, 2] x lake.customer as of 1 x lake.customer as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of lake.customer in (1, 2] x lake.customer as of 1
--     + lake.sales as of 2, stamps kept since 1 x lake.customer as of 2, stamps kept since 1 x changes of lake.customer in (1, 2]
--   v#1: reduce by k0
--     + changes of lake.sales in (1, 2]
--   v: union
--     + changes of lake.sales in (1, 2] x lake.customer as of 1 x lake.customer as of 1 x v#1 as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of lake.customer in (1, 2] x lake.customer as of 1 x v#1 as of 1
--     + lake.sales as of 2, stamps kept since 1 x lake.customer as of 2, stamps kept since 1 x changes of lake.customer in (1, 2] x v#1 as of 1
--     + lake.sales as of 2, stamps kept since 1 x lake.customer as of 2, stamps kept since 1 x lake.customer as of 2, stamps kept since 1 x changes of v#1 in (1, 2]
--     + changes of lake.sales in (1, 2] x lake.customer as of 1 x v#1 as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of lake.customer in (1, 2] x v#1 as of 1
--     + lake.sales as of 2, stamps kept since 1 x lake.customer as of 2, stamps kept since 1 x changes of v#1 in (1, 2]
--     - changes of lake.sales in (1, 2] x lake.customer as of 1 x v#0 as of 1 x v#1 as of 1
--     - lake.sales as of 2, stamps kept since 1 x changes of lake.customer in (1, 2] x v#0 as of 1 x v#1 as of 1
--     - lake.sales as of 2, stamps kept since 1 x lake.customer as of 2, stamps kept since 1 x changes of v#0 in (1, 2] x v#1 as of 1
--     - lake.sales as of 2, stamps kept since 1 x lake.customer as of 2, stamps kept since 1 x v#0 as of 2, stamps kept since 1 x changes of v#1 in (1, 2]
-- rows
--   1: (1, 'ann', NULL) x2 (2, 'bea', NULL) (2, 'bob', NULL) (4, 'ann', NULL)
--   2: (1, 'ann', NULL) (2, 'bea', NULL) (4, 'ann', NULL)
--   3: (1, 'ann', NULL) (2, 'ann', NULL) (4, 'ann', NULL)
--   4: (1, 'ann', NULL) (2, 'ann', NULL) (4, 'ann', NULL)
--   5: (1, 'amy', NULL) (2, 'amy', NULL) (4, 'amy', NULL)
--   6: nothing
--   7: nothing
