-- the clock: NOW()
-- construct: Refused
-- table lake.payment (id INT, cust INT, amount DECIMAL(10,2), day DATE, paid BOOLEAN)

SELECT id, NOW() AS n FROM lake.payment

-- refused
--   time function NOW at line 1
--   SELECT id, NOW() AS n FROM lake.payment
--              ^^^^^
--   hint: compare with a column or a literal; the view does not change by the clock alone
