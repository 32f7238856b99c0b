-- paper 001, section 5: a business that is sold twice; both sales at once are two changes
-- construct: examples of the papers
-- table lake.customer (cust_id INT, name STRING, state STRING)

SELECT c.cust_id, c.name
FROM lake.customer c
WHERE c.state = 'WI'

-- commits
--   1  + lake.customer (52, 'Paul''s Petunias', 'WI') (7, 'Al''s Asters', 'MN')
--   2  - lake.customer (52, 'Paul''s Petunias', 'WI')  + lake.customer (52, 'Peter''s Petunias', 'WI')
--   3  - lake.customer (52, 'Peter''s Petunias', 'WI')  + lake.customer (52, 'Patty''s Petunias', 'WI')
-- blocks
--   v: select
--     + changes of lake.customer in (1, 2]
-- rows
--   1: (52, 'Paul''s Petunias')
--   2: (52, 'Peter''s Petunias')
--   3: (52, 'Patty''s Petunias')
