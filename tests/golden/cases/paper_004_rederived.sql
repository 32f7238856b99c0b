-- paper 004, example 5: what a lost link held up goes, but for what is found by another way
-- construct: examples of the papers
-- table lake.link (s STRING, d STRING)

WITH RECURSIVE hop(s, d) AS (
  SELECT s, d FROM lake.link
  UNION
  SELECT h.s, l.d FROM hop h JOIN lake.link l ON h.d = l.s
)
SELECT s, d
FROM hop

-- commits
--   1  + lake.link ('a', 'b') ('b', 'c') ('b', 'e') ('a', 'd') ('d', 'c')
--   2  - lake.link ('a', 'b')
--   3  - lake.link ('a', 'd')  + lake.link ('c', 'a') ('e', 'b')
--   4  - lake.link ('b', 'e')
-- blocks
--   v#0: fixpoint of distinct rows
--     + changes of lake.link in (1, 2]
--     + v#0 as of 1 x changes of lake.link in (1, 2]
--     + changes of v#0 in (1, 2] x lake.link as of 2, stamps kept since 1
--   v: select
--     + changes of v#0 in (1, 2]
-- rows
--   1: ('a', 'b') ('a', 'c') ('a', 'd') ('a', 'e') ('b', 'c') ('b', 'e') ('d', 'c')
--   2: ('a', 'c') ('a', 'd') ('b', 'c') ('b', 'e') ('d', 'c')
--   3: ('b', 'a') ('b', 'b') ('b', 'c') ('b', 'e') ('c', 'a') ('d', 'a') ('d', 'c') ('e', 'a') ('e', 'b') ('e', 'c') ('e', 'e')
--   4: ('b', 'a') ('b', 'c') ('c', 'a') ('d', 'a') ('d', 'c') ('e', 'a') ('e', 'b') ('e', 'c')
