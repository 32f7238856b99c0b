-- decimals
-- construct: COUNT, SUM, AVG
-- table lake.payment (id INT, cust INT, amount DECIMAL(10,2), day DATE, paid BOOLEAN)

SELECT cust, SUM(amount) AS s FROM lake.payment GROUP BY cust

-- commits
--   1  + lake.payment (1, 1, 1.25, DATE '2026-01-01', TRUE) (2, 1, -7.10, DATE '2026-01-02', FALSE) (3, 2, NULL, NULL, NULL)
--   2  + lake.payment (4, NULL, 3.33, DATE '2026-02-01', TRUE)  - lake.payment (1, 1, 1.25, DATE '2026-01-01', TRUE)
--   3  - lake.payment (3, 2, NULL, NULL, NULL)  + lake.payment (3, 2, 0.00, DATE '2026-01-02', TRUE)
--   4  + lake.payment (5, 1, 2.00, NULL, FALSE)  - lake.payment (5, 1, 2.00, NULL, FALSE)
--   5  - lake.payment (2, 1, -7.10, DATE '2026-01-02', FALSE)
-- blocks
--   v: reduce by cust, 2 sums
--     + changes of lake.payment in (1, 2]
-- rows
--   1: (1, -5.85) (2, NULL)
--   2: (1, -7.10) (2, NULL) (NULL, 3.33)
--   3: (1, -7.10) (2, 0.00) (NULL, 3.33)
--   4: (1, -7.10) (2, 0.00) (NULL, 3.33)
--   5: (2, 0.00) (NULL, 3.33)
