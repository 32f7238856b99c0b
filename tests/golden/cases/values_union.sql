-- united with a table
-- construct: VALUES
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region FROM lake.sales UNION ALL SELECT * FROM VALUES ('all'), (NULL) AS v(region)

-- commits
--   1  + lake.sales (1, 1, 10, 'n') (1, 1, 10, 'n') (2, 2, 20, 's') (3, NULL, 5, 'n') (4, 1, NULL, NULL)
--   2  - lake.sales (1, 1, 10, 'n')  + lake.sales (5, 3, 7, 's') (6, 4, 20, 'e')
--   3  - lake.sales (2, 2, 20, 's')  + lake.sales (2, 1, 20, 's')
--   4  - lake.sales (3, NULL, 5, 'n')  + lake.sales (3, NULL, 5, 'n') (9, 9, 9, 'x')  - lake.sales (9, 9, 9, 'x')
--   5  - lake.sales (1, 1, 10, 'n') (2, 1, 20, 's') (4, 1, NULL, NULL)
--   6  + lake.sales (1, 1, 10, 'n')
-- blocks
--   v: union
--     + changes of lake.sales in (1, 2]
-- rows
--   1: ('all') ('n') x3 ('s') (NULL) x2
--   2: ('all') ('e') ('n') x2 ('s') x2 (NULL) x2
--   3: ('all') ('e') ('n') x2 ('s') x2 (NULL) x2
--   4: ('all') ('e') ('n') x2 ('s') x2 (NULL) x2
--   5: ('all') ('e') ('n') ('s') (NULL)
--   6: ('all') ('e') ('n') x2 ('s') (NULL)
