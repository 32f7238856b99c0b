-- a table function
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT * FROM RANGE(10)

-- refused
--   table function RANGE() at line 1
--   SELECT * FROM RANGE(10)
--                 ^^^^^^^^^
--   hint: read a table or a view by its name
