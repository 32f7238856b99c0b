-- LIMIT without ORDER BY
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id FROM lake.sales LIMIT 10

-- refused
--   LIMIT without ORDER BY at line 1
--   SELECT id FROM lake.sales LIMIT 10
--                             ^^^^^^^^
--   hint: add ORDER BY, which says which rows are meant; or drop it, and query the view with it
