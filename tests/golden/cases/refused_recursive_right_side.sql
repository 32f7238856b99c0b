-- a recursive query on the right of a LEFT JOIN
-- construct: Refused
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION ALL SELECT l.a, r.b FROM lake.link l LEFT JOIN r ON r.b = l.a)
SELECT a, b FROM r

-- refused
--   "r" inside more than a join at line 1
--   CT a, b FROM lake.link UNION ALL SELECT l.a, r.b FROM lake.link l LEFT JOIN r ON r.b = l.a)
--                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: read it once, in FROM, joined with other tables; group or filter it outside of the WITH
