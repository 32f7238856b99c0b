-- the clock: CURRENT_DATE
-- construct: Refused
-- table lake.payment (id INT, cust INT, amount DECIMAL(10,2), day DATE, paid BOOLEAN)

SELECT id FROM lake.payment WHERE day < CURRENT_DATE

-- refused
--   time function CURRENT_DATE at line 1
--   SELECT id FROM lake.payment WHERE day < CURRENT_DATE
--                                           ^^^^^^^^^^^^
--   hint: compare with a column or a literal; the view does not change by the clock alone
