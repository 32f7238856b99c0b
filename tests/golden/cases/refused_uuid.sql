-- a random name
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, UUID() AS u FROM lake.sales

-- refused
--   UUID at line 1
--   SELECT id, UUID() AS u FROM lake.sales
--              ^^^^^^
--   hint: use only what depends on the rows themselves
