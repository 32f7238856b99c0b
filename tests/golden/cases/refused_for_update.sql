-- FOR UPDATE
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id FROM lake.sales FOR UPDATE

-- refused
--   FOR UPDATE at line 1
--   SELECT id FROM lake.sales FOR UPDATE
--                             ^^^
--   hint: leave it out
