-- two EXISTS
-- construct: SEMI JOIN, IN, EXISTS
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)
-- table lake.link (a INT, b INT)

SELECT s.id
FROM lake.sales s
WHERE EXISTS (SELECT 1 FROM lake.customer c WHERE c.cust = s.cust) AND EXISTS (SELECT 1 FROM lake.link l WHERE l.a = s.id)

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--      + lake.customer (1, 'ann', 'n') (2, 'bob', 's') (2, 'bea', 's')
--      + lake.link (1, 2) (2, 3) (5, 6)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--      - lake.customer (2, 'bob', 's')  + lake.customer (NULL, 'nil', 'n')
--      + lake.link (3, 4) (3, 4)
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--      + lake.customer (3, 'cid', NULL) (3, 'cid', NULL)
--      + lake.link (4, 2)
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--      - lake.link (2, 3)
--   5  - lake.customer (1, 'ann', 'n')  + lake.customer (1, 'amy', 'n')
--      - lake.link (3, 4)  + lake.link (2, 3) (NULL, 1)
--   6  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--      - lake.customer (3, 'cid', NULL)
--      - lake.link (3, 4) (5, 6)
--   7  + lake.sales (1, 1, 10, 'n')
--      - lake.customer (1, 'amy', 'n') (2, 'bea', 's') (3, 'cid', NULL) (NULL, 'nil', 'n')
-- blocks
--   v#0: reduce by k0
--     + changes of lake.customer in (1, 2]
--   v#1: reduce by k0
--     + changes of lake.link in (1, 2]
--   v: join
--     + changes of lake.sales in (1, 2] x v#0 as of 1 x v#1 as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of v#0 in (1, 2] x v#1 as of 1
--     + lake.sales as of 2, stamps kept since 1 x v#0 as of 2, stamps kept since 1 x changes of v#1 in (1, 2]
-- rows
--   1: (1) x2 (2)
--   2: (1) (2)
--   3: (1) (2) (4) (5)
--   4: (1) (4) (5)
--   5: (1) (2) (4) (5)
--   6: nothing
--   7: nothing
