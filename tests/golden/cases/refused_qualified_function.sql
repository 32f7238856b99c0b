-- a function of a database
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT db.my_udf(id) AS u FROM lake.sales

-- refused
--   user function db.my_udf(id) at line 1
--   SELECT db.my_udf(id) AS u FROM lake.sales
--          ^^^^^^^^^^^^
--   hint: functions are called by their plain name; those of your own are declared
