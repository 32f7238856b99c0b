-- reading files
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT * FROM READ_FILES('/data')

-- refused
--   table function READ_FILES() at line 1
--   SELECT * FROM READ_FILES('/data')
--                 ^^^^^^^^^^^^^^^^^^^
--   hint: read a table or a view by its name
