-- code of others
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT REFLECT('java.lang.System', 'getenv', 'PATH') AS x FROM lake.sales

-- refused
--   function REFLECT at line 1
--   SELECT REFLECT('java.lang.System', 'getenv', 'PATH') AS x FROM lake.sales
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: only built-in functions that compute from their arguments can be called
