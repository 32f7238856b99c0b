-- TABLESAMPLE
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id FROM lake.sales TABLESAMPLE (10 PERCENT)

-- refused
--   TABLESAMPLE at line 1
--   SELECT id FROM lake.sales TABLESAMPLE (10 PERCENT)
--                             ^^^^^^^^^^^^^^^
--   hint: filter by a column in WHERE
