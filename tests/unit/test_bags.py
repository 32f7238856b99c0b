"""M1 to M5: views with a BagReduce, from their SQL, rolled through random histories against DuckDB's own recompute."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import duckdb
import pytest
from duck import Duck
from duck_engine import Warehouse
from hypothesis import given
from hypothesis import strategies as st
from recorded import caught, examples, transactions
from sqlglot import exp, parse_one
from test_reduce import HISTORIES, Story, check_story

from rollview.calculus import bags, steps
from rollview.calculus.bags import enough
from rollview.changes import COUNT
from rollview.views.blocks import BagReduce, Column, Join, Union
from rollview.views.parse import parse_view

SCHEMA = dict.fromkeys(("a", "b"), (("l", "bigint"), ("r", "bigint")))

VIEWS = [
    "SELECT l, MIN(r) AS m FROM a GROUP BY l",
    "SELECT MAX(r) AS m FROM a",
    "SELECT MIN(r) AS m, COUNT(*) AS n, SUM(l) AS s FROM a",
    "SELECT MAX(r) AS m FROM a GROUP BY l",
    "SELECT l, COUNT(DISTINCT r) AS d, COUNT(r) AS n, SUM(DISTINCT r) AS s FROM a GROUP BY l",
    "SELECT l, MEDIAN(r) AS m, COUNT(*) AS n FROM a GROUP BY l HAVING MIN(r) IS NOT NULL",
    "SELECT COUNT(*) AS n FROM a HAVING MAX(r) > 0",
    "SELECT l, MAX(r) FILTER (WHERE r < 2) AS m, COUNT(*) FILTER (WHERE r = 0) AS n FROM a GROUP BY l",
    "SELECT l, BOOL_OR(r = 1) AS o, BOOL_AND(r = 1) AS e, BIT_XOR(r) AS x FROM a GROUP BY l",
    "SELECT l, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY r) AS p FROM a GROUP BY l",
    "SELECT a.l, MIN(b.r) AS m, COUNT(*) AS n FROM a JOIN b ON a.r = b.l GROUP BY a.l",
    "SELECT n, MAX(m) AS x FROM (SELECT l, MIN(r) AS m, COUNT(*) AS n FROM a GROUP BY l) GROUP BY n",
    "SELECT g.m, b.r FROM (SELECT l, MIN(r) AS m FROM a GROUP BY l) g JOIN b ON g.l = b.l",
    "SELECT l, MAX(r) AS m FROM (SELECT l, r FROM a UNION ALL SELECT r, l FROM b) GROUP BY l",
    "SELECT MAX(r) AS m FROM a WHERE l > 1",
    "SELECT SUM(m) AS s FROM (SELECT MAX(r) AS m FROM a GROUP BY l)",
]


FIRST = "NULLS FIRST"  # as Spark orders; DuckDB's own default is NULLS LAST
LEAST = "SELECT MIN_BY(r, l) AS a, MAX_BY(r, l) AS b FROM a WHERE r IS NOT NULL"
WINDOWS = {
    "SELECT l, r, ROW_NUMBER() OVER (PARTITION BY l ORDER BY r) AS n FROM a":
        f"SELECT l, r, ROW_NUMBER() OVER (PARTITION BY l ORDER BY r {FIRST}) FROM a",
    "SELECT r, RANK() OVER (ORDER BY r) AS n, COUNT(*) OVER (PARTITION BY l) AS c FROM a":
        f"SELECT r, RANK() OVER (ORDER BY r {FIRST}), COUNT(*) OVER (PARTITION BY l) FROM a",
    "SELECT l, LAG(r) OVER (PARTITION BY l ORDER BY r) AS p FROM a":
        f"SELECT l, LAG(r) OVER (PARTITION BY l ORDER BY r {FIRST}) FROM a",
    "SELECT l, r FROM a QUALIFY ROW_NUMBER() OVER (PARTITION BY l ORDER BY r) <= 2":
        f"SELECT l, r FROM a QUALIFY ROW_NUMBER() OVER (PARTITION BY l ORDER BY r {FIRST}) <= 2",
    "WITH w AS (SELECT *, SUM(r) OVER (PARTITION BY l) AS s FROM a) SELECT r, s + 1 AS t FROM w WHERE s > 1":
        "SELECT r, s + 1 FROM (SELECT *, SUM(r) OVER (PARTITION BY l)::BIGINT AS s FROM a) WHERE s > 1",
    "SELECT l, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS k FROM a GROUP BY l":
        "SELECT l, COUNT(*), RANK() OVER (ORDER BY COUNT(*) DESC) FROM a GROUP BY l",
    "SELECT l, r FROM a ORDER BY l LIMIT 2":
        f"SELECT l, r FROM a ORDER BY l {FIRST}, r {FIRST} LIMIT 2",
    "SELECT r FROM a ORDER BY l DESC LIMIT 2 OFFSET 1":
        f"SELECT r FROM a ORDER BY l DESC NULLS LAST, r {FIRST} LIMIT 2 OFFSET 1",
    "SELECT l, COUNT(*) AS n FROM a GROUP BY l ORDER BY MAX(r) LIMIT 2":
        f"SELECT l, COUNT(*) FROM a GROUP BY l ORDER BY MAX(r) {FIRST}, l {FIRST} LIMIT 2",
    "SELECT DISTINCT r FROM (SELECT a.l, b.r FROM a JOIN b ON a.r = b.l) ORDER BY r DESC LIMIT 2":
        "SELECT DISTINCT b.r FROM a JOIN b ON a.r = b.l ORDER BY b.r DESC NULLS LAST LIMIT 2",
    "(SELECT l FROM a UNION ALL SELECT r FROM b) ORDER BY l LIMIT 3":
        f"SELECT l FROM (SELECT l FROM a UNION ALL SELECT r FROM b) ORDER BY l {FIRST} LIMIT 3",
    "SELECT b.l, t.r FROM b JOIN (SELECT r FROM a ORDER BY r LIMIT 2) t ON b.r = t.r":
        f"SELECT b.l, t.r FROM b JOIN (SELECT r FROM a ORDER BY r {FIRST} LIMIT 2) t ON b.r = t.r",
    "SELECT l, MAX(r) OVER w AS m FROM a WINDOW w AS (PARTITION BY l ORDER BY r ROWS 1 PRECEDING)":
        f"SELECT l, MAX(r) OVER (PARTITION BY l ORDER BY r {FIRST} ROWS 1 PRECEDING) FROM a",
    LEAST:
        "SELECT (SELECT r FROM a WHERE r IS NOT NULL AND l IS NOT NULL ORDER BY l, r LIMIT 1), "
        "(SELECT r FROM a WHERE r IS NOT NULL AND l IS NOT NULL ORDER BY l DESC, r DESC LIMIT 1)",
    "SELECT STRING_AGG(CAST(r AS STRING), ',') WITHIN GROUP (ORDER BY l) AS t FROM a":
        f"SELECT STRING_AGG(CAST(r AS VARCHAR), ',' ORDER BY l {FIRST}, CAST(r AS VARCHAR) {FIRST}) FROM a",
}  # fmt: skip
"""SQL, and the same in DuckDB's words with every tie settled by hand."""


@cache
def blocks_of(sql, derived=False):
    """The view's blocks and their names."""
    definition = parse_view("v", sql, SCHEMA, Duck(SCHEMA).describe, lambda _: derived)
    return definition.blocks, [definition.block_name(k) for k in range(len(definition.blocks))]


def check(sql, history, oracle=None, derived=False):
    blocks, names = blocks_of(sql, derived)
    assert any(isinstance(block, BagReduce) for block in blocks)
    check_story(history, blocks, oracle or sql, names)


@pytest.mark.parametrize("sql", VIEWS)
def test_m1_a_view_over_bags_equals_its_sql_at_every_time(sql):
    @examples(2)
    @given(HISTORIES)
    def through(history):
        check(sql, history)

    through()


@pytest.mark.parametrize(
    "sql", [sql for sql in VIEWS if "FROM a JOIN b" in sql or "UNION ALL" in sql]
)
def test_y1_memory_may_be_derived_from_a_join(sql):
    assert len(blocks_of(sql, derived=True)[0]) < len(blocks_of(sql)[0])

    @examples(3)
    @given(HISTORIES)
    def through(history):
        check(sql, history, derived=True)

    through()


@pytest.mark.parametrize("sql", WINDOWS)
def test_j2_windows_and_tops_equal_their_sql_with_ties_settled_as_said(sql):
    @examples(2)
    @given(HISTORIES)
    def through(history):
        check(sql, history, WINDOWS[sql])

    through()


def test_j2_a_filter_above_a_window_is_part_of_its_block():
    blocks, _ = blocks_of(next(sql for sql in WINDOWS if sql.startswith("WITH w")))
    assert len(blocks) == 1 and blocks[0].having is not None and blocks[0].keys == ("_rv_a1",)


@pytest.mark.parametrize("sql", [VIEWS[0], VIEWS[2], next(iter(WINDOWS))])
@pytest.mark.parametrize("cells", [(6,), (2, 4, 6)])
def test_z1_a_rounded_view_is_exact_at_the_ends_of_cells(sql, cells):
    @examples(2)
    @given(st.lists(transactions(2), min_size=6, max_size=6))
    def through(commits):
        blocks, names = blocks_of(sql)
        with Warehouse() as warehouse:
            story = Story(warehouse, blocks, WINDOWS.get(sql, sql), names)
            story.build(1, False)
            for transaction in commits:
                story.commit(transaction)
            warehouse.step("v", [(0, 6)], cells)
            for time in (0, *cells):
                assert warehouse.visible("v", time) == story.view(time), time
            assert {c.stamp for c in warehouse.changes("v", 0, 6)} <= set(cells)

    through()


# --- sabotage: each of these must be seen


def test_sabotage_ties_are_broken_by_chance(sabotage):
    from rollview.views import ties

    sabotage.setattr(ties, "_settle_top", lambda draft, query: None)
    blocks_of.cache_clear()
    sql = "SELECT l, r FROM a ORDER BY l LIMIT 2"
    assert caught(lambda history: check(sql, history, WINDOWS[sql]), HISTORIES)
    blocks_of.cache_clear()


@pytest.mark.parametrize(
    ("settled", "sql"),
    [
        ("_settle_extreme", LEAST),
        ("_settle_text", next(sql for sql in WINDOWS if "STRING_AGG" in sql)),
    ],
)
def test_sabotage_ties_inside_a_group_are_broken_the_other_way(sabotage, settled, sql):
    """The order is completed, but by the opposite of the values."""
    from rollview.views import ties

    right = getattr(ties, settled)

    def turned(draft, call, *more):
        right(draft, call, *more)
        for struct in (c for c in call.find_all(exp.Anonymous) if c.name == "STRUCT"):
            struct.expressions[-1].replace(exp.Neg(this=struct.expressions[-1].copy()))
        if isinstance(call.parent, exp.WithinGroup):
            call.parent.expression.expressions[-1].set("desc", True)

    sabotage.setattr(ties, settled, turned)
    blocks_of.cache_clear()
    assert caught(lambda history: check(sql, history, WINDOWS[sql]), HISTORIES)
    blocks_of.cache_clear()


def test_sabotage_windows_see_other_versions(sabotage):
    sabotage.setattr(bags, "_apart", lambda text, by: bags.block_expression(text))
    assert any_history("SELECT l, COUNT(*) OVER (PARTITION BY l) AS n FROM a")


def any_history(sql):
    return caught(lambda history: check(sql, history), HISTORIES)


def test_sabotage_memory_is_forgotten(sabotage):
    right = steps.bag_changes
    sabotage.setattr(steps, "bag_changes", lambda block, changes, memory, kept: right(
        block, changes, memory.where("FALSE"), kept))  # fmt: skip
    assert any_history(VIEWS[0])


def test_sabotage_what_was_kept_is_not_taken_back(sabotage):
    right = bags._taken_first
    sabotage.setattr(
        bags, "_taken_first", lambda block, kept: right(block, kept).where("FALSE", copy=False)
    )
    assert any_history(VIEWS[0])


def test_sabotage_the_null_group_is_dropped(sabotage):
    sabotage.setattr(bags, "_same_key", lambda block, left, right: bags.every(
        bags.column(k, left).eq(bags.column(k, right)) for k in block.keys))  # fmt: skip
    assert any_history(VIEWS[0])


def test_sabotage_an_empty_bag_shows_nothing(sabotage):
    sabotage.setattr(
        bags,
        "_made_of_versions",
        lambda block: bags.made(block, bags._repeated(block), (bags.STAMP, bags.NEXT)),
    )
    assert any_history(VIEWS[1])


def test_sabotage_rows_count_once(sabotage):
    from dataclasses import replace

    right = bags._repeated
    sabotage.setattr(bags, "_repeated", lambda block: right(replace(block, repeats=False)))
    assert any_history("SELECT l, MAX(r) AS m, COUNT(*) AS n FROM a GROUP BY l")


TOP = BagReduce(
    Union((Join((), None, (Column("a", "1", "int"), Column("b", "2", "int"))),)),
    (),
    (Column("a", "`a`", "int"),),
    "ROW_NUMBER() OVER (ORDER BY `a` DESC, `b`) > 1 AND ROW_NUMBER() OVER (ORDER BY `a` DESC, `b`) <= 3",
    grouped=False,
)


@examples(100)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), max_size=12),
    st.lists(st.integers(0, 11), max_size=4, unique=True),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), max_size=3),
)
def test_m5_the_first_rows_are_among_what_is_enough(old, gone, new):
    """Whatever goes and comes: of the old rows, no more are needed than first rows and rows that go."""
    listed = ", ".join(f"({a}, {b}, 1)" for a, b in old) or "(0, 0, 0)"
    rows = f'SELECT a, b, n AS "{COUNT}" FROM (VALUES {listed}) AS t(a, b, n) WHERE n > 0'
    memory = parse_one(rows, dialect="duckdb")
    taken = [old[k] for k in gone if k < len(old)]
    few = enough(TOP, memory, len(taken)).sql("duckdb")
    kept = [row[:2] for row in duckdb.sql(few).fetchall()]

    def first(rows):
        for row in taken:
            if row in rows:
                rows.remove(row)
        return sorted(rows + new, key=lambda row: (-row[0], row[1]))[:3]

    assert len(kept) <= 3 + 2 * len(taken)
    assert first(list(old)) == first(list(kept))


def test_m5_what_shows_more_than_first_rows_needs_all_of_its_memory():
    memory = parse_one("SELECT 1")
    ranked = (*TOP.columns, Column("r", "RANK() OVER (ORDER BY `b`)", "int"))
    for other in (
        replace(TOP, columns=ranked),
        replace(TOP, having=None),
        replace(TOP, having="RANK() OVER (ORDER BY `a`) <= 3"),
        replace(TOP, having="ROW_NUMBER() OVER (PARTITION BY `b` ORDER BY `a`) <= 3"),
        replace(TOP, keys=("b",)),
    ):
        assert enough(other, memory, 1) is memory
