-- a recursive part that does not read the query
-- construct: Refused
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION ALL (SELECT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a UNION ALL SELECT 1, 2))
SELECT a, b FROM r

-- refused
--   "r" is not read by every part of the step at line 1
--   T a, b FROM lake.link UNION ALL (SELECT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a UNION ALL SELECT 1, 2))
--                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write what does not read it before the UNION
