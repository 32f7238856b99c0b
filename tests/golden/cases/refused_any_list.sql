-- = ANY of a list
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id FROM lake.sales WHERE cust = ANY (1, 2)

-- refused
--   ANY at line 1
--   SELECT id FROM lake.sales WHERE cust = ANY (1, 2)
--                                               ^^^^
--   hint: write IN or EXISTS, or compare with MIN or MAX
