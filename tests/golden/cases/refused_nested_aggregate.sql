-- an aggregate of an aggregate
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT SUM(COUNT(*)) AS n FROM lake.sales

-- refused
--   aggregate of an aggregate at line 1
--   SELECT SUM(COUNT(*)) AS n FROM lake.sales
--          ^^^^^^^^^^^^^
--   hint: aggregate once in a subquery in FROM, and again outside
