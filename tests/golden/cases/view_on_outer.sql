-- over an outer join
-- construct: Views on views
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)
-- view base

SELECT c.name, s.id FROM lake.customer c LEFT JOIN lake.sales s ON s.cust = c.cust
-- view v

SELECT name, COUNT(id) AS n FROM base GROUP BY name

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
--   base#0: reduce by k0
--     + changes of lake.sales in (1, 2]
--   base: union
--     + changes of lake.customer in (1, 2] x lake.sales as of 1
--     + lake.customer as of 2, stamps kept since 1 x changes of lake.sales in (1, 2]
--     + changes of lake.customer in (1, 2]
--     - changes of lake.customer in (1, 2] x base#0 as of 1
--     - lake.customer as of 2, stamps kept since 1 x changes of base#0 in (1, 2]
--   v: reduce by name, 1 sums
--     + changes of base in (1, 2]
-- rows
--   1: ('ann', 3) ('bea', 1) ('bob', 1)
--   2: ('ann', 2) ('bea', 1) ('nil', 0)
--   3: ('ann', 3) ('bea', 0) ('cid', 2) ('nil', 0)
--   4: ('ann', 3) ('bea', 0) ('cid', 2) ('nil', 0)
--   5: ('amy', 3) ('bea', 0) ('cid', 2) ('nil', 0)
--   6: ('amy', 0) ('bea', 0) ('cid', 1) ('nil', 0)
--   7: nothing
