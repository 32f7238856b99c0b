-- a random order
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, SHUFFLE(ARRAY(1, id)) AS u FROM lake.sales

-- refused
--   SHUFFLE at line 1
--   SELECT id, SHUFFLE(ARRAY(1, id)) AS u FROM lake.sales
--              ^^^^^^^^^^^^^^^^^^^^^
--   hint: use only what depends on the rows themselves
