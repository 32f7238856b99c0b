-- a subquery beside windows over groups
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT region, RANK() OVER (ORDER BY COUNT(*)) AS r, (SELECT COUNT(*) FROM lake.customer) AS n FROM lake.sales GROUP BY region

-- refused
--   a subquery beside windows over groups at line 1
--   SELECT region, RANK() OVER (ORDER BY COUNT(*)) AS r, (SELECT COUNT(*) FROM lake.customer) AS n FROM lake.sales GROUP BY
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: group in a subquery in FROM
