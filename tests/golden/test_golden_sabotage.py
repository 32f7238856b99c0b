"""The golden suites can fail: for each kind of Reduce the product is broken in one place, and a case must see it.

A mutant is killed by a case whose rows differ from the recompute; a query that cannot run does not count.
"""

from __future__ import annotations

from typing import Any

import pytest
from golden.test_golden import CASES, check_random, check_written
from sqlglot import exp

from rollview.calculus import bags, queries, rolled, steps
from rollview.calculus.terms import Changes
from rollview.changes import Csn
from rollview.views.blocks import Reduce

KINDS = {
    "count": ("distinct_rows", "distinct_column"),
    "sums": ("sum_avg", "group_by_join", "count_global"),
    "bag": ("min_max", "count_distinct_two", "median"),
    "window": ("row_number", "window_total", "lag_lead"),
    "top n": ("top_n", "top_n_offset"),
}
SEEDS = (1, 2, 3)


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
    return False


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_reported_where_nothing_is_broken(kind: str) -> None:
    assert not killed(kind, SEEDS[:1])


@pytest.mark.parametrize("kind", ["count", "sums"])
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
    assert killed(kind)


@pytest.mark.parametrize("kind", ["count", "sums", "bag", "window"])
def test_the_group_of_null_is_dropped(kind: str, sabotage: pytest.MonkeyPatch) -> None:
    """Keys are compared by =, so that NULL is never found again."""
    for module in (rolled, bags):
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
