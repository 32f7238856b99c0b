"""calculus/sharing.py: a join's rows are those of its core, filtered and projected, for the joins of random views."""

from collections import Counter
from random import Random

import duckdb
import pytest
from duck_engine import duck_type, quoted, text, values
from golden.play import defined
from golden.random_views import TABLES, Generator, accepted

from rollview.calculus import sharing
from rollview.calculus.queries import state_query, term_query
from rollview.calculus.steps import stepped, stepped_text
from rollview.calculus.terms import Changes
from rollview.changes import COUNT, Csn
from rollview.errors import ViewRefused
from rollview.views.blocks import Column, Fixpoint, Input, Join, joins

VALUES = {"int": (0, 1, 2, None), "string": ("x", "y", None)}


@pytest.fixture(scope="module")
def engine():
    """Random rows with counts in every table of random_views.py."""
    pick = Random(7)
    with duckdb.connect() as connection:
        for name, columns in TABLES.items():
            kinds = ", ".join(f"{quoted(c)} {duck_type(kind)}" for c, kind in columns)
            connection.execute(f"CREATE TABLE {quoted(name)} ({kinds}, {COUNT} BIGINT)")
            rows = [
                (*(pick.choice(VALUES[kind]) for _, kind in columns), pick.choice([-1, 1, 2]))
                for _ in range(12)
            ]
            connection.execute(f"INSERT INTO {quoted(name)} VALUES {values(rows)}")
        yield connection


def found_joins(count):
    """The joins over base tables of so many random views."""
    features, found = accepted(), []
    for seed in range(count):
        try:
            (definition,) = defined(TABLES, [("v", Generator(Random(seed), features).view())])
        except ViewRefused:
            continue
        blocks = [b for b in definition.blocks if not isinstance(b, Fixpoint)]
        found += [
            join
            for block in blocks
            for join in joins(block)
            if join.inputs and all(i.relation in TABLES for i in join.inputs)
        ]
    return found


def rows(engine, tree):
    return Counter(engine.execute(text(tree)).fetchall())


def by_core(join, columns, own=None):
    """The rows of a join over its core, as a tree."""
    core = sharing.core_of(join)
    shared = state_query(sharing.core_join(core, columns), Csn(1), lambda _, name, __: name)
    own = own or sharing.over_core(join, "core", columns)
    tree = term_query(own, (Changes(0, Csn(0), Csn(1)),), lambda _, name, __: name)
    tree.find(sharing.exp.Table).replace(shared.subquery(sharing.CORE))
    return tree


def all_columns(join):
    """As many columns as anybody could share."""
    return tuple(tuple(sorted(c for c, _ in TABLES[i.relation])) for i in join.inputs)


def test_d1_a_join_is_its_core_filtered_and_projected(engine):
    checked = Counter()
    for join in found_joins(60):
        if sharing.core_of(join) is None:
            continue
        want = rows(engine, state_query(join, Csn(1), lambda _, name, __: name))
        assert rows(engine, by_core(join, all_columns(join))) == want, join
        checked[len(join.inputs)] += bool(want)
    assert checked[1] > 10 and checked[2] > 10 and checked[3] > 1, checked


def test_a_condition_that_is_left_out_is_seen(engine):
    """The check of D1 can fail."""
    wrong = 0
    for join in found_joins(25):
        if sharing.core_of(join) is None:
            continue
        own = sharing.over_core(join, "core", all_columns(join))
        if own.condition is not None:
            own = Join(own.inputs, None, own.columns, own.sign)
            want = rows(engine, state_query(join, Csn(1), lambda _, name, __: name))
            wrong += rows(engine, by_core(join, all_columns(join), own)) != want
    assert wrong > 3


def sales(alias, condition, column):
    inputs = (Input(alias, "sales", ("k", column)), Input("c", "customer", ("k",)))
    return Join(inputs, condition, (Column("x", f"`{alias}`.`{column}`", "int"),))


def test_joins_that_differ_in_filters_names_and_columns_share_a_core():
    one = sales("s", "`s`.`k` = `c`.`k` AND `s`.`a` > 1", "a")
    two = sales("t", "(`c`.`k` = `t`.`k`)", "b")
    three = sales("t", "`c`.`k` < `t`.`k`", "b")
    assert sharing.core_of(one) == sharing.core_of(two) != sharing.core_of(three)
    assert sharing.shared([one, two, three]) == {sharing.core_of(one): (("a", "b", "k"), ("k",))}
    assert sharing.shared([one, three]) == {}
    own = sharing.over_core(one, "p", (("a", "b", "k"), ("k",)))
    assert own.condition == "`_rv_core`.`_rv_0_a` > 1"
    assert own.columns == (Column("x", "`_rv_core`.`_rv_0_a`", "int"),)
    assert own.inputs[0].columns == ("_rv_0_a", "_rv_0_b", "_rv_0_k", "_rv_1_k")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a.k, b.v FROM lake.a a JOIN lake.b b ON a.k = b.k WHERE a.v > 5",
        "SELECT a.k, SUM(b.v) AS s FROM lake.a a JOIN lake.b b ON a.k = b.k GROUP BY a.k",
        "SELECT k FROM lake.a UNION ALL SELECT k FROM lake.b WHERE v > 1",
    ],
)
@pytest.mark.parametrize("apart", [True, False])
def test_the_text_of_a_step_over_changes_alone_is_that_of_every_time(sql: str, apart: bool) -> None:
    tables = dict.fromkeys(("lake.a", "lake.b"), (("k", "int"), ("v", "int")))
    (definition,) = defined(tables, [("v", sql)])
    block = definition.blocks[-1]
    over = tuple(
        sharing.over_core(join, f"_rv_product_{n}", sharing.columns_of(join))
        for n, join in enumerate(joins(block))
    )
    terms = [(join, (Changes(0, Csn(40), Csn(77)),)) for join in over]
    tree = stepped(block, "v", terms, Csn(40), lambda _, relation, __: relation, apart=apart)
    assert stepped_text(block, over, apart) == tree.sql(dialect="spark")
