-- dates
-- construct: SELECT, WHERE
-- table lake.payment (id INT, cust INT, amount DECIMAL(10,2), day DATE, paid BOOLEAN)

SELECT id, YEAR(day) AS y, DATE_ADD(day, 1) AS next
FROM lake.payment
WHERE day >= DATE '2026-01-02'

-- commits
--   1  + lake.payment (1, 1, 1.25, DATE '2026-01-01', TRUE) (2, 1, -7.10, DATE '2026-01-02', FALSE) (3, 2, NULL, NULL, NULL)
--   2  + lake.payment (4, NULL, 3.33, DATE '2026-02-01', TRUE)  - lake.payment (1, 1, 1.25, DATE '2026-01-01', TRUE)
--   3  - lake.payment (3, 2, NULL, NULL, NULL)  + lake.payment (3, 2, 0.00, DATE '2026-01-02', TRUE)
--   4  + lake.payment (5, 1, 2.00, NULL, FALSE)  - lake.payment (5, 1, 2.00, NULL, FALSE)
--   5  - lake.payment (2, 1, -7.10, DATE '2026-01-02', FALSE)
-- blocks
--   v: select
--     + changes of lake.payment in (1, 2]
-- rows
--   1: (2, 2026, DATE '2026-01-03')
--   2: (2, 2026, DATE '2026-01-03') (4, 2026, DATE '2026-02-02')
--   3: (2, 2026, DATE '2026-01-03') (3, 2026, DATE '2026-01-03') (4, 2026, DATE '2026-02-02')
--   4: (2, 2026, DATE '2026-01-03') (3, 2026, DATE '2026-01-03') (4, 2026, DATE '2026-02-02')
--   5: (3, 2026, DATE '2026-01-03') (4, 2026, DATE '2026-02-02')
