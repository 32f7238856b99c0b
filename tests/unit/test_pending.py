"""Pending rows netted on the driver: as Spark nets them, in both directions, and what is Spark's to net."""

import datetime as dt
import math
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pyarrow import parquet

from rollview.calculus.rolled import Window
from rollview.changes import COUNT, STAMP, Csn
from rollview.ledger.rows import Step
from rollview.spark import pending

COLUMNS = [
    ("k", "bigint"),
    ("f", "double"),
    ("g", "float"),
    ("d", "decimal(10,2)"),
    ("s", "string"),
]
TYPES = [pa.int64(), pa.float64(), pa.float32(), pa.decimal128(10, 2), pa.string()]
ODD_NAN = -math.nan


def step(folder, number, rows):
    """A step of (stamp, count, row)s."""
    data = [[row[n] for _, _, row in rows] for n in range(len(COLUMNS))]
    named = {name: pa.array(v, t) for (name, _), v, t in zip(COLUMNS, data, TYPES, strict=True)}
    named[STAMP] = pa.array([stamp for stamp, *_ in rows], pa.int64())
    named[COUNT] = pa.array([count for _, count, _ in rows], pa.int64())
    place = folder / f"s{number}"
    place.mkdir()
    parquet.write_table(pa.table(named), place / "part-0.parquet")
    stamps = [stamp for stamp, *_ in rows]
    return Step(
        id=f"s{number}", block="v", folder=f"s{number}", lo=Csn(min(stamps)), hi=Csn(max(stamps)),
        rows=len(rows), taken=0, bytes=0, committed_at=dt.datetime(2026, 1, 1),
    )  # fmt: skip


def row(k, f=1.0, g=1.0, d="1.00", s="x"):
    return (k, f, g, None if d is None else Decimal(d), s)


def found(folder, steps, lo, hi, sign=1, columns=COLUMNS):
    patch = pending.patch(folder, steps, Window(((None, Csn(lo), Csn(hi), sign),)), columns)
    if patch is None:
        return None
    return tuple([_shown(row) for row in side.to_pylist()] for side in (patch.taken, patch.added))


def _shown(row):
    return tuple(repr(v) if isinstance(v, float) else v for v in row.values())


def test_z2_values_that_spark_takes_for_equal_cancel(tmp_path):
    steps = [
        step(tmp_path, 1, [
            (1, 1, row(1, 0.0)), (1, 1, row(2, math.nan, math.nan)), (1, 1, row(None, None, None, None, None)),
            (1, 2, row(3)), (1, 1, row(4)),
        ]),
        step(tmp_path, 2, [
            (2, -1, row(1, -0.0)), (2, -1, row(2, ODD_NAN, ODD_NAN)), (2, -1, row(None, None, None, None, None)),
            (2, -1, row(5, -0.0, -0.0)), (3, 1, row(6)),
        ]),
    ]  # fmt: skip
    taken, added = found(tmp_path, steps, 0, 2)
    assert taken == [(5, "0.0", "0.0", Decimal("1.00"), "x")]
    assert [key for key, *_ in added] == [3, 3, 4]
    assert found(tmp_path, steps, 0, 2, sign=-1) == (added, taken), "rolled back"


def test_z2_bits_that_differ_do_not_cancel_unless_they_are_made_equal(tmp_path, monkeypatch):
    monkeypatch.setattr(pending, "_bits", lambda values, kind: values.combine_chunks().view(kind))
    both = [(1, 1, row(1, 0.0)), (2, -1, row(1, -0.0))]
    taken, added = found(tmp_path, [step(tmp_path, 1, both)], 0, 2)
    assert taken and added


def test_nothing_in_the_interval_is_no_row(tmp_path):
    assert found(tmp_path, [step(tmp_path, 1, [(1, 1, row(1))])], 1, 5) == ([], [])


@pytest.mark.parametrize("kind", ["array<int>", "string collate UTF8_LCASE", "timestamp_ntz"])
def test_other_types_are_netted_by_spark(tmp_path, kind):
    columns = [*COLUMNS[:-1], ("s", kind)]
    assert found(tmp_path, [step(tmp_path, 1, [(1, 1, row(1))])], 0, 1, columns=columns) is None


def test_many_rows_are_netted_by_spark(tmp_path, monkeypatch):
    monkeypatch.setattr(pending, "MOST_PENDING", 1)
    steps = [step(tmp_path, n, [(n, 1, row(n))]) for n in (1, 2)]
    assert found(tmp_path, steps, 0, 2) is None
    assert found(tmp_path, steps[:1], 0, 1) is not None


def test_buckets_of_different_times_are_netted_by_spark(tmp_path):
    span = Window((((0,), Csn(0), Csn(1), 1), ((1,), Csn(0), Csn(2), 1)))
    assert pending.patch(tmp_path, [step(tmp_path, 1, [(1, 1, row(1))])], span, COLUMNS) is None


def unseen(folder, steps, lo, hi, sign=1, telling=("k", "f", "g", "d", "s")):
    span = Window(((None, Csn(lo), Csn(hi), sign),))
    rows = pending.unseen(folder, steps, span, COLUMNS, telling)
    return None if rows is None else [_plain(row.values()) for row in rows.to_pylist()]


def _plain(values):
    """Values as Spark compares them: NULL is NULL, NaN is NaN, -0.0 is 0.0."""
    return tuple(repr(v + 0.0) if isinstance(v, float) else v for v in values)


VALUES = st.builds(
    row, st.sampled_from([1, 2, None]), st.sampled_from([0.0, -0.0, math.nan, ODD_NAN, None])
)
LOG = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from([1, 1, 1, -1, -1, 2]), VALUES), max_size=7
)


def told_by(telling):
    """The values of a plain row that tell it apart, in the order of the columns."""
    names = [name for name, _ in COLUMNS]
    return lambda r: tuple(r[n] for n in range(len(names)) if names[n] in telling)


def shown(folded, log, hidden, lo, hi, told):
    """What a reader of both shows."""
    old = [r for r in folded if (*told(r), None) not in hidden]
    came = [(r, stamp) for stamp, count, r in log if count > 0 and lo < stamp <= hi]
    return Counter(old + [r for r, stamp in came if (*told(r), stamp) not in hidden])


@given(LOG, st.integers(0, 2), st.integers(2, 4), st.sampled_from(["k", "f", "fk", "kfgds"]))
@example([(1, 1, row(1, 0.0)), (2, -1, row(1, 0.0)), (1, 1, row(1, None))], 0, 2, "k")
def test_z3_what_is_seen_of_folded_rows_and_log_is_their_sum(log, lo, hi, telling):
    with tempfile.TemporaryDirectory() as folder:
        steps = [step(Path(folder), 1, log)] if log else []
        hidden = unseen(Path(folder), steps, lo, hi, telling=list(telling))
    told = told_by(telling)
    plain = [(stamp, count, _plain(r)) for stamp, count, r in log]
    net = Counter()
    for stamp, count, r in plain:
        if lo < stamp <= hi:
            net[r] += count
    folded = [_plain(row(9, 9.0)), *(r for r, count in net.items() if count < 0)]
    assume(len({*map(told, folded)}) == len(folded))
    if hidden is None:
        within = [(stamp, count, r) for stamp, count, r in plain if lo < stamp <= hi and count > 0]
        twice = Counter((stamp, told(r)) for stamp, _, r in within)
        assert any(c > 1 for _, c, _ in within) or max([*net.values(), *twice.values()]) > 1
    else:
        want = Counter({r: max(0, net[r] + folded.count(r)) for r in {*net, *folded}})
        assert shown(folded, plain, hidden, lo, hi, told) == +want


def test_z3_the_last_of_several_stays(tmp_path, monkeypatch):
    log = [
        (1, 1, row(1)),
        (2, -1, row(1)),
        (3, 1, row(1)),
        (3, -1, row(2)),
        (2, 1, row(3)),
        (3, -1, row(3)),
    ]
    steps = [step(tmp_path, 1, log)]
    assert sorted(unseen(tmp_path, steps, 0, 3), key=repr) == [
        (*_plain(row(1)), 1), (*_plain(row(2)), None), (*_plain(row(3)), 2)]  # fmt: skip
    assert sorted(unseen(tmp_path, steps, 0, 3, telling=["k"]), key=repr) == [
        (1, 1), (2, None), (3, 2)]  # fmt: skip
    monkeypatch.setattr(pending, "_in_vain", lambda added, staying, names, telling: None)
    assert unseen(tmp_path, steps, 0, 3) is None


def test_z3_rows_that_are_told_alike_do_not_hide_each_other(tmp_path):
    log = [(1, 1, row(1)), (1, 1, row(1, 2.0)), (2, -1, row(1)), (3, 1, row(2))]
    steps = [step(tmp_path, 1, log)]
    assert unseen(tmp_path, steps, 0, 2, telling=["k"]) is None
    assert unseen(tmp_path, steps, 0, 2, telling=["f", "k"]) == [(1, "1.0", 1)]
    assert unseen(tmp_path, steps, 0, 1, telling=["k"]) == []


@pytest.mark.parametrize(
    "log",
    [
        [(1, 2, row(1))],
        [(1, 1, row(1)), (2, 1, row(1))],
        [(1, 1, row(1)), (1, 1, row(1)), (2, -1, row(1))],
    ],
    ids=["two in one", "copies", "two of one stamp"],
)
def test_z3_where_it_is_not_told_which_one_stays_there_is_no_answer(tmp_path, log):
    assert unseen(tmp_path, [step(tmp_path, 1, log)], 0, 2) is None


def test_z3_backwards_there_is_no_answer(tmp_path):
    assert unseen(tmp_path, [step(tmp_path, 1, [(1, 1, row(1))])], 0, 1, sign=-1) is None
