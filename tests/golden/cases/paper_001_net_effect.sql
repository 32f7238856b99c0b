-- paper 001, section 5: a business that is sold twice; both sales at once are two changes
-- construct: examples of the papers
-- table lake.owner (cust_id INT, name STRING, state STRING)

SELECT c.cust_id, c.name
FROM lake.owner c
WHERE c.state = 'WI'

-- commits
--   1  + lake.owner (52, 'Paul''s Petunias', 'WI') (7, 'Al''s Asters', 'MN')
--   2  - lake.owner (52, 'Paul''s Petunias', 'WI')  + lake.owner (52, 'Peter''s Petunias', 'WI')
--   3  - lake.owner (52, 'Peter''s Petunias', 'WI')  + lake.owner (52, 'Patty''s Petunias', 'WI')
-- blocks
--   v: select
--     + changes of lake.owner in (1, 2]
-- rows
--   1: (52, 'Paul''s Petunias')
--   2: (52, 'Peter''s Petunias')
--   3: (52, 'Patty''s Petunias')
