-- paper 001, section 5: five rows come and seven go; a group goes with its last row, and its sums with it
-- construct: examples of the papers
-- table lake.bought (cust INT, amount INT)
-- table lake.buyer (cust INT, state STRING)

SELECT c.state, COUNT(*) AS n, SUM(s.amount) AS total
FROM lake.bought s JOIN lake.buyer c ON s.cust = c.cust
GROUP BY c.state

-- commits
--   1  + lake.buyer (1, 'WI') (2, 'MN')
--      + lake.bought (1, 1) (1, 1) (1, 1) (1, 1) (1, 1) (1, 1) (1, 1) (2, 5)
--   2  + lake.bought (1, 2) (1, 2) (1, 2) (1, 2) (1, 2)  - lake.bought (1, 1) (1, 1) (1, 1) (1, 1) (1, 1) (1, 1) (1, 1)
--   3  - lake.bought (1, 2)  + lake.bought (1, 9)
--   4  - lake.bought (1, 2) (1, 2) (1, 2) (1, 2) (1, 9)
-- blocks
--   v: reduce by state, 2 sums
--     + changes of lake.bought in (1, 2] x lake.buyer as of 1
--     + lake.bought as of 2, stamps kept since 1 x changes of lake.buyer in (1, 2]
-- rows
--   1: ('MN', 1, 5) ('WI', 7, 7)
--   2: ('MN', 1, 5) ('WI', 5, 10)
--   3: ('MN', 1, 5) ('WI', 5, 17)
--   4: ('MN', 1, 5)
