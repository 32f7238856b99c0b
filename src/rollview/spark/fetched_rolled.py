"""Few rows of a rolled table fetched to the driver: what its log says changed, and its rows that have given keys.

Z1  What is fetched is what Spark would read of the same pinned files; None where that takes more than reading them: a
    Reduce, whose rows are made of sums; buckets that were folded to different times; column names that Delta Lake maps.
Whoever reads by keys gets a bag whose counts may be negative. Knows files of folded rows and of steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rollview.calculus.queries import kept_keys
from rollview.changes import COUNT, STAMP, Csn
from rollview.sources.delta_lake.direct import Occurrence
from rollview.sources.delta_lake.fetched import MOST_CHANGED, whole
from rollview.sources.delta_lake.listed import files_at
from rollview.sources.delta_lake.lookup import Keys, having, looked_up
from rollview.sources.delta_lake.named_rows import Stored
from rollview.spark.pending import Columns, log_rows, one_interval, within
from rollview.spark.rolled import ODD, Pinned, RolledTable
from rollview.views.blocks import Reduce

MOST_LOGGED = 200_000
"""Pending rows of a log that are read for those with given keys."""


def rolled_changes(table: RolledTable, lo: Csn, hi: Csn, columns: Sequence[str]) -> pa.Table | None:
    """What the log says changed in (lo, hi]: the columns, stamp and count."""
    if isinstance(table.block, Reduce):
        return None
    table.check(table.row(), lo)
    table.check(table.row(), hi)
    steps = table.ledger.steps(table.name, lo, hi)
    rows = log_rows(table.warehouse, steps, _typed(table, columns), MOST_CHANGED)
    return None if rows is None else within(rows, lo, hi)


def rolled_rows(
    table: RolledTable, time: Csn, columns: Sequence[str], keys: Keys | None
) -> pa.Table | None:
    """The rows as of `time` that have one of the keys: the columns and count; without keys all, of a small table."""
    if isinstance(table.block, Reduce) or any(ODD.search(c) for c in columns):
        return None
    pin, typed = table.pinned(time), _typed(table, columns)
    if not one_interval(pin.span):
        return None
    stored = _folded(table, pin, typed, keys)
    if stored is None:
        return None
    log = log_rows(table.warehouse, pin.steps, typed, MOST_LOGGED)
    if log is None:
        return None
    ones = stored.append_column(COUNT, pa.repeat(pa.scalar(1, pa.int64()), stored.num_rows))
    for _, lo, hi, sign in pin.span.parts:
        moved = within(log, lo, hi)
        moved = moved if keys is None else having(moved, keys)
        counts = moved.column(COUNT) if sign > 0 else pc.negate(moved.column(COUNT))
        ones = pa.concat_tables(
            [ones, moved.drop_columns([STAMP, COUNT]).append_column(COUNT, counts)]
        )
    return ones


def _typed(table: RolledTable, columns: Sequence[str]) -> Columns:
    known = {c.name: c.type for c in (*table.block.columns, *kept_keys(table.block))}
    return [(name, known[name]) for name in columns]


def _folded(
    table: RolledTable, pin: Pinned, columns: Columns, keys: Keys | None
) -> pa.Table | None:
    folder = table.folder(pin.row) / "folded"
    assert pin.row.folded_version is not None, "whoever pins a table checks that it is built"
    listed = files_at(str(folder), pin.row.folded_version)
    if listed is None or any(f.deletion_vector is not None for f in listed):
        return None
    stored = Stored([Occurrence(str(folder / f.path), 0, 1, ()) for f in listed])
    if keys is not None:
        return looked_up(stored, columns, keys)
    return whole(stored, columns) if pin.row.rows <= MOST_CHANGED else None
