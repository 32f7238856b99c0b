-- LATERAL as a join: what it shows is made of both sides
-- construct: LATERAL
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT c.name, x.id, x.more
FROM lake.customer c, LATERAL (SELECT s.id, s.amount + c.cust AS more FROM lake.sales s WHERE s.cust = c.cust) x

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
--     + changes of lake.customer in (1, 2] x lake.sales as of 1
--     + lake.customer as of 2, stamps kept since 1 x changes of lake.sales in (1, 2]
-- rows
--   1: ('ann', 1, 11) x2 ('ann', 4, NULL) ('bea', 2, 22) ('bob', 2, 22)
--   2: ('ann', 1, 11) ('ann', 4, NULL) ('bea', 2, 22)
--   3: ('ann', 1, 11) ('ann', 2, 21) ('ann', 4, NULL) ('cid', 5, 10) x2
--   4: ('ann', 1, 11) ('ann', 2, 21) ('ann', 4, NULL) ('cid', 5, 10) x2
--   5: ('amy', 1, 11) ('amy', 2, 21) ('amy', 4, NULL) ('cid', 5, 10) x2
--   6: ('cid', 5, 10)
--   7: nothing
