-- a window in LATERAL
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT c.name, x.r FROM lake.customer c, LATERAL (SELECT RANK() OVER (ORDER BY s.id) AS r FROM lake.sales s WHERE s.cust = c.cust) x

-- refused
--   LIMIT or a window in a correlated subquery at line 1
--   r FROM lake.customer c, LATERAL (SELECT RANK() OVER (ORDER BY s.id) AS r FROM lake.sales s WHERE s.cust = c.cust) x
--                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write MAX_BY or MIN_BY, or a window in a subquery in FROM
