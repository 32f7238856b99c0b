"""Q1: what a block says reaches the engine as it was written; what a step reads is named, not fetched."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest
from sqlglot import exp, parse_one

from rollview.calculus import queries, rolled
from rollview.calculus.terms import AsOf, Changes, Timed, describe
from rollview.views.blocks import Column, Input, Join, Reduce, Union

REWRITTEN_BY_SQLGLOT = [
    "TO_CHAR(`x`, '99.9')",
    "LOG10(`x`)",
    "LOG2(`x`)",
    "LOG(`x`)",
    "MOD(`x`, 3)",
    "NVL(`x`, 0)",
    "INSTR(`x`, 'a')",
    "UNIX_DATE(`x`)",
    "DATE_TRUNC('week', `x`)",
    "NAMED_STRUCT('a b', `x`)",
    "TO_UTC_TIMESTAMP(`x`, 'CET')",
    "REGEXP_EXTRACT(`x`, '(\\\\d+)', 1)",
]


def placed(expr: str) -> list[str]:
    """The Spark SQL of every tree in which an expression of a block stands."""
    source = Join((Input("t", "a", ("x",)),), f"{expr} IS NULL", (Column("x", expr, "STRING"),))
    block = Reduce(
        Union((source,)),
        ("x",),
        (Column("s", f"{expr} * `_rv_count`", "BIGINT"),),
        (Column("y", expr, "STRING"),),
        f"{expr} > 0",
    )
    term = queries.term_query(source, (Changes(0, 1, 2),), lambda *_: "leaf")
    window = rolled.window((1,), 2)
    trees = [
        term,
        queries.state_query(source, 2, lambda *_: "leaf"),
        queries.summarised(block, term.copy()),
        rolled.visible(block, window, True),
        rolled.row_changes(block, 1, 2, window, True),
    ]
    return [tree.sql(dialect="spark") for tree in trees]


@pytest.mark.parametrize("expr", REWRITTEN_BY_SQLGLOT)
def test_q1_function_calls_of_a_block_stay_as_they_were_written(expr):
    times = [2, 2, 3, 2, 4]
    assert [sql.count(expr) for sql in placed(expr)] == times


def test_q1_a_tree_names_its_leaves_and_the_changes_lead():
    join = Join(
        (Input("x", "a", ("l",)), Input("y", "b", ("r",)), Input("z", "a", ("r",))),
        None,
        (Column("l", "`x`.`l`", "BIGINT"),),
    )
    asked = []

    def leaf(factor, relation, columns):
        asked.append((factor, relation, columns))
        return f"leaf {len(asked)}"

    term = (AsOf(0, 3), Changes(1, 3, 5), Timed(2, 3, 4))
    sql = queries.term_query(join, term, leaf).sql(dialect="spark")
    assert asked == [(term[1], "b", ("r",)), (term[2], "a", ("r",)), (term[0], "a", ("l",))]
    assert "FROM `leaf 1` AS `y` CROSS JOIN `leaf 2` AS `z` CROSS JOIN `leaf 3` AS `x`" in sql
    assert "GREATEST(`y`.`_rv_stamp`, `z`.`_rv_stamp`) AS `_rv_stamp`" in sql


def test_factors_in_words():
    assert describe(Changes(0, 3, 5), "lake.sales") == "changes of lake.sales in (3, 5]"
    assert describe(AsOf(0, 3), "lake.sales") == "lake.sales as of 3"
    assert describe(Timed(0, 3, 5), "v") == "v as of 5, stamps kept since 3"


def test_a_leaf_in_parts_gives_what_the_union_gives():
    """Each query that reads the leaf is there once for each part; twice as often where it is read twice."""
    text = (
        "SELECT `x`.`k` AS `k`, `y`.`v` * 2 AS `v` FROM `leaf` AS `x` CROSS JOIN `leaf` AS `y` WHERE `x`.`k` = `y`.`k` "
        "UNION ALL SELECT `k`, `v` FROM `other` UNION ALL SELECT `k`, `v` FROM (SELECT `k`, `v` FROM `leaf`) AS `z`"
    )
    tree = queries.in_parts(parse_one(text, dialect="spark"), "leaf", ["large", "patch"])
    found = Counter(t.name for t in tree.find_all(exp.Table))
    assert found == {"large": 5, "patch": 5, "other": 1}
    with duckdb.connect() as engine:
        engine.execute(
            "CREATE TABLE large AS SELECT * FROM (VALUES (1, 10), (2, 20), (2, 21)) t(k, v)"
        )
        engine.execute("CREATE TABLE patch AS SELECT * FROM (VALUES (2, -20), (3, 30)) t(k, v)")
        engine.execute("CREATE TABLE other AS SELECT * FROM (VALUES (9, 9)) t(k, v)")
        engine.execute("CREATE VIEW leaf AS SELECT * FROM large UNION ALL SELECT * FROM patch")
        want = engine.execute(parse_one(text, dialect="spark").sql(dialect="duckdb")).fetchall()
        have = engine.execute(tree.sql(dialect="duckdb")).fetchall()
    assert len(want) == 17 and Counter(have) == Counter(want)


def test_what_is_grouped_is_not_taken_in_parts():
    tree = parse_one("SELECT `k`, SUM(`v`) FROM `leaf` GROUP BY `k`", dialect="spark")
    with pytest.raises(AssertionError):
        queries.in_parts(tree, "leaf", ["large", "patch"])
