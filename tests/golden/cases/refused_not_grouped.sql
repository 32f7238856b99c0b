-- a column that is neither grouped nor aggregated
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, COUNT(*) AS n FROM lake.sales GROUP BY region

-- refused
--   "id" is neither grouped nor aggregated at line 1
--   SELECT id, COUNT(*) AS n FROM lake.sales GROUP BY region
--          ^^
--   hint: add it to GROUP BY, or aggregate it, such as with SUM, COUNT or MAX
