-- RIGHT JOIN LATERAL
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT c.name, x.id FROM lake.customer c RIGHT JOIN LATERAL (SELECT s.id FROM lake.sales s WHERE s.cust = c.cust) x ON TRUE

-- refused
--   RIGHT JOIN LATERAL at line 1
--   e, x.id FROM lake.customer c RIGHT JOIN LATERAL (SELECT s.id FROM lake.sales s WHERE s.cust = c.cust) x ON TRUE
--                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write JOIN LATERAL (…) ON … or LEFT JOIN LATERAL (…) ON …
