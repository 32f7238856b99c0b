-- a random number
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, RAND() AS r FROM lake.sales

-- refused
--   RAND at line 1
--   SELECT id, RAND() AS r FROM lake.sales
--              ^^^^^^
--   hint: use only what depends on the rows themselves
