-- two statements
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id FROM lake.sales; SELECT 2 AS b

-- refused
--   several statements at line 1
--   SELECT id FROM lake.sales; SELECT 2 AS b
--                            ^
--   hint: give one SELECT statement
