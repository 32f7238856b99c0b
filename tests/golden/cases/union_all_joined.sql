-- a join over it
-- construct: UNION ALL
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)
-- table lake.link (a INT, b INT)

SELECT u.x, c.name
FROM (SELECT cust AS x FROM lake.sales UNION ALL SELECT a FROM lake.link) u
JOIN lake.customer c ON c.cust = u.x

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
--   v: union
--     + changes of lake.sales in (1, 2] x lake.customer as of 1
--     + lake.sales as of 2, stamps kept since 1 x changes of lake.customer in (1, 2]
--     + changes of lake.link in (1, 2] x lake.customer as of 1
--     + lake.link as of 2, stamps kept since 1 x changes of lake.customer in (1, 2]
-- rows
--   1: (1, 'ann') x4 (2, 'bea') x2 (2, 'bob') x2
--   2: (1, 'ann') x3 (2, 'bea') x2
--   3: (1, 'ann') x4 (2, 'bea') (3, 'cid') x6
--   4: (1, 'ann') x4 (3, 'cid') x6
--   5: (1, 'amy') x4 (2, 'bea') (3, 'cid') x4
--   6: (1, 'amy') (2, 'bea') (3, 'cid')
--   7: nothing
