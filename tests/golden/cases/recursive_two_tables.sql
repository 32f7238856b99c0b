-- several tables in the recursive part
-- construct: WITH RECURSIVE
-- table lake.link (a INT, b INT)
-- table lake.customer (cust INT, name STRING, region STRING)

WITH RECURSIVE r(a, b, name) AS (SELECT l.a, l.b, c.name FROM lake.link l JOIN lake.customer c ON l.b = c.cust UNION SELECT r.a, l.b, c.name FROM r JOIN lake.link l ON r.b = l.a JOIN lake.customer c ON l.b = c.cust)
SELECT a, b, name
FROM r

-- commits
--   1  + lake.link (1, 2) (2, 3)
--      + lake.customer (2, 'bob', 's')
--   2  + lake.customer (3, 'cid', NULL) (3, 'cid', 'n')
--      + lake.link (3, 1)
--   3  + lake.customer (1, 'ann', 'n')
--   4  - lake.customer (2, 'bob', 's')
--   5  + lake.customer (2, 'bea', 's')
--      - lake.link (2, 3)
--   6  + lake.link (2, 3)
--      - lake.customer (3, 'cid', NULL)
-- blocks
--   v#0: fixpoint of distinct rows
--     + changes of lake.link in (1, 2] x lake.customer as of 1
--     + lake.link as of 2, stamps kept since 1 x changes of lake.customer in (1, 2]
--     + v#0 as of 1 x changes of lake.link in (1, 2] x lake.customer as of 1
--     + v#0 as of 1 x lake.link as of 2, stamps kept since 1 x changes of lake.customer in (1, 2]
--     + changes of v#0 in (1, 2] x lake.link as of 2, stamps kept since 1 x lake.customer as of 2, stamps kept since 1
--   v: select
--     + changes of v#0 in (1, 2]
-- rows
--   1: (1, 2, 'bob')
--   2: (1, 2, 'bob') (1, 3, 'cid') (2, 3, 'cid')
--   3: (1, 1, 'ann') (1, 2, 'bob') (1, 3, 'cid') (2, 1, 'ann') (2, 2, 'bob') (2, 3, 'cid') (3, 1, 'ann') (3, 2, 'bob') (3, 3, 'cid')
--   4: (2, 1, 'ann') (2, 3, 'cid') (3, 1, 'ann')
--   5: (1, 2, 'bea') (3, 1, 'ann') (3, 2, 'bea')
--   6: (1, 1, 'ann') (1, 2, 'bea') (1, 3, 'cid') (2, 1, 'ann') (2, 2, 'bea') (2, 3, 'cid') (3, 1, 'ann') (3, 2, 'bea') (3, 3, 'cid')
