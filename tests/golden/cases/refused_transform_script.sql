-- a script
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT TRANSFORM(id) USING 'cat' AS (x STRING) FROM lake.sales

-- refused
--   TRANSFORM at line 1
--   SELECT TRANSFORM(id) USING 'cat' AS (x STRING) FROM lake.sales
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: use built-in functions; scripts are never run
