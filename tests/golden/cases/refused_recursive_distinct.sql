-- DISTINCT in the recursive part
-- construct: Refused
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION ALL SELECT DISTINCT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a)
SELECT a, b FROM r

-- refused
--   "r" inside SELECT DISTINCT at line 1
--   UNION ALL SELECT DISTINCT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a)
--                                           ^
--   hint: read it once, in FROM, joined with other tables; group or filter it outside of the WITH
