-- SORT BY
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id FROM lake.sales SORT BY id

-- refused
--   SORT BY at line 1
--   SELECT id FROM lake.sales SORT BY id
--                             ^^^^^^^^^^
--   hint: leave it out; order belongs to the query that reads the view
