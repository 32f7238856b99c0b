"""The pending rows of a rolled table on the driver: few rows of few files, read and netted without a Spark job.

Z2  What is netted here is what Spark nets of the same rows: NULLs are alike, NaNs too, and -0.0 is 0.0. None where
    that takes more than comparing values: nested types, strings with a collation, buckets of different fold times.
Knows files of steps, and no table. When rows are fetched by keys: fetched_rolled.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from rollview.calculus.rolled import Window
from rollview.changes import COUNT, STAMP, Csn
from rollview.ledger.store import Step
from rollview.sources.delta_lake.direct import Occurrence
from rollview.sources.delta_lake.fetched import whole
from rollview.sources.delta_lake.named_rows import Stored
from rollview.spark.added import KEYS

MOST_PENDING = 20_000
"""Rows of a log that are netted for a reader: with more, Spark is as soon done with them."""

FLOATS = {"float": pa.int32(), "double": pa.int64()}
"""Types that are compared by their bits, once equal values have equal ones."""

Columns = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Patch:
    """What leads from the folded rows to a time: rows that go, and rows that come, each as often as it does."""

    taken: pa.Table
    added: pa.Table


def log_rows(
    warehouse: Path, steps: Sequence[Step], columns: Columns, most: int
) -> pa.Table | None:
    """The rows of the steps: the columns, stamp and count; None if they are more, or Spark's to read."""
    if sum(step.rows for step in steps) > most:
        return None
    files = [
        Occurrence(str(file), 0, 1, ())
        for step in steps
        for file in sorted((warehouse / step.folder).glob("*.parquet"))
    ]
    return whole(Stored(files), [*columns, (STAMP, "bigint"), (COUNT, "bigint")])


def within(rows: pa.Table, lo: Csn, hi: Csn) -> pa.Table:
    """The rows with a stamp in (lo, hi]."""
    stamp = rows.column(STAMP)
    return rows.filter(pc.and_(pc.greater(stamp, lo), pc.less_equal(stamp, hi)))


def one_interval(span: Window) -> bool:
    """All buckets are to be moved alike, or not at all."""
    return all(buckets is None for buckets, *_ in span.parts)


def patch(warehouse: Path, steps: Sequence[Step], span: Window, columns: Columns) -> Patch | None:
    """The net effect of the steps in the window (Z2)."""
    plain = all(
        kind in KEYS or kind in FLOATS or kind.startswith("decimal(") for _, kind in columns
    )
    if span.empty or not (plain and one_interval(span)):
        return None
    log = log_rows(warehouse, steps, columns, MOST_PENDING)
    if log is None:
        return None
    ((_, lo, hi, sign),) = span.parts
    net = _netted(within(log, lo, hi), columns)
    counts = [sign * count for count in net.column(COUNT).to_pylist()]
    rows = net.drop_columns([COUNT])
    return Patch(_repeated(rows, [-count for count in counts]), _repeated(rows, counts))


def _netted(rows: pa.Table, columns: Columns) -> pa.Table:
    """One row for each that differs, with the sum of its counts."""
    names = [name for name, _ in columns]
    found = rows.combine_chunks()
    for n, (name, kind) in enumerate(columns):
        if kind in FLOATS:
            found = found.set_column(n, name, _bits(found.column(name), FLOATS[kind]))
    found = found.group_by(names, use_threads=False).aggregate([(COUNT, "sum")])
    found = found.select([*names, f"{COUNT}_sum"]).rename_columns([*names, COUNT]).combine_chunks()
    for n, (name, kind) in enumerate(columns):
        if kind in FLOATS:
            bits = found.column(name).combine_chunks()
            found = found.set_column(n, name, bits.view(rows.schema.field(name).type))
    return found


def _bits(values: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    zero = pc.add(values, pa.scalar(0.0, values.type))  # -0.0 + 0.0 is 0.0
    one = pc.if_else(pc.is_nan(zero), pa.scalar(float("nan"), values.type), zero)
    return one.combine_chunks().view(kind)


def _repeated(rows: pa.Table, counts: Sequence[int]) -> pa.Table:
    """Each row as often as its count says; not at all if that is below zero."""
    return rows.take(
        [n for n, count in enumerate(counts) for _ in range(count)] or pa.array([], pa.int64())
    )
