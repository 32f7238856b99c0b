-- a step whose changes all fail the filter made a change without a stamp
-- construct: found by random views
-- table lake.w (a INT, d INT)

SELECT q.c1 AS c0, q.c0 + 1 AS c1
FROM (SELECT COUNT(w.d) AS c0, MIN(w.a) AS c1 FROM lake.w AS w WHERE w.a = 0) AS q
JOIN lake.w AS x ON q.c1 <> x.a

-- commits
--   1  + lake.w (2, 1) (0, 2)
--   2  + lake.w (2, 1)
--   3  - lake.w (0, 2)
--   4  + lake.w (0, NULL) (1, NULL)
-- blocks
--   v#0: bags, groups
--     + changes of lake.w in (1, 2]
--   v: join
--     + changes of v#0 in (1, 2] x lake.w as of 1
--     + v#0 as of 2, stamps kept since 1 x changes of lake.w in (1, 2]
-- rows
--   1: (0, 2)
--   2: (0, 2) x2
--   3: nothing
--   4: (0, 1) x3
