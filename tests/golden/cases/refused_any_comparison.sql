-- = ANY
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)
-- table lake.customer (cust INT, name STRING, region STRING)

SELECT id FROM lake.sales WHERE cust = ANY (SELECT cust FROM lake.customer)

-- refused
--   ANY at line 1
--   SELECT id FROM lake.sales WHERE cust = ANY (SELECT cust FROM lake.customer)
--                                                      ^^^^^^^^^^^^^^^^^^^^^^^
--   hint: Spark has no such comparison; write IN or EXISTS, or compare with MIN or MAX
