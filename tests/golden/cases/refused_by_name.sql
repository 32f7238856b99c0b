-- UNION BY NAME
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, cust FROM lake.sales UNION ALL BY NAME SELECT cust, id FROM lake.sales

-- refused
--   BY NAME at line 1
--   SELECT id, cust FROM lake.sales UNION ALL BY NAME SELECT cust, id FROM lake.sales
--                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: select the columns of all parts in one order, and leave it out
