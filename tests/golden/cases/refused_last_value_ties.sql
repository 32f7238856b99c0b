-- LAST_VALUE with ties
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, LAST_VALUE(cust) OVER (PARTITION BY region ORDER BY amount) AS n FROM lake.sales

-- refused
--   LAST_VALUE over a RANGE at line 1
--   SELECT id, LAST_VALUE(cust) OVER (PARTITION BY region ORDER BY amount) AS n FROM lake.sales
--              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: add ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW (or UNBOUNDED FOLLOWING)
