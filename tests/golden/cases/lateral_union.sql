-- LATERAL of UNION ALL
-- construct: LATERAL
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT c.name, x.word, x.value
FROM lake.customer c, LATERAL (
  SELECT 'own' AS word, c.cust AS value UNION ALL SELECT s.region, s.id FROM lake.sales s WHERE s.cust = c.cust
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
--   v: union
--     + changes of lake.customer in (1, 2]
--     + changes of lake.customer in (1, 2] x lake.sales as of 1
--     + lake.customer as of 2, stamps kept since 1 x changes of lake.sales in (1, 2]
-- rows
--   1: ('ann', 'n', 1) x2 ('ann', 'own', 1) ('ann', NULL, 4) ('bea', 'own', 2) ('bea', 's', 2) ('bob', 'own', 2) ('bob', 's', 2)
--   2: ('ann', 'n', 1) ('ann', 'own', 1) ('ann', NULL, 4) ('bea', 'own', 2) ('bea', 's', 2) ('nil', 'own', NULL)
--   3: ('ann', 'n', 1) ('ann', 'own', 1) ('ann', 's', 2) ('ann', NULL, 4) ('bea', 'own', 2) ('cid', 'own', 3) x2 ('cid', 's', 5) x2 ('nil', 'own', NULL)
--   4: ('ann', 'n', 1) ('ann', 'own', 1) ('ann', 's', 2) ('ann', NULL, 4) ('bea', 'own', 2) ('cid', 'own', 3) x2 ('cid', 's', 5) x2 ('nil', 'own', NULL)
--   5: ('amy', 'n', 1) ('amy', 'own', 1) ('amy', 's', 2) ('amy', NULL, 4) ('bea', 'own', 2) ('cid', 'own', 3) x2 ('cid', 's', 5) x2 ('nil', 'own', NULL)
--   6: ('amy', 'own', 1) ('bea', 'own', 2) ('cid', 'own', 3) ('cid', 's', 5) ('nil', 'own', NULL)
--   7: nothing
