-- a function that is not Spark's own
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT MY_UDF(id) AS u FROM lake.sales

-- refused
--   function MY_UDF at line 1
--   SELECT MY_UDF(id) AS u FROM lake.sales
--          ^^^^^^^^^^
--   hint: call Spark's deterministic functions, or those in deterministic_functions
