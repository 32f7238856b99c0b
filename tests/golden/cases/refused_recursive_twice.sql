-- a recursive query joined with itself
-- construct: Refused
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION ALL SELECT r.a, x.b FROM r JOIN r x ON r.b = x.a)
SELECT a, b FROM r

-- refused
--   "r" twice in one join at line 1
--   WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION ALL SELECT r.a, x.b FROM r JOIN r x ON r.b = x.a)
--                                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: read it once, in FROM, joined with other tables; group or filter it outside of the WITH
