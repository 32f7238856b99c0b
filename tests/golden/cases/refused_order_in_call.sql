-- ORDER BY inside the brackets of an aggregate
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT region, ARRAY_AGG(id ORDER BY id) AS l FROM lake.sales GROUP BY region

-- refused
--   ORDER BY inside a call at line 1
--   SELECT region, ARRAY_AGG(id ORDER BY id) AS l FROM lake.sales GROUP BY region
--                               ^^^^^^^^^^^
--   hint: write SORT_ARRAY(COLLECT_LIST(x)), or LISTAGG(x, ',') WITHIN GROUP (ORDER BY …)
