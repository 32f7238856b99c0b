"""Pending rows netted on the driver: as Spark nets them, in both directions, and what is Spark's to net."""

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest
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
