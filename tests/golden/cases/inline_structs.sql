-- INLINE
-- construct: EXPLODE, LATERAL VIEW
-- spark only: DuckDB has no INLINE
-- table lake.basket (id INT, items ARRAY<INT>)

SELECT id, x, y
FROM lake.basket
LATERAL VIEW INLINE(ARRAY(STRUCT(id AS x, 1 AS y), STRUCT(2 AS x, id AS y))) t AS x, y

-- commits
--   1  + lake.basket (1, [1, 2]) (2, [2, 2, NULL]) (3, [])
--   2  + lake.basket (4, NULL)  - lake.basket (1, [1, 2])
--   3  - lake.basket (2, [2, 2, NULL])  + lake.basket (2, [2])
--   4  - lake.basket (3, [])  + lake.basket (3, [])
--   5  - lake.basket (2, [2]) (3, []) (4, NULL)
-- blocks
--   v: select
--     + changes of lake.basket in (1, 2]
