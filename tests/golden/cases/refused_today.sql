-- the clock: DATE 'today'
-- construct: Refused
-- table lake.payment (id INT, cust INT, amount DECIMAL(10,2), day DATE, paid BOOLEAN)

SELECT id FROM lake.payment WHERE day = DATE 'today'

-- refused
--   time literal 'today' at line 1
--   SELECT id FROM lake.payment WHERE day = DATE 'today'
--                                                ^^^^^^^
--   hint: write the date itself
