-- joined with a table
-- construct: WITH RECURSIVE
-- table lake.customer (cust INT, name STRING, region STRING)
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION SELECT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a)
SELECT r.a, c.name
FROM r
JOIN lake.customer c ON r.b = c.cust

-- commits
--   1  + lake.customer (1, 'ann', 'n') (2, 'bob', 's') (2, 'bea', 's')
--      + lake.link (1, 2) (2, 3) (5, 6)
--   2  - lake.customer (2, 'bob', 's')  + lake.customer (NULL, 'nil', 'n')
--      + lake.link (3, 4) (3, 4)
--   3  + lake.customer (3, 'cid', NULL) (3, 'cid', NULL)
--      + lake.link (4, 2)
--   4  - lake.link (2, 3)
--   5  - lake.customer (1, 'ann', 'n')  + lake.customer (1, 'amy', 'n')
--      - lake.link (3, 4)  + lake.link (2, 3) (NULL, 1)
--   6  - lake.customer (3, 'cid', NULL)
--      - lake.link (3, 4) (5, 6)
--   7  - lake.customer (1, 'amy', 'n') (2, 'bea', 's') (3, 'cid', NULL) (NULL, 'nil', 'n')
-- blocks
--   v#0: fixpoint of distinct rows
--     + changes of lake.link in (1, 2]
--     + v#0 as of 1 x changes of lake.link in (1, 2]
--     + changes of v#0 in (1, 2] x lake.link as of 2, stamps kept since 1
--   v: join
--     + changes of v#0 in (1, 2] x lake.customer as of 1
--     + v#0 as of 2, stamps kept since 1 x changes of lake.customer in (1, 2]
-- rows
--   1: (1, 'bea') (1, 'bob')
--   2: (1, 'bea')
--   3: (1, 'bea') (1, 'cid') x2 (2, 'bea') (2, 'cid') x2 (3, 'bea') (3, 'cid') x2 (4, 'bea') (4, 'cid') x2
--   4: (1, 'bea') (3, 'bea') (4, 'bea')
--   5: (1, 'bea') (1, 'cid') x2 (2, 'bea') (2, 'cid') x2 (3, 'bea') (3, 'cid') x2 (4, 'bea') (4, 'cid') x2 (NULL, 'amy') (NULL, 'bea') (NULL, 'cid') x2
--   6: (1, 'bea') (1, 'cid') (2, 'cid') (4, 'bea') (4, 'cid') (NULL, 'amy') (NULL, 'bea') (NULL, 'cid')
--   7: nothing
