-- a parameter
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id FROM lake.sales WHERE amount = :p

-- refused
--   parameter at line 1
--   SELECT id FROM lake.sales WHERE amount = :p
--                                            ^
--   hint: write the value itself
