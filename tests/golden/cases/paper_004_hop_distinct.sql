-- paper 004, example 4: two links in a row; a pair goes with the last of its ways
-- construct: examples of the papers
-- table lake.way (s STRING, d STRING)

SELECT DISTINCT l1.s, l2.d
FROM lake.way l1, lake.way l2
WHERE l1.d = l2.s

-- commits
--   1  + lake.way ('a', 'b') ('b', 'c') ('b', 'e') ('a', 'd') ('d', 'c')
--   2  - lake.way ('a', 'b')
--   3  - lake.way ('d', 'c')  + lake.way ('a', 'b') ('c', 'a')
-- blocks
--   v: reduce by s, d
--     + changes of lake.way in (1, 2] x lake.way as of 1
--     + lake.way as of 2, stamps kept since 1 x changes of lake.way in (1, 2]
-- rows
--   1: ('a', 'c') ('a', 'e')
--   2: ('a', 'c')
--   3: ('a', 'c') ('a', 'e') ('b', 'a') ('c', 'b') ('c', 'd')
