-- UNION ALL of different widths
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT id FROM lake.sales UNION ALL SELECT cust, name FROM lake.customer

-- refused
--   UNION ALL of 1 and 2 columns at line 1
--   SELECT id FROM lake.sales UNION ALL SELECT cust, name FROM lake.customer
--                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: select as many columns in each part
