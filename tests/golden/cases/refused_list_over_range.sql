-- a list over a window with ties
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, COLLECT_LIST(amount) OVER (PARTITION BY region ORDER BY id) AS l FROM lake.sales

-- refused
--   COLLECT_LIST over a RANGE at line 1
--   SELECT id, COLLECT_LIST(amount) OVER (PARTITION BY region ORDER BY id) AS l FROM lake.sales
--              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: add ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW (or UNBOUNDED FOLLOWING)
