-- time travel
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id FROM lake.sales VERSION AS OF 3

-- refused
--   time travel at line 1
--   SELECT id FROM lake.sales VERSION AS OF 3
--                             ^^^^^^^^^^^^^^^
--   hint: read the table itself; roll the view to a time with REFRESH … TO
