-- an aggregate in the recursive part
-- construct: Refused
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION ALL SELECT r.a, MAX(l.b) FROM r JOIN lake.link l ON r.b = l.a GROUP BY r.a)
SELECT a, b FROM r

-- refused
--   "r" inside a group at line 1
--   ink UNION ALL SELECT r.a, MAX(l.b) FROM r JOIN lake.link l ON r.b = l.a GROUP BY r.a)
--                                           ^
--   hint: read it once, in FROM, joined with other tables; group or filter it outside of the WITH
