-- a subquery in ON of an outer join
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT s.id FROM lake.sales s LEFT JOIN lake.customer c ON s.cust = c.cust AND c.region IN (SELECT region FROM lake.sales)

-- refused
--   a subquery in ON of an outer join at line 1
--   s.cust = c.cust AND c.region IN (SELECT region FROM lake.sales)
--                                           ^^^^^^^^^^^^^^^^^^^^^^
--   hint: write the condition with the subquery in WHERE, or join with the subquery
