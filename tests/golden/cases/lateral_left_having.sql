-- LEFT JOIN LATERAL of an aggregate with HAVING and a condition
-- construct: LATERAL
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT c.name, x.n, x.low
FROM lake.customer c LEFT JOIN LATERAL (
  SELECT COUNT(*) AS n, MIN(s.amount) AS low FROM lake.sales s WHERE s.cust = c.cust HAVING COUNT(*) <> 1
) x ON x.n < 3

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
--   v#0: bags by k0, groups
--     + changes of lake.sales in (1, 2]
--   v: union
--     + changes of lake.customer in (1, 2] x v#0 as of 1
--     + lake.customer as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
--     + changes of lake.customer in (1, 2]
--     - changes of lake.customer in (1, 2] x v#0 as of 1
--     - lake.customer as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
-- rows
--   1: ('ann', NULL, NULL) ('bea', NULL, NULL) ('bob', NULL, NULL)
--   2: ('ann', 2, 10) ('bea', NULL, NULL) ('nil', 0, NULL)
--   3: ('ann', NULL, NULL) ('bea', 0, NULL) ('cid', NULL, NULL) x2 ('nil', 0, NULL)
--   4: ('ann', NULL, NULL) ('bea', 0, NULL) ('cid', NULL, NULL) x2 ('nil', 0, NULL)
--   5: ('amy', NULL, NULL) ('bea', 0, NULL) ('cid', NULL, NULL) x2 ('nil', 0, NULL)
--   6: ('amy', 0, NULL) ('bea', 0, NULL) ('cid', NULL, NULL) ('nil', 0, NULL)
--   7: nothing
