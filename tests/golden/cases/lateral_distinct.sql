-- LATERAL of SELECT DISTINCT
-- construct: LATERAL
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT c.name, x.*
FROM lake.customer c, LATERAL (
  SELECT DISTINCT s.region, c.region AS home FROM lake.sales s WHERE s.cust = c.cust
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
--   v#0: reduce by k0, k1
--     + changes of lake.customer in (1, 2]
--   v#1: reduce by k0, k1, k2
--     + changes of v#0 in (1, 2] x lake.sales as of 1
--     + v#0 as of 2, stamps kept since 1 x changes of lake.sales in (1, 2]
--   v: join
--     + changes of lake.customer in (1, 2] x v#1 as of 1
--     + lake.customer as of 2, stamps kept since 1 x changes of v#1 in (1, 2]
-- rows
--   1: ('ann', 'n', 'n') ('ann', NULL, 'n') ('bea', 's', 's') ('bob', 's', 's')
--   2: ('ann', 'n', 'n') ('ann', NULL, 'n') ('bea', 's', 's')
--   3: ('ann', 'n', 'n') ('ann', 's', 'n') ('ann', NULL, 'n') ('cid', 's', NULL) x2
--   4: ('ann', 'n', 'n') ('ann', 's', 'n') ('ann', NULL, 'n') ('cid', 's', NULL) x2
--   5: ('amy', 'n', 'n') ('amy', 's', 'n') ('amy', NULL, 'n') ('cid', 's', NULL) x2
--   6: ('cid', 's', NULL)
--   7: nothing
