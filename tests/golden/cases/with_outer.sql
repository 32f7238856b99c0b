-- an outer join of two
-- construct: WITH
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

WITH a AS (SELECT DISTINCT cust FROM lake.sales), b AS (SELECT DISTINCT cust FROM lake.customer)
SELECT a.cust AS x, b.cust AS y
FROM a
LEFT JOIN b ON a.cust = b.cust

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
--   v#2: reduce by k0
--     + changes of v#1 in (1, 2]
--   v: union
--     + changes of v#0 in (1, 2] x v#1 as of 1
--     + v#0 as of 2, stamps kept since 1 x changes of v#1 in (1, 2]
--     + changes of v#0 in (1, 2]
--     - changes of v#0 in (1, 2] x v#2 as of 1
--     - v#0 as of 2, stamps kept since 1 x changes of v#2 in (1, 2]
-- rows
--   1: (1, 1) (2, 2) (NULL, NULL)
--   2: (1, 1) (2, 2) (3, NULL) (4, NULL) (NULL, NULL)
--   3: (1, 1) (3, 3) (4, NULL) (NULL, NULL)
--   4: (1, 1) (3, 3) (4, NULL) (NULL, NULL)
--   5: (1, 1) (3, 3) (4, NULL) (NULL, NULL)
--   6: (3, 3) (4, NULL) (NULL, NULL)
--   7: (1, NULL) (3, NULL) (4, NULL) (NULL, NULL)
