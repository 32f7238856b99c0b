-- paper 004, example 5: what a lost link held up goes, but for what is found by another way
-- construct: examples of the papers
-- table lake.way (s STRING, d STRING)

WITH RECURSIVE hop(s, d) AS (
  SELECT s, d FROM lake.way
  UNION
  SELECT h.s, l.d FROM hop h JOIN lake.way l ON h.d = l.s
)
SELECT s, d
FROM hop

-- commits
--   1  + lake.way ('a', 'b') ('b', 'c') ('b', 'e') ('a', 'd') ('d', 'c')
--   2  - lake.way ('a', 'b')
--   3  - lake.way ('a', 'd')  + lake.way ('c', 'a') ('e', 'b')
--   4  - lake.way ('b', 'e')
-- blocks
--   v#0: fixpoint of distinct rows
--     + changes of lake.way in (1, 2]
--     + v#0 as of 1 x changes of lake.way in (1, 2]
--     + changes of v#0 in (1, 2] x lake.way as of 2, stamps kept since 1
--   v: select
--     + changes of v#0 in (1, 2]
-- rows
--   1: ('a', 'b') ('a', 'c') ('a', 'd') ('a', 'e') ('b', 'c') ('b', 'e') ('d', 'c')
--   2: ('a', 'c') ('a', 'd') ('b', 'c') ('b', 'e') ('d', 'c')
--   3: ('b', 'a') ('b', 'b') ('b', 'c') ('b', 'e') ('c', 'a') ('d', 'a') ('d', 'c') ('e', 'a') ('e', 'b') ('e', 'c') ('e', 'e')
--   4: ('b', 'a') ('b', 'c') ('c', 'a') ('d', 'a') ('d', 'c') ('e', 'a') ('e', 'b') ('e', 'c')
