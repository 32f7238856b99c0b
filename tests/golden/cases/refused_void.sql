-- a column without a type
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT NULL AS x, id FROM lake.sales

-- refused
--   column "x" has no type at line 1
--   SELECT NULL AS x, id FROM lake.sales
--                  ^
--   hint: name its type: CAST(NULL AS …)
