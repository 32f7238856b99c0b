-- COLLECT_LIST over the last rows, in the window's order
-- construct: Windowed aggregates
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, COLLECT_LIST(amount) OVER (PARTITION BY region ORDER BY id, cust, amount ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS latest
FROM lake.sales WHERE amount IS NOT NULL

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (6, 4, 20, 'e')  + lake.sales (6, 4, 20, 'e') (7, 4, 20, 'e')
--   6  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   7  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: bags by _rv_a3, windows
--     + changes of lake.sales in (1, 2]
-- rows
--   1: (1, [10, 10]) (1, [10]) (2, [20]) (3, [10, 10, 5])
--   2: (1, [10]) (2, [20]) (3, [10, 5]) (5, [20, 7]) (6, [20])
--   3: (1, [10]) (2, [20]) (3, [10, 5]) (5, [20, 7]) (6, [20])
--   4: (1, [10]) (2, [20]) (3, [10, 5]) (5, [20, 7]) (6, [20])
--   5: (1, [10]) (2, [20]) (3, [10, 5]) (5, [20, 7]) (6, [20]) (7, [20, 20])
--   6: (3, [5]) (5, [7]) (6, [20]) (7, [20, 20])
--   7: (1, [10]) (3, [10, 5]) (5, [7]) (6, [20]) (7, [20, 20])
