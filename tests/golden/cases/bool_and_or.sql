-- BOOL_AND, BOOL_OR
-- construct: BOOL_AND, BOOL_OR, BIT_*
-- table lake.payment (id INT, cust INT, amount DECIMAL(10,2), day DATE, paid BOOLEAN)

SELECT cust, BOOL_AND(paid) AS every, BOOL_OR(paid) AS some
FROM lake.payment
GROUP BY cust

-- commits
--   1  + lake.payment (1, 1, 1.25, DATE '2026-01-01', TRUE) (2, 1, -7.10, DATE '2026-01-02', FALSE) (3, 2, NULL, NULL, NULL)
--   2  + lake.payment (4, NULL, 3.33, DATE '2026-02-01', TRUE)  - lake.payment (1, 1, 1.25, DATE '2026-01-01', TRUE)
--   3  - lake.payment (3, 2, NULL, NULL, NULL)  + lake.payment (3, 2, 0.00, DATE '2026-01-02', TRUE)
--   4  + lake.payment (5, 1, 2.00, NULL, FALSE)  - lake.payment (5, 1, 2.00, NULL, FALSE)
--   5  - lake.payment (2, 1, -7.10, DATE '2026-01-02', FALSE)
-- blocks
--   v: bags by cust, groups
--     + changes of lake.payment in (1, 2]
-- rows
--   1: (1, FALSE, TRUE) (2, NULL, NULL)
--   2: (1, FALSE, FALSE) (2, NULL, NULL) (NULL, TRUE, TRUE)
--   3: (1, FALSE, FALSE) (2, TRUE, TRUE) (NULL, TRUE, TRUE)
--   4: (1, FALSE, FALSE) (2, TRUE, TRUE) (NULL, TRUE, TRUE)
--   5: (2, TRUE, TRUE) (NULL, TRUE, TRUE)
