-- an aggregate in WHERE
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id FROM lake.sales WHERE COUNT(*) > 1

-- refused
--   aggregate in WHERE or ON at line 1
--   SELECT id FROM lake.sales WHERE COUNT(*) > 1
--                                   ^^^^^^^^^^^^
--   hint: write conditions on aggregates in HAVING
