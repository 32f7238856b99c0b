-- a file as a table
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT * FROM text.`/etc/passwd`

-- refused
--   there is no table "text./etc/passwd" at line 1
--   SELECT * FROM text.`/etc/passwd`
--                 ^^^^^^^^^^^^^^^^^^
--   hint: tables and views: lake.sales
