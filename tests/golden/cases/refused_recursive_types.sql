-- another type in the recursive part
-- construct: Refused
-- table lake.link (a INT, b INT)

WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION ALL SELECT r.a, CAST(l.b AS BIGINT) FROM r JOIN lake.link l ON r.b = l.a)
SELECT a, b FROM r

-- refused
--   column "b" is int before the UNION and bigint after it at line 1
--   CT a, b FROM lake.link UNION ALL SELECT r.a, CAST(l.b AS BIGINT) FROM r JOIN lake.link l ON r.b = l.a)
--                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write CAST(… AS INT) in the part after the UNION
