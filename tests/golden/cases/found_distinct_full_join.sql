-- groups that a signed union takes away again were kept by the build
-- construct: found by random views
-- table lake.t (a INT, b INT, s STRING)

SELECT DISTINCT y.b AS c0, x.s AS c1 FROM lake.t AS x FULL JOIN lake.t AS y ON x.s = y.s

-- commits
--   1  + lake.t (1, 1, '') (2, NULL, 'y')
--   2  - lake.t (1, 1, '')  + lake.t (1, 2, 'y')
--   3  + lake.t (1, 1, NULL)
-- blocks
--   v#0: reduce by k0
--     + changes of lake.t in (1, 2]
--   v: reduce by c0, c1
--     + changes of lake.t in (1, 2] x lake.t as of 1
--     + lake.t as of 2, stamps kept since 1 x changes of lake.t in (1, 2]
--     + changes of lake.t in (1, 2]
--     - changes of lake.t in (1, 2] x v#0 as of 1
--     - lake.t as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
--     + changes of lake.t in (1, 2]
--     - changes of lake.t in (1, 2] x v#0 as of 1
--     - lake.t as of 2, stamps kept since 1 x changes of v#0 in (1, 2]
-- rows
--   1: (1, '') (NULL, 'y')
--   2: (2, 'y') (NULL, 'y')
--   3: (1, NULL) (2, 'y') (NULL, 'y') (NULL, NULL)
