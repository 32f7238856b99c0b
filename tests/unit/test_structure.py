"""Outer, semi and anti joins, subqueries, set operations: SQL to blocks, rolled through random histories.

The blocks come from `parse_view`; the oracle is the same text, run by DuckDB on the recorded states.
"""

from __future__ import annotations

from functools import cache

import pytest
from duck import Duck, duck_sql
from duck_engine import Warehouse
from hypothesis import given
from recorded import caught, examples
from sqlglot import exp
from test_reduce import HISTORIES, NAMES, check_story

from rollview.calculus import queries, rolled
from rollview.views import outer, subqueries
from rollview.views.blocks import Reduce, Union, joins
from rollview.views.parse import parse_view

SCHEMA = dict.fromkeys(NAMES, (("l", "bigint"), ("r", "bigint")))
DUCK = Duck(SCHEMA)

OUTER = [
    "SELECT a.l, a.r, b.l AS l2, b.r AS r2 FROM a LEFT JOIN b ON a.r = b.l",
    "SELECT a.l, b.r FROM a RIGHT JOIN b ON a.r = b.l",
    "SELECT a.l, b.r FROM a FULL JOIN b ON a.r = b.l",
    "SELECT a.l, b.r FROM a FULL JOIN b ON a.r = b.l AND a.l = b.r",
    "SELECT a.l, b.r FROM a LEFT JOIN b ON a.r < b.l",
    "SELECT a.l, b.r FROM a FULL JOIN b ON a.r + b.l > 1",
    "SELECT a.l, b.r FROM a LEFT JOIN b ON a.r = b.l AND b.r > 0",
    "SELECT a.l, b.r FROM a LEFT JOIN b ON a.r = b.l AND a.l > 0",
    "SELECT a.l, b.r FROM a FULL JOIN b ON a.r = b.l AND a.l > 0 AND b.r < 2",
    "SELECT a.l, b.r FROM a LEFT JOIN b ON a.r <=> b.l",
    "SELECT a.l, b.r FROM a LEFT JOIN b ON b.r = 1",
    "SELECT a.l, b.r FROM a LEFT JOIN b ON a.r = 1",
    "SELECT a.l, b.r FROM a FULL JOIN b ON TRUE",
    "SELECT a.l, COALESCE(b.r, -1) AS r FROM a LEFT JOIN b ON a.r = b.l WHERE b.r IS NULL OR b.r > 0",
    "SELECT l, a.r AS ar, b.r AS br FROM a LEFT JOIN b USING (l)",
    "SELECT l, a.r AS ar, b.r AS br FROM a RIGHT JOIN b USING (l)",
    "SELECT l, a.r AS ar, b.r AS br FROM a FULL JOIN b USING (l)",
    "SELECT * FROM a NATURAL FULL JOIN b",
    "SELECT a.l, b.r, c.l AS cl FROM a LEFT JOIN b ON a.r = b.l LEFT JOIN a AS c ON b.r = c.l",
    "SELECT a.l, b.r, c.l AS cl FROM a LEFT JOIN b ON a.r = b.l JOIN a AS c ON a.r = c.l",
    "SELECT a.l, b.r, c.l AS cl, d.r AS dr FROM a LEFT JOIN b ON a.r = b.l LEFT JOIN a AS c ON b.r = c.l "
    "LEFT JOIN b AS d ON d.l = c.r",
    "SELECT a.l, b.r, c.l AS cl FROM a FULL JOIN b ON a.r = b.l FULL JOIN a AS c ON c.l = b.r",
    "SELECT x.l, y.r FROM (SELECT DISTINCT l FROM a) x LEFT JOIN "
    "(SELECT l, SUM(r) AS r FROM b GROUP BY l) y ON x.l = y.l",
    "SELECT a.l, COUNT(*) AS n, COUNT(b.r) AS m, SUM(b.r) AS s FROM a LEFT JOIN b ON a.r = b.l GROUP BY a.l",
    "SELECT b.r, COUNT(*) AS n FROM a FULL JOIN b ON a.r = b.l GROUP BY b.r HAVING COUNT(*) > 1",
    "SELECT DISTINCT a.l, b.r FROM a LEFT JOIN b ON a.r = b.l",
    "SELECT COUNT(*) AS n, SUM(b.r) AS s FROM a LEFT JOIN b ON a.l = b.l AND a.r < b.r",
    "SELECT a.l, q.r FROM a LEFT JOIN (SELECT b.l, c.r FROM b LEFT JOIN a AS c ON b.l = c.l) q ON a.l = q.l",
    "SELECT a.l, q.r FROM a LEFT JOIN (SELECT l, r FROM b UNION ALL SELECT r, l FROM a) q ON a.l = q.l",
    "SELECT l, r FROM (SELECT a.l, b.r FROM a LEFT JOIN b ON a.r = b.l UNION ALL SELECT l, r FROM b) u "
    "WHERE l IS NULL OR l < 2",
    "WITH j AS (SELECT a.l, b.r FROM a LEFT JOIN b ON a.r = b.l) SELECT x.l, y.r FROM j x JOIN j y ON x.r = y.l",
    "SELECT a.l, b.r FROM a LEFT JOIN (b JOIN a AS c ON b.l = c.r) ON a.l = c.l",
    "SELECT a.l, b.r + c.r AS s FROM a, a AS c LEFT JOIN b ON c.r = b.l WHERE a.l = c.l",
]  # fmt: skip
SEMI = [
    "SELECT l, r FROM a LEFT SEMI JOIN b ON a.r = b.l",
    "SELECT l, r FROM a LEFT ANTI JOIN b ON a.r = b.l",
    "SELECT l, r FROM a LEFT ANTI JOIN b ON a.r < b.l",
    "SELECT l, r FROM a LEFT SEMI JOIN b USING (l)",
    "SELECT l, COUNT(*) AS n FROM a LEFT ANTI JOIN b USING (r) GROUP BY l",
]
SUBQUERIES = [
    "SELECT l, r FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.l = a.r)",
    "SELECT l, r FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.l = a.r)",
    "SELECT l, r FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.l > a.r AND b.r <> a.l)",
    "SELECT l, r FROM a WHERE EXISTS (SELECT 1 FROM b)",
    "SELECT l, r FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE r = 1) AND l > 0",
    "SELECT l, r FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.l = a.r) OR r > 1",
    "SELECT l, EXISTS (SELECT 1 FROM b WHERE b.l = a.r) AS e FROM a",
    "SELECT l, r FROM a WHERE l IN (SELECT r FROM b)",
    "SELECT l, r FROM a WHERE l NOT IN (SELECT r FROM b)",
    "SELECT l, r FROM a WHERE l NOT IN (SELECT r FROM b WHERE b.l = a.r)",
    "SELECT l, r FROM a WHERE l NOT IN (SELECT r FROM b WHERE b.l > a.r)",
    "SELECT l, r FROM a WHERE l NOT IN (SELECT r FROM b WHERE r IS NOT NULL)",
    "SELECT l, r FROM a WHERE (l, r) IN (SELECT l, r FROM b)",
    "SELECT l, r FROM a WHERE (l, r) NOT IN (SELECT l, r FROM b)",
    "SELECT l, l IN (SELECT r FROM b) AS i FROM a",
    "SELECT l, r FROM a WHERE l IN (SELECT r FROM b) OR r IN (SELECT l FROM b)",
    "SELECT l, r FROM a WHERE l IN (SELECT SUM(r) FROM b GROUP BY l)",
    "SELECT l, r FROM a WHERE l IN (SELECT COUNT(*) FROM b WHERE b.l = a.r)",
    "SELECT l, r FROM a WHERE l NOT IN (SELECT COUNT(*) FROM b WHERE b.l = a.r GROUP BY b.r)",
    "SELECT l, r FROM a WHERE l IN (SELECT l FROM b UNION ALL SELECT r FROM a)",
    "SELECT l, (SELECT SUM(r) FROM b) AS s FROM a",
    "SELECT l, r FROM a WHERE r > (SELECT AVG(r) FROM b)",
    "SELECT l, (SELECT SUM(b.r) FROM b WHERE b.l = a.r) AS s FROM a",
    "SELECT l, (SELECT COUNT(*) FROM b WHERE b.l = a.r) AS s FROM a",
    "SELECT l, (SELECT COUNT(*) + COALESCE(SUM(b.r), 7) FROM b WHERE b.l < a.r) AS s FROM a",
    "SELECT l, (SELECT COUNT(*) FROM b WHERE b.l = a.r AND a.l > 0) AS s FROM a",
    "SELECT l, (SELECT SUM(b.r + a.l) FROM b WHERE b.l = a.r) AS s FROM a",
    "SELECT l, (SELECT SUM(r) FROM b HAVING COUNT(*) > 1) AS s FROM a",
    "SELECT l, (SELECT COUNT(*) FROM b WHERE b.l = a.r HAVING COUNT(*) <> 1) AS s FROM a",
    "SELECT a.l, a.r FROM a JOIN b ON a.l = b.l WHERE a.r = (SELECT SUM(c.r) FROM a AS c WHERE c.l = b.l)",
    "SELECT l, COUNT(*) AS n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.l = a.r) GROUP BY l",
    "SELECT DISTINCT l FROM a WHERE r NOT IN (SELECT r FROM b)",
    "SELECT l, r FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.l = a.l AND b.r IN (SELECT c.r FROM a AS c))",
    "SELECT l, r FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.l = a.l AND NOT EXISTS "
    "(SELECT 1 FROM a AS c WHERE c.l = b.r))",
    "SELECT a.l, b.r FROM a LEFT JOIN b ON a.l = b.l WHERE NOT EXISTS (SELECT 1 FROM b AS c WHERE c.l = b.r)",
    "SELECT l, r FROM a WHERE EXISTS (SELECT l, COUNT(*) FROM b WHERE b.l = a.r GROUP BY l HAVING COUNT(*) > 1)",
    "SELECT l, r FROM a WHERE EXISTS (SELECT COUNT(*) FROM b WHERE b.l = a.r HAVING COUNT(*) <> 1)",
    "SELECT SUM(r - (SELECT COUNT(*) FROM b)) AS s FROM a",
    "SELECT l, SUM(r) AS s FROM a GROUP BY l HAVING SUM(r) > (SELECT AVG(r) FROM b)",
    "SELECT l, SUM(r) AS s FROM a GROUP BY l HAVING l IN (SELECT r FROM b)",
    "SELECT l, SUM(r) AS s FROM a GROUP BY l HAVING SUM(r) NOT IN (SELECT r FROM b)",
    "SELECT l, SUM(r) AS s, (SELECT COUNT(*) FROM b WHERE b.l = a.l) AS n FROM a GROUP BY l",
    "SELECT SUM(r) AS s, (SELECT COUNT(*) FROM b) AS n FROM a",
    "SELECT DISTINCT l, EXISTS (SELECT 1 FROM b WHERE b.l = a.l) AS e FROM a GROUP BY l, r",
    "SELECT x.s FROM (SELECT l, SUM(r) AS s FROM a GROUP BY l HAVING COUNT(*) = (SELECT COUNT(*) FROM b)) x",
    "SELECT l, (SELECT b.r FROM b WHERE b.l = a.l AND b.r = 1 GROUP BY b.r) AS v FROM a",
    "WITH m AS (SELECT l FROM b WHERE r > 0) SELECT l FROM a WHERE l IN (SELECT l FROM m) "
    "AND r NOT IN (SELECT l FROM m)",
]
SETS = [
    "SELECT l, r FROM a UNION SELECT r, l FROM b",
    "SELECT l, r FROM a INTERSECT SELECT l, r FROM b",
    "SELECT l, r FROM a INTERSECT ALL SELECT l, r FROM b",
    "SELECT l, r FROM a EXCEPT SELECT l, r FROM b",
    "SELECT l FROM a EXCEPT ALL SELECT l FROM b",
    "SELECT l FROM a MINUS SELECT r FROM b",
    "SELECT l FROM a UNION ALL SELECT l FROM b EXCEPT ALL SELECT r FROM a",
    "SELECT l FROM a UNION SELECT r FROM b UNION ALL SELECT r FROM a",
    "SELECT l FROM a UNION SELECT r FROM b INTERSECT SELECT l FROM b",
    "WITH w AS (SELECT l FROM a) SELECT l FROM w EXCEPT SELECT r FROM b INTERSECT ALL SELECT l FROM w",
    "SELECT l FROM a INTERSECT SELECT r FROM a INTERSECT SELECT r FROM b",
    "SELECT l, COUNT(*) AS n FROM (SELECT l FROM a EXCEPT ALL SELECT l FROM b) e GROUP BY l",
    "SELECT x.l, y.l AS l2 FROM (SELECT l FROM a INTERSECT ALL SELECT l FROM b) x, (SELECT l FROM a EXCEPT SELECT l "
    "FROM b) y",
    "SELECT a.l, q.r FROM a LEFT JOIN (SELECT r FROM a EXCEPT ALL SELECT r FROM b) q ON a.l = q.r",
    "SELECT a.l, b.r FROM a LEFT JOIN b ON a.l = b.l EXCEPT ALL SELECT l, r FROM b",
    "SELECT l FROM a WHERE l IN (SELECT l FROM a EXCEPT SELECT l FROM b)",
]
GROUPING_SETS = [
    f"SELECT {shown} FROM a GROUP BY {sets} HAVING COUNT(*) > 0"
    for shown, sets in [
        ("l, COUNT(*) AS n, SUM(r) AS s", "ROLLUP (l)"),
        ("l, r, COUNT(*) AS n", "CUBE (l, r)"),
        ("l, r, COUNT(*) AS n, SUM(r) AS s", "GROUPING SETS ((l, r), (l), (r), ())"),
        (
            "l, r, CAST(GROUPING(l) AS INT) AS g, CAST(GROUPING_ID(l, r) AS INT) AS i",
            "ROLLUP (l, r)",
        ),
        ("l, r, COUNT(*) AS n", "l, ROLLUP (r)"),
        ("l + 1 AS k, COALESCE(r, -1) AS r, SUM(l) AS s", "CUBE (l + 1, r)"),
        ("l, r, COUNT(*) AS n", "GROUPING SETS ((l), (l), (r))"),
    ]
] + [
    "SELECT a.l, b.r, COUNT(*) AS n FROM a LEFT JOIN b ON a.r = b.l GROUP BY ROLLUP (a.l, b.r) HAVING COUNT(*) > 1",
    "SELECT x.l, b.r FROM (SELECT l, SUM(r) AS s FROM a GROUP BY ROLLUP (l) HAVING COUNT(*) > 0) x JOIN b ON x.s = b.r",
]
TABLES = [
    "SELECT l, x FROM a LATERAL VIEW EXPLODE(ARRAY(r, l, 7)) e AS x",
    "SELECT l, x FROM a LATERAL VIEW OUTER EXPLODE(CASE WHEN r > 0 THEN ARRAY(r, l) END) e AS x",
    "SELECT l, p, x FROM a LATERAL VIEW POSEXPLODE(ARRAY(r, l)) e AS p, x WHERE x = 1 OR p = 0",
    "SELECT x, COUNT(*) AS n FROM a LATERAL VIEW EXPLODE(ARRAY(r, l)) e AS x GROUP BY x",
    "SELECT a.l, x, y FROM a JOIN b ON a.l = b.l LATERAL VIEW EXPLODE(ARRAY(a.r, b.r)) e AS x "
    "LATERAL VIEW EXPLODE(ARRAY(x, 9)) f AS y",
    "SELECT q.x, b.r FROM (SELECT l, EXPLODE(ARRAY(r, l)) AS x FROM a) q LEFT JOIN b ON q.x = b.l",
    "SELECT EXPLODE(ARRAY(r, 1)) AS x, l FROM a WHERE l IS NOT NULL",
    "SELECT b.l, x FROM b LEFT JOIN (SELECT x FROM a LATERAL VIEW EXPLODE(ARRAY(r, l)) e AS x) q ON q.x = b.r",
    "SELECT k, v FROM a UNPIVOT (v FOR k IN (l, r))",
    "SELECT k, SUM(v) AS s FROM (SELECT l, r, l + r AS t FROM a) UNPIVOT INCLUDE NULLS (v FOR k IN (r AS 'R', t)) "
    "GROUP BY k",
    "SELECT a.l, v.y FROM a JOIN (VALUES (1, 'one'), (2, 'two')) AS v(x, y) ON a.l = v.x",
    "SELECT a.l, v.y FROM a LEFT JOIN (VALUES (1, 10), (2, NULL)) AS v(x, y) ON a.l = v.x",
    "SELECT a.l, v.y FROM a RIGHT JOIN (VALUES (1, 10), (1, 20), (5, 5)) AS v(x, y) ON a.l = v.x",
    "SELECT l, r FROM a UNION ALL SELECT 1, 2 UNION ALL SELECT * FROM (VALUES (3, 4), (3, NULL)) v",
    "SELECT l FROM a WHERE l IN (SELECT x FROM (VALUES (0), (1), (NULL)) v(x))",
    "SELECT l FROM a WHERE l NOT IN (SELECT x FROM (VALUES (0), (1)) v(x))",
    "SELECT l, r FROM a EXCEPT ALL SELECT 1, 1",
    "SELECT l, (SELECT 5) AS five FROM a",
    "WITH v AS (SELECT DISTINCT x FROM (VALUES (1), (1), (2)) t(x)) SELECT a.l, v.x FROM a LEFT JOIN v ON a.l < v.x",
]
BAGS = [
    "SELECT a.l, MAX(b.r) AS m, COUNT(DISTINCT b.r) AS d FROM a LEFT JOIN b ON a.r = b.l GROUP BY a.l",
    "SELECT l, (SELECT MAX(b.r) FROM b WHERE b.l = a.r) AS m FROM a",
    "SELECT l FROM a WHERE r = (SELECT MIN(c.r) FROM a AS c WHERE c.l < a.l)",
    "SELECT l, MAX(r) AS m FROM a GROUP BY ROLLUP (l)",
    "SELECT MAX(r) AS m FROM a WHERE l NOT IN (SELECT l FROM b)",
    "SELECT l, (SELECT r FROM b ORDER BY r, l LIMIT 1) AS m FROM a",
    "SELECT l, r FROM a UNION SELECT l, r FROM b ORDER BY l, r LIMIT 3",
]
CASES = BAGS + OUTER + SEMI + SUBQUERIES + SETS + GROUPING_SETS + TABLES


@cache
def defined(sql):
    definition = parse_view("v", sql, SCHEMA, DUCK.describe)
    names = [definition.block_name(k) for k in range(len(definition.blocks))]
    return definition.blocks, names


@pytest.mark.parametrize(
    "sql",
    # The golden cases go through every construct in each run; here a part of them does, more deeply.
    [
        pytest.param(sql, marks=() if n % 5 == 0 else pytest.mark.slow)
        for n, sql in enumerate(CASES)
    ],
)
def test_a_view_equals_its_sql_at_every_time(sql):
    (blocks, names), oracle = defined(sql), f"SELECT * FROM ({duck_sql(sql)})"

    @examples(3)
    @given(HISTORIES)
    def check(history):
        check_story(history, blocks, oracle, names)

    check()


def checked(sql, history):
    (blocks, names), oracle = defined.__wrapped__(sql), f"SELECT * FROM ({duck_sql(sql)})"
    check_story(history, blocks, oracle, names)


# --- more than one row

ONE_ROW = "SELECT a.l, (SELECT b.r FROM b WHERE b.l = a.l) AS v FROM a"


def test_y3_more_than_one_row_is_an_error_that_names_the_key():
    """Only for keys that are asked for; what was there before stays readable."""
    blocks, names = defined(ONE_ROW)
    with Warehouse() as warehouse:
        for name in NAMES:
            warehouse.add_source(name, {"l": "BIGINT", "r": "BIGINT"})
        warehouse.commit({"a": [(1, (7, 0)), (1, (8, 0))], "b": [(1, (7, 1)), (2, (9, 1))]})
        for name, block in zip(names, blocks, strict=True):
            warehouse.build(name, block, 1)
        assert warehouse.visible(names[-1], 1) == {(7, 1): 1, (8, None): 1}
        warehouse.commit({"b": [(1, (7, 2))]})
        with pytest.raises(Exception, match=r"SCALAR_SUBQUERY_TOO_MANY_ROWS.*key: 7"):
            for name, block in zip(names, blocks, strict=True):
                count = sum(len(join.inputs) for join in joins(block))
                warehouse.step(name, [(k, 2) for k in range(count)])


# --- what the blocks are


def kinds(sql):
    return [type(block) for block in defined(sql)[0]]


def test_j1_an_equality_remembers_the_distinct_keys_of_the_other_side_alone():
    memory = defined("SELECT a.l, b.r FROM a LEFT JOIN b ON a.r = b.l AND b.r > 0 AND a.l > 1")[0][
        0
    ]
    assert isinstance(memory, Reduce) and memory.sums == () and len(memory.keys) == 1
    assert [i.relation for i in memory.source.parts[0].inputs] == ["b"]


def test_equal_memories_are_one_block_and_unread_ones_none():
    twice = "SELECT l FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.l = a.l) OR l IN (SELECT l FROM b WHERE l > 0)"
    assert kinds(f"{twice} AND EXISTS (SELECT 1 FROM b WHERE b.l = a.l)").count(Reduce) == 2
    not_in = kinds(twice.replace("l IN", "l NOT IN"))
    assert not_in.count(Reduce) == 3, "what leaves it unknown is remembered too"
    assert kinds("SELECT l FROM a WHERE l IN (SELECT r FROM b)") == [Reduce, Union]


def test_a_stored_union_keeps_only_what_is_read():
    sql = "SELECT a.l, d.r FROM a LEFT JOIN b ON a.r = b.l LEFT JOIN a AS c ON b.r = c.l LEFT JOIN b AS d ON d.l = a.r"
    stored = [b for b in defined(sql)[0][:-1] if isinstance(b, Union)]
    assert [[c.name for c in b.columns] for b in stored] == [["c0", "c1"]]


# --- sabotage: each of these must be seen


@pytest.mark.parametrize("sql", [OUTER[0], SUBQUERIES[1], SETS[14]])
def test_sabotage_parts_without_their_sign(sql, sabotage):
    right = queries._product

    def unsigned(join, *rest):
        tree = right(join, *rest)
        for node in list(tree.find_all(exp.Neg)):
            node.replace(node.this)
        return tree

    sabotage.setattr(queries, "_product", unsigned)
    assert caught(lambda history: checked(sql, history), HISTORIES)


@pytest.mark.parametrize("sql", ["SELECT a.l, b.r FROM a FULL JOIN b ON a.r = b.l"])
def test_sabotage_null_keys_match(sql, sabotage):
    right = outer._pair

    def null_safe(*sides):
        pair = right(*sides)
        return pair and outer.Pair(pair.left, pair.right, exp.NullSafeEQ)

    sabotage.setattr(outer, "_pair", null_safe)
    assert caught(lambda history: checked(sql, history), HISTORIES)


def test_sabotage_not_in_forgets_nulls(sabotage):
    sabotage.setattr(subqueries.Expansion, "_unknown", subqueries.Expansion._equal)
    assert caught(lambda history: checked(SUBQUERIES[8], history), HISTORIES)


def test_sabotage_except_all_shows_each_row_once(sabotage):
    sabotage.setattr(rolled, "_copies", lambda block: queries.bigint(1))
    assert caught(lambda history: checked(SETS[4], history), HISTORIES)


def test_sabotage_an_aggregate_over_nothing_is_null(sabotage):
    sabotage.setattr(subqueries, "over_nothing", lambda tree: exp.null())
    assert caught(lambda history: checked(SUBQUERIES[23], history), HISTORIES)
