-- IN as a column
-- construct: SEMI JOIN, IN, EXISTS
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT id, cust IN (SELECT cust FROM lake.customer WHERE cust IS NOT NULL) AS known
FROM lake.sales

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
--   v: union
--     + changes of lake.sales in (1, 2] x v#0 as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
--     + changes of lake.sales in (1, 2]
--     - changes of lake.sales in (1, 2] x v#0 as of 1
--     - lake.sales as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
-- rows
--   1: (1, TRUE) x2 (2, TRUE) (3, FALSE) (4, TRUE)
--   2: (1, TRUE) (2, TRUE) (3, FALSE) (4, TRUE) (5, FALSE) (6, FALSE)
--   3: (1, TRUE) (2, TRUE) (3, FALSE) (4, TRUE) (5, TRUE) (6, FALSE)
--   4: (1, TRUE) (2, TRUE) (3, FALSE) (4, TRUE) (5, TRUE) (6, FALSE)
--   5: (1, TRUE) (2, TRUE) (3, FALSE) (4, TRUE) (5, TRUE) (6, FALSE)
--   6: (3, FALSE) (5, TRUE) (6, FALSE)
--   7: (1, FALSE) (3, FALSE) (5, FALSE) (6, FALSE)
