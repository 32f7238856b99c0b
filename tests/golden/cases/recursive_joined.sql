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
