-- OFFSET without LIMIT and ORDER BY
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id FROM lake.sales OFFSET 3

-- refused
--   OFFSET without ORDER BY at line 1
--   SELECT id FROM lake.sales OFFSET 3
--                             ^^^^^^^^
--   hint: add ORDER BY, which says which rows are meant; or drop it, and query the view with it
