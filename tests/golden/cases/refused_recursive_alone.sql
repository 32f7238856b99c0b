-- a recursive query without UNION
-- construct: Refused
-- table lake.link (a INT, b INT)

WITH RECURSIVE r AS (SELECT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a)
SELECT a, b FROM r

-- refused
--   "r" reads itself without a UNION at line 1
--   WITH RECURSIVE r AS (SELECT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a)
--                  ^
--   hint: write r AS (anchor UNION ALL step), in which only the step reads r
