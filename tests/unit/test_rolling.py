"""R1 to R3 of calculus/rolling.py: joins of random shapes, rolled through random histories.

After every step the view delta is held against a recompute, in plain Python over the recorded states, at every pair
of times up to the high-water mark. Which factors a step has is held against tests/model/rolling_model.py.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
from duck_engine import Warehouse
from hypothesis import given
from hypothesis import strategies as st
from recorded import Recorded, caught, check_timed_delta, examples, transactions
from rolling_model import Rolling
from sqlglot import exp

from rollview.calculus import rolling, steps
from rollview.calculus.terms import AsOf, Changes, Timed
from rollview.views.blocks import Column, Input, Join, Union

NAMES = ("a", "b", "c")
LINKS = {
    "=": ("=", lambda x, y: x is not None and y is not None and x == y),
    "<=>": ("<=>", lambda x, y: x == y),
    "<": ("<", lambda x, y: x is not None and y is not None and x < y),
    "cross": (None, lambda x, y: True),
}


@dataclass(frozen=True)
class Chain:
    """A join of a chain of relations (by number), each linked with the next: r of one, l of the next."""

    relations: tuple[int, ...]
    links: tuple[str, ...]

    def block(self) -> Join:
        """The join as the product knows it."""
        aliases = [f"i{k}" for k in range(len(self.relations))]
        conditions = [
            f"`{left}`.`r` {LINKS[link][0]} `{right}`.`l`"
            for left, right, link in zip(aliases, aliases[1:], self.links, strict=False)
            if LINKS[link][0]
        ]
        return Join(
            tuple(
                Input(alias, NAMES[relation], ("l", "r"))
                for alias, relation in zip(aliases, self.relations, strict=True)
            ),
            " AND ".join(conditions) or None,
            (Column("l", "`i0`.`l`", "BIGINT"), Column("r", f"`{aliases[-1]}`.`r`", "BIGINT")),
        )

    def rows(self, state: dict[str, Counter]) -> Counter:
        """The join in plain Python."""
        partial = Counter(state[NAMES[self.relations[0]]])
        for relation, link in zip(self.relations[1:], self.links, strict=True):
            longer: Counter = Counter()
            for (first, last), count in partial.items():
                for (left, right), copies in state[NAMES[relation]].items():
                    if LINKS[link][1](last, left):
                        longer[first, right] += count * copies
            partial = longer
        return partial


@st.composite
def chains(draw, fewest=2):
    length = draw(st.integers(fewest, 4))
    relations = draw(st.tuples(*[st.integers(0, len(NAMES) - 1)] * length))
    links = draw(st.tuples(*[st.sampled_from(["=", "=", "<=>", "<", "cross"])] * (length - 1)))
    return Chain(relations, links)


PARTS = st.one_of(
    st.lists(chains(), min_size=1, max_size=1), st.lists(chains(1), min_size=2, max_size=2)
)
ADVANCES = st.lists(
    st.tuples(st.integers(0, 7), st.integers(1, 4)), min_size=1, max_size=4
)  # (input, width)
TURNS = st.lists(st.one_of(transactions(len(NAMES)), ADVANCES.map(tuple)), min_size=4, max_size=16)
EARLIER = st.lists(transactions(len(NAMES)), max_size=4)


def check_history(parts, earlier, turns):
    """Roll the union of joins through the turns: lists are transactions, tuples are steps."""
    recorded = Recorded(NAMES)
    cache = {}

    def view(time):
        if time not in cache:
            cache[time] = sum((part.rows(recorded.states[time]) for part in parts), Counter())
        return cache[time]

    with Warehouse() as warehouse:
        for name in NAMES:
            warehouse.add_source(name, {"l": "BIGINT", "r": "BIGINT"})
        for transaction in earlier:
            warehouse.commit(recorded.commit(transaction))
        start = recorded.now
        block = Union(tuple(part.block() for part in parts))
        table = warehouse.build("v", block, start)
        assert warehouse.visible("v", start) == view(start)
        for turn in [*turns, tuple((k, 99) for k in range(8))]:
            if isinstance(turn, list):
                warehouse.commit(recorded.commit(turn))
                continue
            warehouse.step("v", targets(table.frontier, turn, recorded.now))
            delta = [(c.stamp, c.count, c.row) for c in warehouse.changes("v", start, table.mark)]
            check_timed_delta(view, delta, start, table.mark)
        assert table.mark == recorded.now


def targets(frontier, advances, now):
    """Inputs and times of a step from (input, width); a width counts from where the input then is."""
    at, wanted = list(frontier), []
    for k, width in advances:
        k %= len(at)
        at[k] = min(at[k] + width, now)
        wanted.append((k, at[k]))
    return wanted


@examples(40)
@given(PARTS, EARLIER, TURNS)
def test_r1_the_view_delta_is_complete_up_to_the_high_water_mark(parts, earlier, turns):
    check_history(parts, earlier, turns)


# --- R2: the terms are those of the model


class ReadsOfAStep:
    """Stands for the model's Reader and its database: writes down what a step of the model reads."""

    def __init__(self):
        self.db, self.reads = self, []

    def changes(self, relation, lo, hi):
        self.reads.append(Changes(relation, lo, hi))
        return []

    def at(self, relation, time):
        self.reads.append(AsOf(relation, time))
        return []

    def timed(self, relation, lo, hi):
        self.reads.append(Timed(relation, lo, hi))
        return []


TIMES = st.integers(0, 12)
FRONTIERS = st.lists(TIMES, min_size=1, max_size=5).map(tuple)


def model_term(frontier, relation, to):
    reads = ReadsOfAStep()
    model = Rolling(reads, len(frontier), 0)
    model.frontier = list(frontier)
    model.step(relation, to)
    assert model.frontier == list(rolling.advanced(frontier, relation, to))
    assert model.high_water_mark == rolling.high_water_mark(model.frontier)
    return tuple(reads.reads)


@examples(200)
@given(FRONTIERS, st.integers(0, 4), st.integers(0, 6))
def test_r2_a_step_has_the_factors_of_the_model(frontier, relation, width):
    relation %= len(frontier)
    to = frontier[relation] + width
    assert rolling.forward_term(frontier, relation, to) == model_term(frontier, relation, to)


# --- R3: several steps as one query are the same steps one by one


@examples(200)
@given(FRONTIERS, st.lists(st.tuples(st.integers(0, 4), TIMES, st.booleans()), max_size=6))
def test_r3_advances_are_the_steps_one_by_one(frontier, wanted):
    wanted = [(k % len(frontier), to, changed) for k, to, changed in wanted]
    plan = rolling.advances(frontier, [w[:2] for w in wanted], [w[2] for w in wanted])
    expected = []
    for relation, to, changed in wanted:
        if to > frontier[relation]:
            term = model_term(frontier, relation, to) if changed else None
            expected.append(rolling.Advance(relation, to, term))
            frontier = rolling.advanced(frontier, relation, to)
    assert list(plan) == expected


def test_a_frontier_never_goes_back():
    with pytest.raises(AssertionError, match="never goes back"):
        rolling.advanced((3, 5), 1, 4)


@examples(200)
@given(st.integers(1, 10**7), st.integers(0, 10**7), st.floats(0, 10**4), st.floats(0.1, 100))
def test_a_width_moves_towards_its_goal_by_a_factor_of_four_at_most(width, rows, seconds, goal):
    after = rolling.next_width(width, rows, seconds, goal)
    assert max(1, width // 4) <= after <= 4 * width
    if rows >= width and seconds > goal:
        assert after <= width
    if seconds <= goal:
        assert after >= width


# --- sabotage: each of these must be seen


def test_sabotage_the_earliest_stamp_wins(monkeypatch):
    def earliest(node):
        if not isinstance(node, exp.Greatest):
            return node
        stamps = [exp.func("NULLIF", stamp, exp.Literal.number(0))
                  for stamp in (node.this, *node.expressions)]  # fmt: skip
        return exp.Least(this=stamps[0], expressions=stamps[1:], ignore_nulls=True)

    right = steps.term_query
    monkeypatch.setattr(steps, "term_query", lambda *a: right(*a).transform(earliest))
    assert caught(check_history, PARTS, EARLIER, TURNS)


def test_sabotage_a_timed_factor_is_read_as_of_its_frontier(monkeypatch):
    right = rolling.forward_term

    def without_stamps(*step):
        return tuple(AsOf(f.input, f.at) if isinstance(f, Timed) else f for f in right(*step))

    monkeypatch.setattr(rolling, "forward_term", without_stamps)
    assert caught(check_history, PARTS, EARLIER, TURNS)


def test_sabotage_others_are_read_at_the_old_time(monkeypatch):
    right = rolling.forward_term

    def too_early(*step):
        return tuple(AsOf(f.input, f.lo) if isinstance(f, Timed) else f for f in right(*step))

    monkeypatch.setattr(rolling, "forward_term", too_early)
    assert caught(check_history, PARTS, EARLIER, TURNS)


def test_sabotage_all_advances_of_a_query_start_from_the_same_frontier(monkeypatch):
    monkeypatch.setattr(steps, "advances", lambda frontier, wanted, changed: tuple(
        rolling.Advance(k, to, rolling.forward_term(frontier, k, to))
        for k, to in dict(wanted).items() if to > frontier[k]))  # fmt: skip
    assert caught(check_history, PARTS, EARLIER, TURNS)


def test_sabotage_the_product_of_the_counts_is_dropped(monkeypatch):
    def first_count(node):
        return node.find(exp.Column) if isinstance(node, exp.Mul) else node

    right = steps.term_query
    monkeypatch.setattr(steps, "term_query", lambda *a: right(*a).transform(first_count))
    assert caught(check_history, PARTS, EARLIER, TURNS)
