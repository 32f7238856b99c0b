-- LEFT JOIN LATERAL of UNION ALL
-- construct: LATERAL
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT c.name, x.id, x.n
FROM lake.customer c LEFT JOIN LATERAL (
  SELECT s.id, s.amount AS n FROM lake.sales s WHERE s.cust = c.cust
  UNION ALL SELECT s.cust, s.id FROM lake.sales s WHERE s.cust > c.cust
) x ON x.n > x.id

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
--     + changes of lake.customer in (1, 2] x lake.sales as of 1
--     + lake.customer as of 2, stamps kept since 1 x changes of lake.sales in (1, 2]
--     + changes of lake.customer in (1, 2] x lake.sales as of 1
--     + lake.customer as of 2, stamps kept since 1 x changes of lake.sales in (1, 2]
--   v: union
--     + changes of lake.customer in (1, 2] x lake.sales as of 1
--     + lake.customer as of 2, stamps kept since 1 x changes of lake.sales in (1, 2]
--     + changes of lake.customer in (1, 2] x lake.sales as of 1
--     + lake.customer as of 2, stamps kept since 1 x changes of lake.sales in (1, 2]
--     + changes of lake.customer in (1, 2]
--     - changes of lake.customer in (1, 2] x v#0 as of 1
--     - lake.customer as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
-- rows
--   1: ('ann', 1, 10) x2 ('bea', 2, 20) ('bob', 2, 20)
--   2: ('ann', 1, 10) ('ann', 3, 5) ('ann', 4, 6) ('bea', 2, 20) ('bea', 3, 5) ('bea', 4, 6) ('nil', NULL, NULL)
--   3: ('ann', 1, 10) ('ann', 2, 20) ('ann', 3, 5) ('ann', 4, 6) ('bea', 3, 5) ('bea', 4, 6) ('cid', 4, 6) x2 ('cid', 5, 7) x2 ('nil', NULL, NULL)
--   4: ('ann', 1, 10) ('ann', 2, 20) ('ann', 3, 5) ('ann', 4, 6) ('bea', 3, 5) ('bea', 4, 6) ('cid', 4, 6) x2 ('cid', 5, 7) x2 ('nil', NULL, NULL)
--   5: ('amy', 1, 10) ('amy', 2, 20) ('amy', 3, 5) ('amy', 4, 6) ('bea', 3, 5) ('bea', 4, 6) ('cid', 4, 6) x2 ('cid', 5, 7) x2 ('nil', NULL, NULL)
--   6: ('amy', 3, 5) ('amy', 4, 6) ('bea', 3, 5) ('bea', 4, 6) ('cid', 4, 6) ('cid', 5, 7) ('nil', NULL, NULL)
--   7: nothing
