-- a recursive query in a subquery
-- construct: Refused
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION ALL SELECT l.a, l.b FROM lake.link l WHERE l.a IN (SELECT r.b FROM r))
SELECT a, b FROM r

-- refused
--   "r" in a subquery of an expression at line 1
--   ke.link l WHERE l.a IN (SELECT r.b FROM r))
--                                           ^
--   hint: read it once, in FROM, joined with other tables; group or filter it outside of the WITH
