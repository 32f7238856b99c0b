"""The pending rows of a rolled table on the driver: few rows of few files, read and netted without a Spark job.

Z2  What is netted here is what Spark nets of the same rows: NULLs are alike, NaNs too, and -0.0 is 0.0. None where
    that takes more than comparing values: nested types, strings with a collation, buckets of different fold times.
Z3  Where the log's own rows are read beside the folded ones, each row that is not to be seen is named by what tells
    folded rows apart; one of the log by its stamp too. None where that does not tell which of several is meant.
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
    log = _log_in(warehouse, steps, span, columns)
    if log is None:
        return None
    sign = span.parts[0][3]
    net = _values(_netted(log, columns), log.schema, columns)
    counts = [sign * count for count in net.column(COUNT).to_pylist()]
    rows = net.drop_columns([COUNT])
    return Patch(_repeated(rows, [-count for count in counts]), _repeated(rows, counts))


def unseen(
    warehouse: Path, steps: Sequence[Step], span: Window, columns: Columns, telling: Sequence[str]
) -> pa.Table | None:
    """What readers of folded rows and log in one do not show: a folded row has no stamp, one of the log its own (Z3).

    Rows of the log that take others away are not among them: no reader shows those. None also where copies are added.
    """
    log = None if span.backward else _log_in(warehouse, steps, span, columns)
    if log is None:
        return None
    told = [c for c in columns if c[0] in telling]
    keys = [name for name, _ in told]
    net = _netted(log, columns)
    if any(pc.any(pc.greater(rows.column(COUNT), 1)).as_py() for rows in (log, net)):
        return None
    taken = net.filter(pc.less(net.column(COUNT), 0)).select(keys)
    taken = taken.append_column(STAMP, pa.nulls(taken.num_rows, pa.int64()))
    added = log.filter(pc.greater(log.column(COUNT), 0))
    staying = net.filter(pc.greater(net.column(COUNT), 0))
    if added.num_rows > staying.num_rows:
        names = [name for name, _ in columns]
        in_vain = _in_vain(_comparable(added, columns), staying, names, keys)
        if in_vain is None:
            return None
        taken = pa.concat_tables([taken, in_vain])
    return _values(taken, log.schema, told)


def _in_vain(
    added: pa.Table, staying: pa.Table, names: Sequence[str], telling: Sequence[str]
) -> pa.Table | None:
    """The added rows but for the last of each row that stays; None if one that stays is told by the same columns."""

    def counted(rows: pa.Table, count: int) -> pa.Table:
        counts = pa.repeat(pa.scalar(count, pa.int64()), rows.num_rows)
        return rows.select([*names, STAMP]).append_column(COUNT, counts)

    def added_up(
        parts: Sequence[pa.Table], keys: Sequence[str], *what: tuple[str, str]
    ) -> pa.Table:
        rows = pa.concat_tables(parts).combine_chunks()
        return rows.group_by(keys, use_threads=False).aggregate([*what, (COUNT, "sum")])

    marked = staying.append_column(STAMP, pa.nulls(staying.num_rows, pa.int64()))
    last = added_up([counted(added, 0), counted(marked, 1)], names, (STAMP, "max"))
    last = last.filter(pc.equal(last.column(f"{COUNT}_sum"), 1))
    last = last.select([*names, f"{STAMP}_max"]).rename_columns([*names, STAMP])
    keys = [*telling, STAMP]
    left = added_up([counted(added, 1), counted(last, -1)], keys, (COUNT, "min"))
    left = left.filter(pc.greater(left.column(f"{COUNT}_sum"), 0))
    if pc.any(pc.less(left.column(f"{COUNT}_min"), 0)).as_py():
        return None
    return left.select(keys)


def _log_in(
    warehouse: Path, steps: Sequence[Step], span: Window, columns: Columns
) -> pa.Table | None:
    """The rows of the steps in the window, if they are few, and plain to compare (Z2)."""
    plain = all(
        kind in KEYS or kind in FLOATS or kind.startswith("decimal(") for _, kind in columns
    )
    if span.empty or not (plain and one_interval(span)):
        return None
    log = log_rows(warehouse, steps, columns, MOST_PENDING)
    ((_, lo, hi, _),) = span.parts
    return None if log is None else within(log, lo, hi)


def _netted(rows: pa.Table, columns: Columns) -> pa.Table:
    """One row for each that differs, with the sum of its counts; fractions as their bits."""
    names = [name for name, _ in columns]
    found = _comparable(rows, columns)
    found = found.group_by(names, use_threads=False).aggregate([(COUNT, "sum")])
    return found.select([*names, f"{COUNT}_sum"]).rename_columns([*names, COUNT]).combine_chunks()


def _comparable(rows: pa.Table, columns: Columns) -> pa.Table:
    """The rows with the bits of fractions: equal values have equal ones."""
    found = rows.combine_chunks()
    for name, kind in columns:
        if kind in FLOATS:
            n = found.column_names.index(name)
            found = found.set_column(n, name, _bits(found.column(name), FLOATS[kind]))
    return found


def _values(rows: pa.Table, schema: pa.Schema, columns: Columns) -> pa.Table:
    """The rows with fractions in place of their bits."""
    found = rows.combine_chunks()
    for name, kind in columns:
        if kind in FLOATS:
            n = found.column_names.index(name)
            bits = pa.concat_arrays(found.column(name).chunks or [pa.array([], FLOATS[kind])])
            found = found.set_column(n, name, bits.view(schema.field(name).type))
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
