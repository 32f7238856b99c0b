-- UNPIVOT
-- construct: PIVOT, UNPIVOT
-- table lake.quarter (id INT, q1 INT, q2 INT)

SELECT id, quarter, amount FROM lake.quarter UNPIVOT (amount FOR quarter IN (q1, q2))

-- commits
--   1  + lake.quarter (1, 10, 20) (2, NULL, 5)
--   2  + lake.quarter (1, 10, 20)  - lake.quarter (2, NULL, 5)
--   3  - lake.quarter (1, 10, 20)  + lake.quarter (1, 11, 20)
--   4  - lake.quarter (1, 10, 20) (1, 11, 20)
-- blocks
--   v: union
--     + changes of lake.quarter in (1, 2]
--     + changes of lake.quarter in (1, 2]
-- rows
--   1: (1, 'q1', 10) (1, 'q2', 20) (2, 'q2', 5)
--   2: (1, 'q1', 10) x2 (1, 'q2', 20) x2
--   3: (1, 'q1', 10) (1, 'q1', 11) (1, 'q2', 20) x2
--   4: nothing
