"""The golden suites can fail: for each kind of Reduce the product is broken in one place, and a case must see it.

A mutant is killed by a case whose rows differ from the recompute; a query that cannot run does not count.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import duck_engine
import pytest
from golden.test_golden import CASES, check_random, check_written
from sqlglot import exp

from rollview.calculus import bags, fixpoint, queries, rolled, steps
from rollview.calculus.terms import AsOf, Changes
from rollview.changes import COUNT, Csn
from rollview.errors import QueryFailed
from rollview.views import outer, sets
from rollview.views.blocks import Reduce

pytestmark = (
    pytest.mark.slow
)  # tests/unit breaks the calculus in every run; here every kind of block, one by one

KINDS = {
    "count": ("distinct_rows", "distinct_column"),
    "sums": ("sum_avg", "group_by_join", "count_global"),
    "bag": ("min_max", "count_distinct_two", "median"),
    "window": ("row_number", "window_total", "lag_lead"),
    "top n": ("top_n", "top_n_offset"),
    "outer join": ("left_join_equal", "right_join_less", "full_join_equal"),
    "semi join": ("semi_join", "in_subquery", "exists_correlated"),
    "anti join": ("anti_join_less", "not_exists", "not_in"),
    "scalar": ("scalar_in_select", "scalar_correlated_count"),
    "sets": ("except_all", "except", "intersect_all", "intersect"),
    "grouping sets": ("rollup", "cube"),
    "union": ("recursive_detour", "recursive_reinserted", "recursive_cycles"),
    "union all": ("recursive_paths", "recursive_parts"),
}
COUNTED = ("outer join", "semi join", "anti join", "scalar", "sets", "grouping sets")
"""Kinds that come down to counts and sums."""
SEEDS = tuple(range(1, 17))
FEW_LEVELS = 9
"""More than the cases have; a mutant may go on for ever."""


@pytest.fixture(autouse=True)
def few_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MOST_LEVELS", "MOST_LEVELS_OF_ALL"):
        monkeypatch.setattr(fixpoint, limit, FEW_LEVELS)


def killed(kind: str, seeds: tuple[int, ...] = SEEDS) -> bool:
    """Whether a case of the kind shows other rows than its recompute."""
    return any(_differs(name, seeds) for name in KINDS[kind])


def _differs(name: str, seeds: tuple[int, ...]) -> bool:
    case = CASES[name]
    checks: list[Any] = [lambda: check_written(case)]
    checks += [lambda seed=seed: check_random(case, seed) for seed in seeds]
    for check in checks:
        try:
            check()
        except AssertionError as error:
            if "missing" in str(error):
                return True
        except QueryFailed:  # a recursion that does not end any more: no rows to compare
            continue
    return False


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_reported_where_nothing_is_broken(kind: str) -> None:
    assert not killed(kind, SEEDS[:1])


@pytest.mark.parametrize("kind", ["count", "sums", *COUNTED])
def test_the_memory_of_sums_is_not_updated(kind: str, sabotage: pytest.MonkeyPatch) -> None:
    """What is shown comes from the folded rows alone."""
    right = rolled.state

    def folded(block: Any, span: rolled.Window, taken: bool) -> exp.Query:
        return right(block, rolled.Window(()) if isinstance(block, Reduce) else span, taken)

    sabotage.setattr(rolled, "state", folded)
    assert killed(kind)


@pytest.mark.parametrize("kind", ["bag", "window", "top n"])
def test_the_memory_of_bags_is_not_updated(kind: str, sabotage: pytest.MonkeyPatch) -> None:
    """The bags are read as of one transaction earlier."""
    right = steps.state_query

    def earlier(join: Any, at: Csn, leaf_name: Any) -> exp.Select:
        return right(join, Csn(max(0, at - 1)), leaf_name)

    sabotage.setattr(steps, "state_query", earlier)
    assert killed(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_stamps_are_those_of_the_steps_end(kind: str, sabotage: pytest.MonkeyPatch) -> None:
    """Every change of a step appears at its end: right there, wrong on the way."""

    def late(join: Any, term: Any, leaf_name: Any) -> exp.Select:
        end = max(f.hi for f in term if isinstance(f, Changes))
        return queries._product(join, term, leaf_name, queries.bigint(end))

    sabotage.setattr(steps, "term_query", late)
    sabotage.setattr(fixpoint, "term_query", late)
    assert killed(kind)


@pytest.mark.parametrize(
    "kind", ["count", "sums", "sets", "grouping sets", "bag", "window", "union"]
)
def test_the_group_of_null_is_dropped(kind: str, sabotage: pytest.MonkeyPatch) -> None:
    """Keys are compared by =, so that NULL is never found again."""
    for module in (rolled, bags, fixpoint):
        sabotage.setattr(module, "exp", _NoNullSafeEquality(module.exp))
    assert killed(kind)


class _NoNullSafeEquality:
    """sqlglot's expressions, in which <=> is =."""

    def __init__(self, right: Any) -> None:
        self.right = right

    def __getattr__(self, name: str) -> Any:
        return self.right.EQ if name == "NullSafeEQ" else getattr(self.right, name)


@pytest.mark.parametrize("kind", ["window", "top n"])
def test_ties_are_broken_the_other_way(kind: str, sabotage: pytest.MonkeyPatch) -> None:
    """Every order of a block is turned around."""
    right = bags.block_expression

    def turned(text: str) -> exp.Expr:
        tree = right(text)
        for ordered in tree.find_all(exp.Ordered):
            ordered.set("desc", not ordered.args.get("desc"))
            ordered.set("nulls_first", not ordered.args.get("nulls_first"))
        return tree

    sabotage.setattr(bags, "block_expression", turned)
    assert killed(kind)


@pytest.mark.parametrize("kind", ["union", "union all"])
def test_the_memory_of_a_recursion_is_not_updated(kind: str, sabotage: pytest.MonkeyPatch) -> None:
    """The recursion reads itself as of one transaction earlier."""
    right = fixpoint.stepped_levels

    def earlier(block: Any, name: str, terms: Any, lo: Csn, leaf_name: Any, recursion: Any) -> Any:
        def leaf(factor: Any, relation: str, columns: Any) -> str:
            own = relation == name and isinstance(factor, AsOf) and factor.at > 1
            return leaf_name(AsOf(0, Csn(factor.at - 1)) if own else factor, relation, columns)

        return right(block, name, terms, lo, leaf, recursion)

    sabotage.setattr(duck_engine.fixpoint, "stepped_levels", earlier)
    assert killed(kind)


def test_other_ways_to_a_row_are_forgotten(sabotage: pytest.MonkeyPatch) -> None:
    """What had arrived before is not read again: nothing is left when one arrival goes."""
    right = fixpoint._remembered
    sabotage.setattr(fixpoint, "_remembered", lambda *details: right(*details).having("1 = 0"))
    assert killed("union")


def test_the_next_level_does_not_take_over(sabotage: pytest.MonkeyPatch) -> None:
    """A row that loses its first level is not looked for at later ones."""
    right = fixpoint._levels_of

    def seeds_only(name: str, above: int = -1) -> exp.Select:
        return right(name, above).where("1 = 0") if above >= 0 else right(name, above)

    sabotage.setattr(fixpoint, "_levels_of", seeds_only)
    assert killed("union")


def test_a_row_holds_itself_up(sabotage: pytest.MonkeyPatch) -> None:
    """A row is shown as long as it arrives at all, so that a cycle keeps its rows."""
    right = fixpoint._first

    def anywhere(block: Any, level: int, *kept: Any) -> exp.Query:
        earlier = exp.Literal.number(0)
        tree = right(block, level, *kept)
        for node in list(tree.find_all(exp.LT)):
            if node.expression == exp.Literal.number(level):
                node.replace(exp.GT(this=node.this.copy(), expression=earlier.copy()))
        return tree

    sabotage.setattr(fixpoint, "_first", anywhere)
    assert killed("union")


@pytest.mark.parametrize("kind", ["union", "union all"])
def test_what_goes_is_not_followed(kind: str, sabotage: pytest.MonkeyPatch) -> None:
    """Rows that are taken away take nothing with them at the next level."""
    right = fixpoint._looped

    def added_only(*details: Any) -> Any:
        looped = right(*details)
        return lambda changed: (
            exp.select("*").from_(looped(changed).subquery("x")).where("_rv_count > 0")
        )

    sabotage.setattr(fixpoint, "_looped", added_only)
    assert killed(kind)


@pytest.mark.parametrize("kind", ["outer join", "anti join", "scalar"])
def test_what_is_taken_away_is_added(kind: str, sabotage: pytest.MonkeyPatch) -> None:
    """The sign of a part is lost in steps: rows with a match are padded, or kept, once more."""
    right = steps.term_query
    sabotage.setattr(steps, "term_query", lambda join, *more: right(replace(join, sign=1), *more))
    assert killed(kind)


@pytest.mark.parametrize("kind", ["outer join", "anti join", "scalar"])
def test_rows_with_a_match_are_not_taken_away(kind: str, sabotage: pytest.MonkeyPatch) -> None:
    """All left rows are padded, or kept, whether they have a match or not."""

    def every_row(draft: Any, left: Any, found: Any) -> Any:
        return outer.parts_of(draft, left, (), outer.columns_of(left.refs))

    sabotage.setattr(outer, "_unmatched", every_row)
    assert killed(kind)


@pytest.mark.parametrize("kind", ["outer join", "semi join", "anti join"])
def test_a_match_counts_as_often_as_it_is_there(kind: str, sabotage: pytest.MonkeyPatch) -> None:
    """What has a match is not made distinct: a row with two matches is there, or goes, twice."""
    right = outer.distinct

    def as_often(draft: Any, rows: Any, outputs: Any) -> Any:
        block, sql = right(draft, rows, outputs)
        return replace(block, copies=f"`{COUNT}`"), sql

    sabotage.setattr(outer, "distinct", as_often)
    assert killed(kind)


@pytest.mark.parametrize("kind", ["outer join", "semi join", "anti join", "scalar"])
def test_the_earlier_stamp_wins(kind: str, sabotage: pytest.MonkeyPatch) -> None:
    """A row of two changes appears with the first of them."""
    sabotage.setattr(queries, "exp", _Earliest(queries.exp))
    assert killed(kind)


class _Earliest:
    """sqlglot's expressions, in which GREATEST is the least that is a stamp at all."""

    def __init__(self, right: Any) -> None:
        self.right = right

    def __getattr__(self, name: str) -> Any:
        return self._least if name == "Greatest" else getattr(self.right, name)

    def _least(self, this: Any, expressions: Any) -> Any:
        found = this
        for stamp in expressions:
            a, b = found.sql("spark"), stamp.sql("spark")
            choice = f"CASE WHEN {a} = 0 THEN {b} WHEN {b} = 0 OR {a} < {b} THEN {a} ELSE {b} END"
            found = queries.expression(choice)
        return found


def test_both_sides_of_a_set_operation_are_the_left_one(sabotage: pytest.MonkeyPatch) -> None:
    """Every row counts for the left side."""
    right = sets._of_side
    sabotage.setattr(sets, "_of_side", lambda rows, left: right(rows, True))
    assert killed("sets")


def test_copies_of_a_set_operation_are_forgotten(sabotage: pytest.MonkeyPatch) -> None:
    """EXCEPT ALL and INTERSECT ALL show a row once."""
    right = sets.Reduce
    sabotage.setattr(sets, "Reduce", lambda *parts: right(*parts[:-1]))
    assert killed("sets")
