-- a window that nothing reads could not be parsed
-- construct: found by random views
-- table lake.u (a INT, c INT, s STRING)

SELECT q.c1 AS c0, COALESCE(q.c0, -1) AS c1
FROM (
  SELECT u.a AS c0, u.a + 1 AS c1, LAG(u.c) OVER (PARTITION BY u.a ORDER BY u.c, u.s, u.a) AS c9
  FROM lake.u AS u WHERE u.c < 2
) AS q

-- commits
--   1  + lake.u (1, 1, 'x') (1, 1, 'x') (NULL, 0, NULL)
--   2  + lake.u (1, 2, 'x')  - lake.u (1, 1, 'x')
--   3  - lake.u (NULL, 0, NULL)  + lake.u (2, 0, '')
-- blocks
--   v#0: bags by c0, windows
--     + changes of lake.u in (1, 2]
--   v: select
--     + changes of v#0 in (1, 2]
-- rows
--   1: (2, 1) x2 (NULL, -1)
--   2: (2, 1) (NULL, -1)
--   3: (2, 1) (3, 2)
