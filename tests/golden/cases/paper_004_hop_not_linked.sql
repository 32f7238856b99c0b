-- paper 004, section 3.1: counting through negation and groups, over the pairs of example 4
-- construct: examples of the papers
-- table lake.way (s STRING, d STRING)

SELECT h.s, COUNT(*) AS n
FROM (
  SELECT l1.s, l2.d FROM lake.way l1, lake.way l2 WHERE l1.d = l2.s
  UNION
  SELECT s, s FROM lake.way
) AS h
WHERE NOT EXISTS (SELECT 1 FROM lake.way l WHERE l.s = h.s AND l.d = h.d)
GROUP BY h.s

-- commits
--   1  + lake.way ('a', 'b') ('b', 'c') ('b', 'e') ('a', 'd') ('d', 'c')
--   2  - lake.way ('a', 'b')
--   3  + lake.way ('a', 'c')
--   4  - lake.way ('a', 'c')  + lake.way ('a', 'b') ('b', 'b')
-- blocks
--   v#0: reduce by s, d
--     + changes of lake.way in (1, 2] x lake.way as of 1
--     + lake.way as of 2, stamps kept since 1 x changes of lake.way in (1, 2]
--     + changes of lake.way in (1, 2]
--   v#1: reduce by k0, k1
--     + changes of lake.way in (1, 2]
--   v: reduce by s
--     + changes of v#0 in (1, 2]
--     - changes of v#0 in (1, 2] x v#1 as of 1
--     - v#0 as of 2, stamps kept since 1 x changes of v#1 in (1, 2]
-- rows
--   1: ('a', 3) ('b', 1) ('d', 1)
--   2: ('a', 2) ('b', 1) ('d', 1)
--   3: ('a', 1) ('b', 1) ('d', 1)
--   4: ('a', 3) ('d', 1)
