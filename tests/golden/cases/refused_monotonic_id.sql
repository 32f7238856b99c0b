-- a number that depends on the run
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT MONOTONICALLY_INCREASING_ID() AS n FROM lake.sales

-- refused
--   MONOTONICALLY_INCREASING_ID at line 1
--   SELECT MONOTONICALLY_INCREASING_ID() AS n FROM lake.sales
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: use only what depends on the rows themselves
