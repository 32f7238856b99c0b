-- windows of time
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, sold TIMESTAMP)

SELECT window(sold, '5 minutes') AS w, COUNT(*) AS n FROM lake.sales GROUP BY window(sold, '5 minutes')

-- refused
--   function WINDOW at line 1
--   SELECT window(sold, '5 minutes') AS w, COUNT(*) AS n FROM lake.sales GROUP BY window(sold, '5 minutes')
--          ^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: group by DATE_TRUNC('hour', t), or for 300 seconds by TIMESTAMP_SECONDS(UNIX_SECONDS(t) - PMOD(UNIX_SECONDS(t), 300))
