-- a window in the recursive part
-- construct: Refused
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION ALL SELECT r.a, ROW_NUMBER() OVER (PARTITION BY r.a ORDER BY l.b) FROM r JOIN lake.link l ON r.b = l.a)
SELECT a, b FROM r

-- refused
--   "r" under a window function at line 1
--   ER (PARTITION BY r.a ORDER BY l.b) FROM r JOIN lake.link l ON r.b = l.a)
--                                           ^
--   hint: read it once, in FROM, joined with other tables; group or filter it outside of the WITH
