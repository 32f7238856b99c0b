-- COLLECT_LIST without an order
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, COLLECT_LIST(id) AS f FROM lake.sales GROUP BY region

-- refused
--   COLLECT_LIST without an order at line 1
--   SELECT region, COLLECT_LIST(id) AS f FROM lake.sales GROUP BY region
--                  ^^^^^^^^^^^^^^^^
--   hint: write SORT_ARRAY(COLLECT_LIST(x)), which has one order
