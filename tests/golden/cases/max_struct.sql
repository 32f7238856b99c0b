-- MAX of a struct: the row with the greatest amount
-- construct: MIN, MAX
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, MAX(STRUCT(amount, id)) AS most, MAX(STRUCT(amount, id)).id AS by FROM lake.sales GROUP BY region

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
--   1: ('n', {'amount': 10, 'id': 1}, 1) ('s', {'amount': 20, 'id': 2}, 2) (NULL, {'amount': None, 'id': 4}, 4)
--   2: ('e', {'amount': 20, 'id': 6}, 6) ('n', {'amount': 10, 'id': 1}, 1) ('s', {'amount': 20, 'id': 2}, 2) (NULL, {'amount': None, 'id': 4}, 4)
--   3: ('e', {'amount': 20, 'id': 6}, 6) ('n', {'amount': 10, 'id': 1}, 1) ('s', {'amount': 20, 'id': 2}, 2) (NULL, {'amount': None, 'id': 4}, 4)
--   4: ('e', {'amount': 20, 'id': 6}, 6) ('n', {'amount': 10, 'id': 1}, 1) ('s', {'amount': 20, 'id': 2}, 2) (NULL, {'amount': None, 'id': 4}, 4)
--   5: ('e', {'amount': 20, 'id': 7}, 7) ('n', {'amount': 10, 'id': 1}, 1) ('s', {'amount': 20, 'id': 2}, 2) (NULL, {'amount': None, 'id': 4}, 4)
--   6: ('e', {'amount': 20, 'id': 7}, 7) ('n', {'amount': 5, 'id': 3}, 3) ('s', {'amount': 7, 'id': 5}, 5)
--   7: ('e', {'amount': 20, 'id': 7}, 7) ('n', {'amount': 10, 'id': 1}, 1) ('s', {'amount': 7, 'id': 5}, 5)
