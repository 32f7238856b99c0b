-- LISTAGG WITHIN GROUP
-- construct: COLLECT_SET, ARRAY_AGG, STRING_AGG
-- spark only: another grammar in DuckDB
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT region, LISTAGG(name, ',') WITHIN GROUP (ORDER BY name) AS names
FROM lake.customer
GROUP BY region

-- commits
--   1  + lake.customer (1, 'ann', 'n') (2, 'bob', 's') (2, 'bea', 's')
--   2  - lake.customer (2, 'bob', 's')  + lake.customer (NULL, 'nil', 'n')
--   3  + lake.customer (3, 'cid', NULL) (3, 'cid', NULL)
--   4  - lake.customer (1, 'ann', 'n')  + lake.customer (1, 'amy', 'n')
--   5  - lake.customer (3, 'cid', NULL)
--   6  - lake.customer (1, 'amy', 'n') (2, 'bea', 's') (3, 'cid', NULL) (NULL, 'nil', 'n')
-- blocks
--   v: bags by region, groups
--     + changes of lake.customer in (1, 2]
