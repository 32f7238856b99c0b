-- COLLATE
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region COLLATE UTF8_LCASE AS r FROM lake.sales

-- refused
--   COLLATE at line 1
--   SELECT region COLLATE UTF8_LCASE AS r FROM lake.sales
--                 ^^^^^^^
--   hint: compare LOWER(…) instead
