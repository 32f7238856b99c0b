-- > ALL
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT id
FROM lake.sales
WHERE amount > ALL (SELECT cust FROM lake.customer WHERE cust IS NOT NULL)

-- refused
--   ALL at line 3
--   WHERE amount > ALL (SELECT cust FROM lake.customer WHERE cust IS NOT NULL)
--                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: Spark has no such comparison; write IN or EXISTS, or compare with MIN or MAX
