-- a hint
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT /*+ BROADCAST(s) */ s.id FROM lake.sales s

-- refused
--   hint at line 1
--   SELECT /*+ BROADCAST(s) */ s.id FROM lake.sales s
--          ^^^^^^^^^^^^^^^^^^^
--   hint: drop the hint; rollview chooses how to join
