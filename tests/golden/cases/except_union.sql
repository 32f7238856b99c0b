-- with a UNION ALL before it
-- construct: EXCEPT
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)
-- table lake.link (a INT, b INT)

(SELECT cust FROM lake.sales UNION ALL SELECT a FROM lake.link)
EXCEPT ALL
SELECT cust
FROM lake.customer

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
--   v: reduce by cust, 1 sums
--     + changes of lake.sales in (1, 2]
--     + changes of lake.link in (1, 2]
--     + changes of lake.customer in (1, 2]
-- rows
--   1: (1) x3 (5) (NULL)
--   2: (1) x2 (2) (3) x3 (4) (5)
--   3: (1) x3 (3) (4) x2 (5)
--   4: (1) x3 (3) (4) x2 (5)
--   5: (1) x3 (4) x2 (5) (NULL)
--   6: (4) x2 (NULL)
--   7: (1) x2 (2) (3) (4) x2 (NULL) x2
