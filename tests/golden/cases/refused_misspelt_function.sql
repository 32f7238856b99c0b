-- a function with a typing mistake
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT UPER(region) AS u FROM lake.sales

-- refused
--   function UPER at line 1
--   SELECT UPER(region) AS u FROM lake.sales
--          ^^^^^^^^^^^^
--   hint: call Spark's deterministic functions, or those in deterministic_functions; did you mean UPPER?
