-- NOT EXISTS in the recursive part
-- construct: WITH RECURSIVE
-- table lake.link (a INT, b INT)
-- table lake.customer (cust INT, name STRING, region STRING)

WITH RECURSIVE r(x) AS (SELECT b FROM lake.link WHERE a = 1 UNION SELECT l.b FROM r JOIN lake.link l ON r.x = l.a WHERE NOT EXISTS (SELECT 1 FROM lake.customer c WHERE c.cust = r.x))
SELECT x
FROM r

-- commits
--   1  + lake.link (1, 2) (2, 3) (3, 4)
--   2  + lake.customer (2, 'bob', 's')
--   3  + lake.link (1, 3)
--   4  - lake.customer (2, 'bob', 's')  + lake.customer (3, 'cid', NULL)
--   5  - lake.link (1, 3)
--      - lake.customer (3, 'cid', NULL)
-- blocks
--   v#0: reduce by k0
--     + changes of lake.customer in (1, 2]
--   v#1: fixpoint of distinct rows
--     + changes of lake.link in (1, 2]
--     + v#1 as of 1 x changes of lake.link in (1, 2]
--     + changes of v#1 in (1, 2] x lake.link as of 2, stamps kept since 1
--     - v#1 as of 1 x changes of lake.link in (1, 2] x v#0 as of 1
--     - v#1 as of 1 x lake.link as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
--     - changes of v#1 in (1, 2] x lake.link as of 2, stamps kept since 1 x v#0 as of 2, stamps kept since 1
--   v: select
--     + changes of v#1 in (1, 2]
-- rows
--   1: (2) (3) (4)
--   2: (2)
--   3: (2) (3) (4)
--   4: (2) (3)
--   5: (2) (3) (4)
