-- a column that is not there
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT amout FROM lake.sales

-- refused
--   there is no column "amout" at line 1
--   SELECT amout FROM lake.sales
--          ^^^^^
--   hint: did you mean amount?
