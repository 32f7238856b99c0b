-- a function with a typing mistake
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT UPER(region) AS u FROM lake.sales

-- refused
--   function UPER at line 1
--   SELECT UPER(region) AS u FROM lake.sales
--          ^^^^^^^^^^^^
--   hint: only Spark's built-in deterministic functions can be called; did you mean UPPER?
