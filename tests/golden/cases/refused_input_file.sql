-- the name of a file
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT INPUT_FILE_NAME() AS f FROM lake.sales

-- refused
--   INPUT_FILE_NAME at line 1
--   SELECT INPUT_FILE_NAME() AS f FROM lake.sales
--          ^^^^^^^^^^^^^^^^^
--   hint: use only what depends on the rows themselves
