"""Random histories, and what views over them really are: the oracle of the JVM-free tests.

O1  Nothing here uses the product. A history is recorded as plain Python bags, one per relation and time; a view is
    recomputed from them by SQL written by hand, on a DuckDB connection of its own, or in plain Python.
O2  Strategies draw plain data (lists of turns), so that a counterexample shrinks and reads as a story.
ROLLVIEW_EXAMPLES multiplies the number of examples (and then draws new ones each time).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import duckdb
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

MORE = int(os.environ.get("ROLLVIEW_EXAMPLES", "1"))
MOST_ROWS = 6
"""Rows of a relation at any time: enough for every case, few enough for a cross join of four."""

Row = tuple
State = Mapping[str, Counter]

VALUES = st.sampled_from([0, 1, None, 0, 1, None, 2])
ROWS = st.tuples(VALUES, VALUES)


def examples(count: int) -> settings:
    """Settings for a test of so many examples."""
    return settings(max_examples=count * MORE)


def transactions(relations: int) -> st.SearchStrategy:
    """What one transaction does: (relation, which present row to remove or None, row to insert, copies)."""
    removed = st.one_of(st.none(), st.integers(0, MOST_ROWS - 1))
    copies = st.sampled_from([1, 1, 1, 2])
    change = st.tuples(st.integers(0, relations - 1), removed, ROWS, copies)
    return st.lists(change, min_size=1, max_size=3)


class Recorded:
    """The states of all relations at every time, in plain Python."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.states: list[dict[str, Counter]] = [{name: Counter() for name in names}]

    @property
    def now(self) -> int:
        return len(self.states) - 1

    def commit(self, transaction: Iterable[tuple]) -> dict[str, list[tuple[int, Row]]]:
        """Record the next state; the transaction as (count, row) by relation."""
        state = {name: Counter(rows) for name, rows in self.states[-1].items()}
        changes: dict[str, list[tuple[int, Row]]] = {name: [] for name in self.names}
        for relation, removed, row, copies in transaction:
            name = self.names[relation]
            present = list(state[name].elements())
            if present and (removed is not None or len(present) + copies > MOST_ROWS):
                count, row = -1, present[(removed or 0) % len(present)]
            else:
                count = copies
            state[name][row] += count
            state[name] = +state[name]
            changes[name].append((count, row))
        self.states.append(state)
        return changes


# --- recomputing

ORACLE = duckdb.connect(":memory:", config={"threads": 1})


def recomputed(sql: str, state: State) -> Counter:
    """The rows of a hand-written query over relations `name(l, r)` that hold the given rows."""
    leaves = []
    for name, rows in state.items():
        literals = [
            "(" + ", ".join("NULL" if v is None else str(v) for v in row) + ")"
            for row in rows.elements()
        ]
        nothing = "SELECT NULL::BIGINT AS l, NULL::BIGINT AS r WHERE FALSE"
        some = f" UNION ALL VALUES {', '.join(literals)}" if literals else ""
        leaves.append(f"{name} AS ({nothing}{some})")
    return Counter(ORACLE.execute(f"WITH {', '.join(leaves)} {sql}").fetchall())


# --- comparing


def plus(state: Mapping[Row, int], changes: Iterable[tuple[int, Row]]) -> dict[Row, int]:
    """A bag after changes, without zeros; a count below zero stays, and is seen."""
    total = dict(state)
    for count, row in changes:
        total[row] = total.get(row, 0) + count
    return {row: count for row, count in total.items() if count}


def check_timed_delta(
    view: Callable[[int], Mapping[Row, int]],
    changes: Iterable[tuple[int, int, Row]],
    lo: int,
    hi: int,
) -> None:
    """view(s) + changes in (s, t] = view(t), for all lo <= s < t <= hi; changes are (stamp, count, row)."""
    at: dict[int, list[tuple[int, Row]]] = {}
    for stamp, count, row in changes:
        assert lo < stamp, ("a change that is stamped too early", stamp, lo)
        at.setdefault(stamp, []).append((count, row))
    for s in range(lo, hi):
        state = dict(view(s))
        for t in range(s + 1, hi + 1):
            state = plus(state, at.get(t, ()))
            assert state == dict(view(t)), (s, t)


def caught(check: Callable[..., None], *drawn: st.SearchStrategy, count: int = 100) -> bool:
    """The check fails in one of `count` drawn histories; without shrinking, since it is meant to."""

    @settings(max_examples=count, phases=[Phase.generate], report_multiple_bugs=False)
    @given(st.tuples(*drawn))
    def attempt(history: tuple) -> None:
        check(*history)

    try:
        attempt()
    except AssertionError:
        return True
    return False
