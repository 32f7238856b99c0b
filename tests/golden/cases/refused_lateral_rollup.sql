-- grouping sets in LATERAL
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT c.name, x.n FROM lake.customer c, LATERAL (SELECT s.region, COUNT(*) AS n FROM lake.sales s WHERE s.cust = c.cust GROUP BY ROLLUP (s.region)) x

-- refused
--   grouping sets in a correlated LATERAL at line 1
--   n FROM lake.customer c, LATERAL (SELECT s.region, COUNT(*) AS n FROM lake.sales s WHERE s.cust = c.cust GROUP BY ROLLUP
--                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: group by one list of keys
