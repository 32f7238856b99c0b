-- EXPLODE of a map
-- construct: EXPLODE, LATERAL VIEW
-- spark only: DuckDB unnests no maps
-- table lake.basket (id INT, items ARRAY<INT>)

SELECT id, k, w FROM lake.basket LATERAL VIEW EXPLODE(MAP('a', id, 'b', 2)) t AS k, w

-- commits
--   1  + lake.basket (1, [1, 2]) (2, [2, 2, NULL]) (3, [])
--   2  + lake.basket (4, NULL)  - lake.basket (1, [1, 2])
--   3  - lake.basket (2, [2, 2, NULL])  + lake.basket (2, [2])
--   4  - lake.basket (3, [])  + lake.basket (3, [])
--   5  - lake.basket (2, [2]) (3, []) (4, NULL)
-- blocks
--   v: select
--     + changes of lake.basket in (1, 2]
