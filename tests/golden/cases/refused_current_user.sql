-- who asks
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, CURRENT_USER() AS u FROM lake.sales

-- refused
--   CURRENT_USER at line 1
--   SELECT id, CURRENT_USER() AS u FROM lake.sales
--              ^^^^^^^^^^^^^^
--   hint: use only what depends on the rows themselves
