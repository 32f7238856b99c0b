-- a recursive query that begins with itself
-- construct: Refused
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS (SELECT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a UNION ALL SELECT a, b FROM lake.link)
SELECT a, b FROM r

-- refused
--   "r" before the UNION at line 1
--   WITH RECURSIVE r(a, b) AS (SELECT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a UNION ALL SELECT a, b FROM lake.link)
--                                                   ^
--   hint: write what does not read r first; unite the rest in parentheses after it
