-- the clock: UNIX_TIMESTAMP()
-- construct: Refused
-- table lake.payment (id INT, cust INT, amount DECIMAL(10,2), day DATE, paid BOOLEAN)

SELECT id, UNIX_TIMESTAMP() AS n FROM lake.payment

-- refused
--   time function UNIX_TIMESTAMP at line 1
--   SELECT id, UNIX_TIMESTAMP() AS n FROM lake.payment
--              ^^^^^^^^^^^^^^^^
--   hint: compare with a column or a literal; the view does not change by the clock alone
