-- LATERAL of aggregates: one row for every row, also over nothing
-- construct: LATERAL
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT c.name, x.n, x.total, x.top
FROM lake.customer c, LATERAL (
  SELECT COUNT(*) AS n, COALESCE(SUM(s.amount), 0) + COUNT(s.amount) AS total, MAX(s.id) AS top
  FROM lake.sales s WHERE s.cust = c.cust
) x

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
--   1: ('ann', 3, 22, 4) ('bea', 1, 21, 2) ('bob', 1, 21, 2)
--   2: ('ann', 2, 11, 4) ('bea', 1, 21, 2) ('nil', 0, 0, NULL)
--   3: ('ann', 3, 32, 4) ('bea', 0, 0, NULL) ('cid', 1, 8, 5) x2 ('nil', 0, 0, NULL)
--   4: ('ann', 3, 32, 4) ('bea', 0, 0, NULL) ('cid', 1, 8, 5) x2 ('nil', 0, 0, NULL)
--   5: ('amy', 3, 32, 4) ('bea', 0, 0, NULL) ('cid', 1, 8, 5) x2 ('nil', 0, 0, NULL)
--   6: ('amy', 0, 0, NULL) ('bea', 0, 0, NULL) ('cid', 1, 8, 5) ('nil', 0, 0, NULL)
--   7: nothing
