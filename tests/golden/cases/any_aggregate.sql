-- ANY and SOME as aggregates
-- construct: BOOL_AND, BOOL_OR, BIT_*
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, ANY(amount > 10) AS a, SOME(cust = 1) AS s FROM lake.sales GROUP BY region

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (6, 4, 20, 'e')  + lake.sales (6, 4, 20, 'e') (7, 4, 20, 'e')
--   6  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   7  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: bags by region, groups
--     + changes of lake.sales in (1, 2]
-- rows
--   1: ('n', FALSE, TRUE) ('s', TRUE, FALSE) (NULL, NULL, TRUE)
--   2: ('e', TRUE, FALSE) ('n', FALSE, TRUE) ('s', TRUE, FALSE) (NULL, NULL, TRUE)
--   3: ('e', TRUE, FALSE) ('n', FALSE, TRUE) ('s', TRUE, TRUE) (NULL, NULL, TRUE)
--   4: ('e', TRUE, FALSE) ('n', FALSE, TRUE) ('s', TRUE, TRUE) (NULL, NULL, TRUE)
--   5: ('e', TRUE, FALSE) ('n', FALSE, TRUE) ('s', TRUE, TRUE) (NULL, NULL, TRUE)
--   6: ('e', TRUE, FALSE) ('n', FALSE, NULL) ('s', FALSE, FALSE)
--   7: ('e', TRUE, FALSE) ('n', FALSE, TRUE) ('s', FALSE, FALSE)
