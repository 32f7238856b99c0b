-- groups of elements
-- construct: EXPLODE, LATERAL VIEW
-- table lake.basket (id INT, items ARRAY<INT>)

SELECT item, COUNT(*) AS n
FROM lake.basket
LATERAL VIEW EXPLODE(items) t AS item
GROUP BY item

-- commits
--   1  + lake.basket (1, [1, 2]) (2, [2, 2, NULL]) (3, [])
--   2  + lake.basket (4, NULL)  - lake.basket (1, [1, 2])
--   3  - lake.basket (2, [2, 2, NULL])  + lake.basket (2, [2])
--   4  - lake.basket (3, [])  + lake.basket (3, [])
--   5  - lake.basket (2, [2]) (3, []) (4, NULL)
-- blocks
--   v: reduce by item
--     + changes of lake.basket in (1, 2]
-- rows
--   1: (1, 1) (2, 3) (NULL, 1)
--   2: (2, 2) (NULL, 1)
--   3: (2, 1)
--   4: (2, 1)
--   5: nothing
