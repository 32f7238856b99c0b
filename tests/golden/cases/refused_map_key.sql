-- a group that cannot be compared
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT MAP('a', id) AS m, COUNT(*) AS n FROM lake.sales GROUP BY 1

-- refused
--   key "m" of type map<string,int> at line 1
--   SELECT MAP('a', id) AS m, COUNT(*) AS n FROM lake.sales GROUP BY 1
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: use TO_JSON, CAST or single values, so that keys can be compared
