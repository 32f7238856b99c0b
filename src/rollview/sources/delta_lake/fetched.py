"""Few rows of a table fetched to the driver by Arrow: what changed, and a version, without a Spark job.

L1  What is fetched is what Spark would read: every row once, in the table's types; or nothing at all (None), and then
    Spark reads it, whose words for what is wrong with a file are known (missing.py).
L2  At most MOST_CHANGED changed rows, of files of MOST_CHANGED_BYTES together, come to the driver.
Columns that partition a table are in its log, as text that Spark reads: they are not fetched.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pyroaring import BitMap64

from rollview.changes import COUNT, STAMP
from rollview.ledger.rows import CapturedChange
from rollview.sources.delta_lake.direct import (
    BY_CHANGE_TYPE,
    CHANGE_COUNTS,
    CHANGE_TYPE,
    Occurrence,
    occurrences,
)
from rollview.sources.delta_lake.hidden import hidden
from rollview.sources.delta_lake.named_rows import (
    UNREADABLE,
    Columns,
    Named,
    Stored,
    as_asked,
    as_declared,
    empty,
    opened,
    own_names,
    plain,
    taken,
)

MOST_CHANGED = 20_000
MOST_CHANGED_BYTES = 2**24

_TYPES = pa.array(list(CHANGE_COUNTS))
_COUNTS = pa.array(list(CHANGE_COUNTS.values()), pa.int64())


def changed(location: str, captured: Sequence[CapturedChange], columns: Columns) -> pa.Table | None:
    """The changed rows of the captured commits: the columns, stamp and count (L1, L2)."""
    if any(change.files["way"] != "direct" for change in captured):
        return None
    files, gone = occurrences(location, captured), hidden(location, captured)
    try:
        if not _few(files, gone, columns):
            return None
        parts = [_rows(one, columns) for one in files]
        if gone:
            parts.append(_taken(gone, columns))
    except UNREADABLE:
        return None
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    return pa.concat_tables([_timed(empty(columns), 0, 0, 0), *found])


def whole(stored: Stored, columns: Columns) -> pa.Table | None:
    """Every row of the files that no vector hides: the columns (L1). Whoever asks knows that they are few."""
    try:
        if not all(as_declared(one, columns) for one in stored.files):
            return None
        parts = [
            _shown(_read(one, columns)[0], stored.hidden.get(one.path)) for one in stored.files
        ]
        return pa.concat_tables([empty(columns), *parts])
    except UNREADABLE:
        return None


def _shown(rows: pa.Table, hidden: BitMap64 | None) -> pa.Table:
    if not hidden:
        return rows
    numbers = pa.array(range(rows.num_rows), pa.int64())
    return rows.filter(pc.invert(pc.is_in(numbers, value_set=pa.array(list(hidden), pa.int64()))))


def _few(files: Sequence[Occurrence], gone: Sequence[Named], columns: Columns) -> bool:
    paths = {one.path: one for one in files}
    asked = {name.lower() for name, _ in columns}
    outside = (
        v for one in (*paths.values(), *(n.file for n in gone)) for v in one.partition_values
    )
    if not asked.isdisjoint(name.lower() for name, _ in outside):
        return False
    if sum(map(os.path.getsize, paths)) > MOST_CHANGED_BYTES:
        return False
    held = {path: parquet.read_metadata(path).num_rows for path in paths}
    if sum(held[one.path] for one in files) > MOST_CHANGED:
        return False
    return all(as_declared(one, columns) for one in paths.values()) and plain(gone, columns)


def _rows(one: Occurrence, columns: Columns) -> pa.Table | None:
    """The rows of one occurrence; None if one does not say what it is."""
    rows, kinds, count = _read(one, columns)
    if one.count != BY_CHANGE_TYPE:
        return _timed(rows, one.stamp, one.count, count)
    if kinds is None:
        return None
    counts = _COUNTS.take(pc.index_in(kinds, value_set=_TYPES))
    if counts.null_count:
        return None
    return _timed(rows, one.stamp, 0, count).set_column(rows.num_columns + 1, COUNT, counts)


def _read(one: Occurrence, columns: Columns) -> tuple[pa.Table, pa.ChunkedArray | None, int]:
    """The columns of a file, what each row says that it is, if they say, and how many rows there are."""
    with opened(one.path) as data:
        own = own_names(data)
        names = [own[name.lower()] for name, _ in columns if name.lower() in own]
        asked = [*names, CHANGE_TYPE] if CHANGE_TYPE in own.values() else names
        # A name with a dot may bring more columns than its own.
        rows = data.read(columns=list(dict.fromkeys(asked))) if asked else None
        count = data.metadata.num_rows
    kinds = rows.column(CHANGE_TYPE) if rows is not None and CHANGE_TYPE in asked else None
    return as_asked(rows, count, own, columns), kinds, count


def _taken(gone: Sequence[Named], columns: Columns) -> pa.Table:
    rows = taken(gone, columns)
    return rows.append_column(COUNT, pa.repeat(pa.scalar(-1, pa.int64()), rows.num_rows))


def _timed(rows: pa.Table, stamp: int, count: int, number: int) -> pa.Table:
    """So many rows with stamp and count; a table without columns does not know how many it has."""
    more = [pa.repeat(pa.scalar(value, pa.int64()), number) for value in (stamp, count)]
    return pa.table([*rows.columns, *more], names=[*rows.column_names, STAMP, COUNT])
