-- something that Spark would substitute
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT '${env:HOME}' AS x, id FROM lake.sales

-- refused
--   ${…} at line 1
--   SELECT '${env:HOME}' AS x, id FROM lake.sales
--          ^^^^^^^^^^^^^
--   hint: write the value itself; nothing is substituted
