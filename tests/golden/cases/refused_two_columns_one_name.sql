-- two columns of one name
-- construct: Refused
-- table lake.sales (id INT, cust INT, amount INT, region STRING)

SELECT id, cust AS ID FROM lake.sales

-- refused
--   two columns named "ID" at line 1
--   SELECT id, cust AS ID FROM lake.sales
--              ^^^^^^^^^^
--   hint: give each column a name of its own with AS
