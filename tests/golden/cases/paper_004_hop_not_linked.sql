-- paper 004, section 3.1: counting through negation and groups, over the pairs of example 4
-- construct: examples of the papers
-- table lake.link (s STRING, d STRING)

SELECT h.s, COUNT(*) AS n
FROM (
  SELECT l1.s, l2.d FROM lake.link l1, lake.link l2 WHERE l1.d = l2.s
  UNION
  SELECT s, s FROM lake.link
) AS h
WHERE NOT EXISTS (SELECT 1 FROM lake.link l WHERE l.s = h.s AND l.d = h.d)
GROUP BY h.s

-- commits
--   1  + lake.link ('a', 'b') ('b', 'c') ('b', 'e') ('a', 'd') ('d', 'c')
--   2  - lake.link ('a', 'b')
--   3  + lake.link ('a', 'c')
--   4  - lake.link ('a', 'c')  + lake.link ('a', 'b') ('b', 'b')
-- blocks
--   v#0: reduce by s, d
--     + changes of lake.link in (1, 2] x lake.link as of 1
--     + lake.link as of 2, stamps kept since 1 x changes of lake.link in (1, 2]
--     + changes of lake.link in (1, 2]
--   v#1: reduce by k0, k1
--     + changes of lake.link in (1, 2]
--   v: reduce by s
--     + changes of v#0 in (1, 2]
--     - changes of v#0 in (1, 2] x v#1 as of 1
--     - v#0 as of 2, stamps kept since 1 x changes of v#1 in (1, 2]
-- rows
--   1: ('a', 3) ('b', 1) ('d', 1)
--   2: ('a', 2) ('b', 1) ('d', 1)
--   3: ('a', 1) ('b', 1) ('d', 1)
--   4: ('a', 3) ('d', 1)
