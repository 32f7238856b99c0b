"""Rows of a table by the values of one column, looked up by Arrow on the driver: few rows, and no scan by Spark.

K1  What is found is every row whose column has one of the keys, once each, unless a deletion vector hides it; NULL is
    equal to nothing.
K2  The keys of changes are those of every row that the changed files name: more than changed perhaps, never fewer.
K3  At most MOST_BYTES are read, after row groups were left out whose smallest and largest value exclude every key; at
    most FEW rows come to the driver (named_rows.py), which reads them as exactly as named rows (N2 there).
None: not for here. Spark then scans the table, and where the keys are few it is told them (`told_keys`), so that files,
row groups and pages are left out by what is known of them. Why, and what it saves: docs/decisions/021.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pyroaring import BitMap64

from rollview.ledger.rows import CapturedChange
from rollview.sources.delta_lake import named_rows
from rollview.sources.delta_lake.fetched import changed
from rollview.sources.delta_lake.named_rows import (
    UNREADABLE,
    Columns,
    Stored,
    as_asked,
    as_declared,
    empty,
    opened,
    own_names,
)
from rollview.views.syntax import quoted

MOST_KEYS = 10_000
"""Changed rows whose keys are looked up."""
BATCH_ROWS = 65_536
"""Rows of a file in memory at a time."""
MOST_TOLD = 1_000
"""Keys that a scan is told of: they are part of the query's text."""

_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint"})
KINDS = _NUMBERS | {"string", "date"}
"""Types that Arrow and Spark compare alike."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The values that a column may have; whole numbers are 64 bits wide, whatever the column's type."""

    column: str
    values: pa.Array


def keys_of(
    location: str, captured: Sequence[CapturedChange], column: str, kind: str
) -> pa.Array | None:
    """The values of a column in the changed rows (K2); None if the driver should not read them."""
    rows = changed(location, captured, [(column, kind)]) if kind in KINDS else None
    return None if rows is None else keys_in(rows.column(0), kind)


def keys_in(values: pa.ChunkedArray, kind: str) -> pa.Array:
    """The different values of a column, as Keys has them."""
    return pc.drop_null(pc.unique(values.cast(wide_type(kind))))


def looked_up(stored: Stored, columns: Columns, keys: Keys) -> pa.Table | None:
    """The rows of the files whose column has one of the keys (K1); None if there is too much to read (K3)."""
    kind = next(k for name, k in columns if name.lower() == keys.column.lower())
    try:
        if not all(as_declared(one, columns) for one in stored.files):
            return None
        wanted = [(one.path, *_groups(one.path, columns, keys, kind)) for one in stored.files]
        if sum(size for *_, size in wanted) > named_rows.MOST_BYTES:
            return None
        rows = 0
        found = [empty(columns)]
        with ThreadPoolExecutor(named_rows.THREADS) as pool:
            for table in pool.map(
                lambda one: _matching(
                    one[0], one[1], columns, keys, kind, stored.hidden.get(one[0])
                ),
                wanted,
            ):
                rows += table.num_rows
                if rows > named_rows.FEW:
                    pool.shutdown(wait=False, cancel_futures=True)
                    return None
                found.append(table)
    except UNREADABLE:
        return None
    return pa.concat_tables(found)


def having(rows: pa.Table, keys: Keys) -> pa.Table:
    """The rows whose column has one of the keys."""
    values = rows.column(keys.column)
    return rows.filter(pc.is_in(values.cast(keys.values.type), value_set=keys.values))


def told_keys(keys: Keys) -> str | None:
    """The same as a condition for Spark's scan; None if there are too many keys to tell."""
    if len(keys.values) > MOST_TOLD:
        return None
    if not len(keys.values):
        return "FALSE"
    return f"{quoted(keys.column)} IN ({', '.join(map(_literal, keys.values.to_pylist()))})"


def _literal(value: object) -> str:
    if isinstance(value, int):
        return f"{value}L"
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'" if isinstance(value, str) else f"DATE'{text}'"


def wide_type(kind: str) -> pa.DataType:
    """What the keys of a column are compared as."""
    if kind in _NUMBERS:
        return pa.int64()
    return pa.string() if kind == "string" else pa.date32()


def _groups(path: str, columns: Columns, keys: Keys, kind: str) -> tuple[list[int], int]:
    """The row groups that may have one of the keys, and the bytes that reading them takes."""
    with opened(path) as data:
        own = own_names(data)
        names = {own[name.lower()] for name, _ in columns if name.lower() in own}
        if keys.column.lower() not in own:
            return [], 0
        ordered = sorted(keys.values.to_pylist()) if kind in _NUMBERS else None
        groups, size = [], 0
        for group in range(data.num_row_groups):
            chunks = {c.path_in_schema: c for c in _chunks(data, group)}
            if _excluded(chunks[own[keys.column.lower()]].statistics, ordered):
                continue
            groups.append(group)
            size += sum(chunks[name].total_compressed_size for name in names)
        return groups, size


def _chunks(data: parquet.ParquetFile, group: int) -> Iterator[parquet.ColumnChunkMetaData]:
    row_group = data.metadata.row_group(group)
    return map(row_group.column, range(row_group.num_columns))


def _excluded(known: parquet.Statistics | None, ordered: Sequence[int] | None) -> bool:
    """Whether no key lies between the smallest and the largest value; only known of whole numbers."""
    if ordered is None or known is None or not known.has_min_max:
        return False
    place = bisect_left(ordered, known.min)
    return place == len(ordered) or ordered[place] > known.max


def _matching(
    path: str,
    groups: Sequence[int],
    columns: Columns,
    keys: Keys,
    kind: str,
    hidden: BitMap64 | None,
) -> pa.Table:
    """The rows of one file that have one of the keys and are not hidden."""
    found = [empty(columns)]
    with opened(path) as data:
        own = own_names(data)
        names = [own[name.lower()] for name, _ in columns if name.lower() in own]
        for first, batch in _numbered(data, groups, names):
            rows = batch.select(names)
            column = rows.column(own[keys.column.lower()])
            mine = pc.is_in(column.cast(wide_type(kind)), value_set=keys.values)
            if hidden:
                numbers = pc.indices_nonzero(mine).to_pylist()
                rows = rows.take(
                    pa.array([n for n in numbers if first + n not in hidden], pa.int64())
                )
            else:
                rows = rows.filter(mine)
            if rows.num_rows:
                found.append(as_asked(rows, rows.num_rows, own, columns))
    return pa.concat_tables(found)


def _numbered(
    data: parquet.ParquetFile, groups: Sequence[int], names: Sequence[str]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of the groups in batches, each with the number of its first row in the file."""
    for group in groups:
        first = sum(data.metadata.row_group(g).num_rows for g in range(group))
        for batch in data.iter_batches(BATCH_ROWS, [group], names):
            yield first, batch
            first += batch.num_rows
