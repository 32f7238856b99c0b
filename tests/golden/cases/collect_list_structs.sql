-- COLLECT_LIST of structs, sorted
-- construct: COLLECT_SET, ARRAY_AGG, STRING_AGG
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, SORT_ARRAY(COLLECT_LIST(STRUCT(amount, s.id, cust + 1 AS next)), FALSE) AS sales
FROM lake.sales s GROUP BY region

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
--   1: ('n', [{'amount': 10, 'id': 1, 'next': 2}, {'amount': 10, 'id': 1, 'next': 2}, {'amount': 5, 'id': 3, 'next': None}]) ('s', [{'amount': 20, 'id': 2, 'next': 3}]) (NULL, [{'amount': None, 'id': 4, 'next': 2}])
--   2: ('e', [{'amount': 20, 'id': 6, 'next': 5}]) ('n', [{'amount': 10, 'id': 1, 'next': 2}, {'amount': 5, 'id': 3, 'next': None}]) ('s', [{'amount': 20, 'id': 2, 'next': 3}, {'amount': 7, 'id': 5, 'next': 4}]) (NULL, [{'amount': None, 'id': 4, 'next': 2}])
--   3: ('e', [{'amount': 20, 'id': 6, 'next': 5}]) ('n', [{'amount': 10, 'id': 1, 'next': 2}, {'amount': 5, 'id': 3, 'next': None}]) ('s', [{'amount': 20, 'id': 2, 'next': 2}, {'amount': 7, 'id': 5, 'next': 4}]) (NULL, [{'amount': None, 'id': 4, 'next': 2}])
--   4: ('e', [{'amount': 20, 'id': 6, 'next': 5}]) ('n', [{'amount': 10, 'id': 1, 'next': 2}, {'amount': 5, 'id': 3, 'next': None}]) ('s', [{'amount': 20, 'id': 2, 'next': 2}, {'amount': 7, 'id': 5, 'next': 4}]) (NULL, [{'amount': None, 'id': 4, 'next': 2}])
--   5: ('e', [{'amount': 20, 'id': 7, 'next': 5}, {'amount': 20, 'id': 6, 'next': 5}]) ('n', [{'amount': 10, 'id': 1, 'next': 2}, {'amount': 5, 'id': 3, 'next': None}]) ('s', [{'amount': 20, 'id': 2, 'next': 2}, {'amount': 7, 'id': 5, 'next': 4}]) (NULL, [{'amount': None, 'id': 4, 'next': 2}])
--   6: ('e', [{'amount': 20, 'id': 7, 'next': 5}, {'amount': 20, 'id': 6, 'next': 5}]) ('n', [{'amount': 5, 'id': 3, 'next': None}]) ('s', [{'amount': 7, 'id': 5, 'next': 4}])
--   7: ('e', [{'amount': 20, 'id': 7, 'next': 5}, {'amount': 20, 'id': 6, 'next': 5}]) ('n', [{'amount': 10, 'id': 1, 'next': 2}, {'amount': 5, 'id': 3, 'next': None}]) ('s', [{'amount': 7, 'id': 5, 'next': 4}])
