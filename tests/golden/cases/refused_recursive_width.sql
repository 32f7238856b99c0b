-- another number of columns in the recursive part
-- construct: Refused
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION ALL SELECT r.a FROM r)
SELECT a, b FROM r

-- refused
--   UNION of 2 and 1 columns at line 1
--   WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION ALL SELECT r.a FROM r)
--                                                                          ^^^^^^^^^^
--   hint: select as many columns in each part
