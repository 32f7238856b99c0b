"""S1 to S3 of calculus/rolled.py: the rolled table as trees, held against tests/model/rolled_model.py.

The same life goes to the model's table and to the product's on DuckDB: steps (some of whose changes come before their
time is complete), folds of single buckets to any kept time, reads before and after the fold times. Plain rows and a
Reduce over the same rows.
"""

from __future__ import annotations

from collections import Counter

import pytest
import rolled_model
from duck_engine import Warehouse, listed, values
from hypothesis import given
from hypothesis import strategies as st
from recorded import Recorded, caught, check_timed_delta, examples, transactions
from sqlglot import exp

from rollview.calculus import rolled
from rollview.changes import COUNT, STAMP
from rollview.views.blocks import Column, Input, Join, Reduce, Union

PLAIN = Union(
    (
        Join(
            (Input("a", "a", ("l", "r")),),
            None,
            (Column("l", "`a`.`l`", "BIGINT"), Column("r", "`a`.`r`", "BIGINT")),
        ),
    )
)
BY_KEY = Reduce(
    PLAIN,
    ("l",),
    (
        Column("total", "COALESCE(`r`, 0) * `_rv_count`", "BIGINT"),
        Column("known", "CASE WHEN `r` IS NULL THEN 0 ELSE `_rv_count` END", "BIGINT"),
    ),
    (
        Column("l", "`l`", "BIGINT"),
        Column("total", "CASE WHEN `known` > 0 THEN `total` END", "BIGINT"),
        Column("rows", "`_rv_count`", "BIGINT"),
    ),
)
NO_KEY = Reduce(PLAIN, (), BY_KEY.sums, BY_KEY.columns[1:])


def summary(row, count):
    """What a Reduce of this file adds up for a change of `row`."""
    return (row[1] or 0) * count, 0 if row[1] is None else count, count


def grouped(rows, key):
    """Key -> (total, known, rows), in plain Python."""
    groups = {}
    for row, count in rows.items():
        sums = summary(row, count)
        old = groups.get(row[:key], (0, 0, 0))
        groups[row[:key]] = tuple(a + b for a, b in zip(old, sums, strict=True))
    return groups


def shown(rows, key):
    """What a Reduce of this file shows of the rows."""
    groups = grouped(rows, key)
    if not key:
        groups = groups or {(): (0, 0, 0)}
    return Counter(
        (*k, total if known else None, count) for k, (total, known, count) in groups.items()
    )


KINDS = {"plain": (PLAIN, 2), "by key": (BY_KEY, 1), "no key": (NO_KEY, 0)}
PART = st.integers(0, 10)
"""A time as tenths of the mark."""
LIVES = st.tuples(
    st.lists(transactions(1), min_size=2, max_size=8),
    st.lists(
        st.tuples(
            st.integers(1, 4),  # how far the mark moves
            st.integers(0, 2**12 - 1),  # which of the later changes come early
            st.lists(st.tuples(st.integers(0, rolled_model.BUCKETS - 1), PART), max_size=2),
            PART,  # where to read
        ),
        min_size=1,
        max_size=3,
    ),
    st.booleans(),  # every step is said to take rows away
)


def check_life(kind, life):
    """Live the life in the model and on DuckDB; a read after every step, and at the end at every time."""
    block, key = KINDS[kind]
    transactions_, steps, cautious = life
    recorded, log = Recorded(["a"]), []
    for transaction in transactions_:
        changes = recorded.commit(transaction)["a"]
        log += [(recorded.now, count, row) for count, row in changes]
    model = rolled_model.RolledTable()
    with Warehouse() as warehouse:
        warehouse.add_source("a", {"l": "BIGINT", "r": "BIGINT"})
        table = warehouse.build("v", block, 0, rolled_model.BUCKETS, cautious)
        for number, (width, early, folds, part) in enumerate(steps):
            mark = min(recorded.now, table.mark + width)
            due = [c[0] <= mark or early >> (k % 12) & 1 for k, c in enumerate(log)]
            step = [c for c, now in zip(log, due, strict=True) if now]
            log = [c for c, now in zip(log, due, strict=True) if not now]
            model.append(f"step {number}", step, mark)
            append(table, key, step)
            table.frontier = (mark,)
            for bucket, when in folds:
                model.fold(bucket, when * mark // 10)
                table.fold(when * mark // 10, bucket)
            check_state(warehouse, key, part * mark // 10, model)
            check_changes(warehouse, key, part * mark // 10, recorded)
        for time in range(table.mark + 1):
            assert model.at(time) == recorded.states[time]["a"], "the model lives the same life"
            check_visible(warehouse, key, time, model)


def append(table, key, step):
    """Add the changes to the log, for a Reduce as summary changes."""
    reduced = isinstance(table.block, Reduce)
    rows = [
        (*row[:key], *(summary(row, count) if reduced else (count,)), stamp)
        for stamp, count, row in step
    ]
    if rows:
        names = listed((*table.kept, COUNT, STAMP))
        table.append(f"SELECT * FROM (VALUES {values(rows)}) AS t ({names})")


def check_state(warehouse, key, time, model):
    """S1: keys, sums and counts are the model's rows at that time."""
    table, wanted = warehouse.rolled("v"), model.at(time)
    kept = listed((*table.kept, COUNT))
    state = warehouse.run(f"SELECT {kept} FROM ({table.state(time)})")
    if isinstance(table.block, Reduce):
        groups = {row[:key]: row[key:] for row in state if row[-1]}
        assert groups == grouped(wanted, key), time
    else:
        signed = warehouse.run(f"SELECT {kept} FROM ({table.signed_state(time)})")
        assert all(count > 0 for *_, count in state), time
        assert bag(state) == bag(signed) == wanted, time


def check_changes(warehouse, key, lo, recorded):
    """S3: the visible changes after `lo` are a timed delta of what is shown."""
    table = warehouse.rolled("v")
    changes = [(c.stamp, c.count, c.row) for c in warehouse.changes("v", lo, table.mark)]
    seen = shown if isinstance(table.block, Reduce) else lambda rows, key: rows
    view = {t: seen(recorded.states[t]["a"], key) for t in range(lo, table.mark + 1)}
    check_timed_delta(view.__getitem__, changes, lo, table.mark)


def check_visible(warehouse, key, time, model):
    """S1: users see the model's rows at that time."""
    reduced = isinstance(warehouse.rolled("v").block, Reduce)
    wanted = shown(model.at(time), key) if reduced else model.at(time)
    assert warehouse.visible("v", time) == wanted, time
    if not reduced:
        for telling in TELLING:
            check_told(warehouse, telling, time, wanted)


TELLING = (("l",), ("r",), ("l", "r"))


def tells(table, telling):
    """The columns differ in every folded row."""
    names = f"ROW({listed(telling)})"
    query = f"SELECT COUNT(*) = COUNT(DISTINCT {names}) FROM {table.folded}"
    return table.warehouse.run(query) == [(True,)]


def check_told(warehouse, telling, time, wanted):
    """S4: the same rows, found by columns that tell the folded ones apart."""
    table = warehouse.rolled("v")
    if tells(table, telling):
        rows = table.sql("visible", *table.pinned(time), telling)
        have = Counter(warehouse.run(f"SELECT {listed(table.kept)} FROM ({rows})"))
        assert have == wanted, (time, telling)


def bag(counted):
    total = Counter()
    for *row, count in counted:
        total[tuple(row)] += count
    return {row: count for row, count in total.items() if count}


@pytest.mark.parametrize("kind", KINDS)
def test_s1_and_s3_every_time_reads_as_in_the_model(kind):
    @examples(8)
    @given(LIVES)
    def check(life):
        check_life(kind, life)

    check()


def test_s4_columns_that_do_not_tell_rows_apart_are_no_use(monkeypatch):
    """Two folded rows differ in r alone, and one of them goes: found by l, both would."""
    turns = [[(0, None, (0, 0), 1)], [(0, None, (0, 1), 1)], [(0, 0, (9, 9), 1)]]
    folds = [(bucket, 10) for bucket in range(rolled_model.BUCKETS)]
    life = (turns, [(2, 0, folds, 0), (1, 0, [], 10)], True)
    check_life("plain", life)
    monkeypatch.setitem(globals(), "tells", lambda *_: True)
    with pytest.raises(AssertionError, match="'l'"):
        check_life("plain", life)


@pytest.mark.parametrize("kind", ["plain", "by key"])
def test_keys_that_only_look_alike_come_out_as_they_went_in(kind, monkeypatch):
    """Hashes may collide: here they all do."""
    monkeypatch.setattr(rolled, "alike", lambda *_: exp.true())

    @examples(4)
    @given(LIVES)
    def check(life):
        check_life(kind, life)

    check()


TIMES = st.integers(0, 9)


@examples(200)
@given(st.lists(TIMES, min_size=1, max_size=4), TIMES)
def test_s1_a_window_covers_what_lies_between_fold_times_and_time(fold_times, at):
    window = rolled.window(fold_times, at)
    for bucket, fold_time in enumerate(fold_times):
        for stamp in range(11):
            signs = [
                sign
                for buckets, lo, hi, sign in window.parts
                if (buckets is None or bucket in buckets) and lo < stamp <= hi
            ]
            between = fold_time < stamp <= at or at < stamp <= fold_time
            assert signs == ([1 if at >= fold_time else -1] if between else [])
    assert window.empty == (set(fold_times) == {at})
    assert window.backward == any(at < f for f in fold_times)
    if not window.empty:
        assert window.span == (min([at, *fold_times]), max([at, *fold_times]))


# --- sabotage: each of these must be seen


def any_life(kind):
    return caught(lambda life: check_life(kind, life), LIVES)


@pytest.mark.parametrize("kind", KINDS)
def test_sabotage_a_flipped_sign_in_moved(kind, sabotage):
    """Rolling back from the fold time adds what it should take away."""
    right = rolled.moved

    def forward(block, window):
        parts = tuple((buckets, lo, hi, 1) for buckets, lo, hi, _ in window.parts)
        return right(block, rolled.Window(parts))

    sabotage.setattr(rolled, "moved", forward)
    assert any_life(kind)


@pytest.mark.parametrize("kind", ["plain", "by key"])
def test_sabotage_null_keys_are_compared_with_equals(kind, sabotage):
    sabotage.setattr(rolled, "alike", lambda keys, left, right: exp.and_(*(
        exp.EQ(this=exp.column(k.name, left), expression=exp.column(k.name, right))
        for k in keys)))  # fmt: skip
    assert any_life(kind)


@pytest.mark.parametrize("kind", ["by key", "no key"])
def test_sabotage_what_was_shown_before_is_not_taken_back(kind, sabotage):
    right = rolled._side

    def only_after(block, running, lo, side):
        query = right(block, running, lo, side)
        return query.where(exp.false()) if side == "_rv_before" else query

    sabotage.setattr(rolled, "_side", only_after)
    assert any_life(kind)


def test_sabotage_rows_taken_away_are_overlooked(sabotage):
    right = rolled.visible
    sabotage.setattr(
        rolled, "visible", lambda block, window, _, *more: right(block, window, False, *more)
    )
    assert any_life("plain")
