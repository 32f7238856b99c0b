-- a function of a database
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT db.my_udf(id) AS u FROM lake.sales

-- refused
--   user function db.my_udf(id) at line 1
--   SELECT db.my_udf(id) AS u FROM lake.sales
--          ^^^^^^^^^^^^
--   hint: only Spark's built-in deterministic functions can be called, by their plain name
