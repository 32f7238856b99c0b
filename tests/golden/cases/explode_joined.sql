-- joined with a table
-- construct: EXPLODE, LATERAL VIEW
-- table lake.customer (cust INT, name STRING, region STRING)
-- table lake.basket (id INT, items ARRAY<INT>)

SELECT b.id, c.name
FROM (SELECT id, EXPLODE(items) AS item FROM lake.basket) b
JOIN lake.customer c ON c.cust = b.item

-- commits
--   1  + lake.customer (1, 'ann', 'n') (2, 'bob', 's') (2, 'bea', 's')
--      + lake.basket (1, [1, 2]) (2, [2, 2, NULL]) (3, [])
--   2  - lake.customer (2, 'bob', 's')  + lake.customer (NULL, 'nil', 'n')
--      + lake.basket (4, NULL)  - lake.basket (1, [1, 2])
--   3  + lake.customer (3, 'cid', NULL) (3, 'cid', NULL)
--      - lake.basket (2, [2, 2, NULL])  + lake.basket (2, [2])
--   4  - lake.basket (3, [])  + lake.basket (3, [])
--   5  - lake.customer (1, 'ann', 'n')  + lake.customer (1, 'amy', 'n')
--      - lake.basket (2, [2]) (3, []) (4, NULL)
--   6  - lake.customer (3, 'cid', NULL)
--   7  - lake.customer (1, 'amy', 'n') (2, 'bea', 's') (3, 'cid', NULL) (NULL, 'nil', 'n')
-- blocks
--   v: join
--     + changes of lake.basket in (1, 2] x lake.customer as of 1
--     + lake.basket as of 2, stamps kept since 1 x changes of lake.customer in (1, 2]
-- rows
--   1: (1, 'ann') (1, 'bea') (1, 'bob') (2, 'bea') x2 (2, 'bob') x2
--   2: (2, 'bea') x2
--   3: (2, 'bea')
--   4: (2, 'bea')
--   5: nothing
--   6: nothing
--   7: nothing
