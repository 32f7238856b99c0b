-- the first row of a join, in a semi join: DuckDB 1.5 has another answer
-- construct: found by random views
-- table lake.t (a INT, b INT, s STRING)
-- table lake.u (a INT, c INT, s STRING)

SELECT q1.c0 AS c0, q1.c2 AS c1
FROM (
  SELECT q3.c AS c0, q2.s AS c1, q2.s AS c2
  FROM lake.u AS q2 CROSS JOIN lake.u AS q3 LEFT SEMI JOIN lake.t AS q4 ON q2.c = q4.a
  ORDER BY c0, c1, c2 LIMIT 1
) AS q1 LEFT SEMI JOIN lake.u AS q5 ON q1.c2 = q5.s AND q5.s = ''

-- commits
--   1  + lake.u (2, 1, '')
--   2  + lake.u (1, 2, NULL)
--   3  + lake.t (1, NULL, 'x') (2, 1, '')
--   4  - lake.u (1, 2, NULL)
-- blocks
--   v#0: reduce by k0
--     + changes of lake.t in (1, 2]
--   v#1: join
--     + changes of lake.u in (1, 2] x lake.u as of 1 x v#0 as of 1
--     + lake.u as of 2, stamps kept since 1 x changes of lake.u in (1, 2] x v#0 as of 1
--     + lake.u as of 2, stamps kept since 1 x lake.u as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
--   v#2: bags, windows
--     + changes of v#1 in (1, 2]
--   v#3: reduce by k0
--     + changes of lake.u in (1, 2]
--   v: join
--     + changes of v#2 in (1, 2] x v#3 as of 1
--     + v#2 as of 2, stamps kept since 1 x changes of v#3 in (1, 2]
-- rows
--   1: nothing
--   2: nothing
--   3: nothing
--   4: (1, '')
