-- a table that is not there
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id FROM lake.sale

-- refused
--   there is no table "lake.sale" at line 1
--   SELECT id FROM lake.sale
--                  ^^^^^^^^^
--   hint: did you mean lake.sales?
