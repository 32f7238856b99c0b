"""Rows of Parquet files by their numbers, read by Arrow on the driver: few rows, and no Spark job.

N1  A row comes once for each time that it is named, with the stamp it is named with.
N2  Only what Arrow gives exactly as Spark does is read here: columns of plain types, stored as the table declares
    them, dates and times in the calendar of today. A column that a file lacks is NULL.
N3  At most FEW rows come to the driver, and THREADS row groups are in its memory at a time; a row group without a
    named row is not read.
N4  A row number beyond the end of its file is an error.
What is not for here, and a file that cannot be read, is Spark's: its words for it are known (missing.py).
Why, and what it saves: docs/decisions/016.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow as pa
from pyarrow import parquet
from pyroaring import BitMap64

from rollview.changes import STAMP
from rollview.errors import SourceError
from rollview.sources.delta_lake.direct import Occurrence

FEW = 20_000
"""So many rows are read by the driver (N3), and so many row numbers tested as a list before Spark's join."""

MOST_BYTES = 2**30
"""Files of 146 MB, 10 million rows, took 0.35 s on two cores: these take some 3 s, and beyond executors are quicker."""

THREADS = 2
"""Over files: eight of 146 MB together took 0.46 s with one thread, 0.36 s with two."""

UNREADABLE = (OSError, pa.ArrowException)

Columns = Sequence[tuple[str, str]]

_TYPES = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_BY_CALENDAR = frozenset({"date", "timestamp", "timestamp_ntz"})
_WRITER, _CALENDAR_OF_TODAY = b"org.apache.spark.version", b"3.1.0"
_OLD_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


@dataclass(frozen=True, slots=True)
class Named:
    """Rows of one file that one commit took away, by number, counted from 0."""

    file: Occurrence
    rows: BitMap64


@dataclass(frozen=True, slots=True)
class Stored:
    """Files and, by path, the numbers of their rows that deletion vectors hide."""

    files: Sequence[Occurrence]
    hidden: Mapping[str, BitMap64] = field(default_factory=dict)


def plain(named: Sequence[Named], columns: Columns) -> bool:
    """Whether the rows are read here, and not by Spark: the one place that decides (N2, N3)."""
    if sum(len(one.rows) for one in named) > FEW:
        return False
    files = {one.file.path: one.file for one in named}
    try:
        if sum(map(os.path.getsize, files)) > MOST_BYTES:
            return False
        return all(as_declared(file, columns) for file in files.values())
    except UNREADABLE:
        return False


def taken(named: Sequence[Named], columns: Columns) -> pa.Table:
    """The rows: `columns`, of which those that partition the table are text, and the stamp (N1).

    Ask `plain` first; a file that went since then is one of UNREADABLE.
    """
    by_file: dict[str, list[Named]] = {}
    for one in named:
        by_file.setdefault(one.file.path, []).append(one)
    with ThreadPoolExecutor(THREADS) as pool:
        return pa.concat_tables(
            list(pool.map(lambda of_file: _taken_of(of_file, columns), by_file.values()))
        )


def as_declared(file: Occurrence, columns: Columns) -> bool:
    """Whether the file holds its columns in just the types that the table has for them (N2)."""
    wanted = _inside(file, columns)
    if any(arrow_type(kind) is None for _, kind in wanted):
        return False
    with opened(file.path) as data:
        held = own_names(data)
        if len(held) != len(data.schema_arrow.names):
            return False  # names that differ in case only: Spark's to refuse
        leaves = map(data.schema.column, range(len(data.schema)))
        stored = {leaf.path: leaf.physical_type for leaf in leaves}
        there = [(held[name.lower()], kind) for name, kind in wanted if name.lower() in held]
        return _calendar_of_today(data, there) and all(
            # Spark stores a moment so unless told otherwise; nothing else is stored so.
            kind == "timestamp"
            if stored.get(name) == "INT96"
            else data.schema_arrow.field(name).type == arrow_type(kind)
            for name, kind in there
        )


def _calendar_of_today(data: parquet.ParquetFile, columns: Columns) -> bool:
    """Spark moves dates and times of files that say nothing, or another calendar, as its session is set."""
    if _BY_CALENDAR.isdisjoint(kind for _, kind in columns):
        return True
    said = data.metadata.metadata or {}
    return said.get(_WRITER, b"") >= _CALENDAR_OF_TODAY and said.keys().isdisjoint(_OLD_CALENDAR)


def _taken_of(named: Sequence[Named], columns: Columns) -> pa.Table:
    """The rows of one file, whoever names them, in the file's order."""
    file = named[-1].file
    pairs = sorted((row, one.file.stamp) for one in named for row in one.rows)
    rows = [row for row, _ in pairs]
    with opened(file.path) as data:
        if rows[-1] >= data.metadata.num_rows:
            raise _beyond(file.path, rows[-1], data.metadata.num_rows)
        held = own_names(data)
        inside = [held[n.lower()] for n, _ in _inside(file, columns) if n.lower() in held]
        cells = _cells(data, rows, inside)
    outside = {name.lower(): value for name, value in file.partition_values}
    arrays = []
    for name, kind in columns:
        if name.lower() in outside:
            text = pa.scalar(outside[name.lower()], pa.string())
            arrays.append(pa.repeat(text, len(rows)))
        elif name.lower() in held:
            arrays.append(cells.column(held[name.lower()]).cast(arrow_type(kind)))
        else:
            arrays.append(pa.nulls(len(rows), arrow_type(kind)))
    arrays.append(pa.array([stamp for _, stamp in pairs], pa.int64()))
    return pa.table(arrays, names=[*(name for name, _ in columns), STAMP])


def _cells(data: parquet.ParquetFile, rows: Sequence[int], names: Sequence[str]) -> pa.Table:
    """Those columns of those rows, sorted, a row group at a time (N3)."""
    if not names:
        return pa.table({})
    pieces, start = [], 0
    for group in range(data.num_row_groups):
        end = start + data.metadata.row_group(group).num_rows
        wanted = rows[bisect_left(rows, start) : bisect_left(rows, end)]
        if wanted:
            # A name with a dot may bring more columns than its own.
            cells = data.read_row_group(group, columns=names).select(names)
            pieces.append(cells.take(pa.array([row - start for row in wanted], pa.int64())))
        start = end
    return pa.concat_tables(pieces)


def opened(path: str) -> parquet.ParquetFile:
    """The file, as both this module and lookup.py read it."""
    return parquet.ParquetFile(path, pre_buffer=True, coerce_int96_timestamp_unit="us")


def own_names(data: parquet.ParquetFile) -> dict[str, str]:
    """The file's own names for its columns; a table's names are the same whatever their case."""
    return {name.lower(): name for name in data.schema_arrow.names}


def _inside(file: Occurrence, columns: Columns) -> list[tuple[str, str]]:
    """The columns that are stored in the file, and not in the log."""
    outside = {name.lower() for name, _ in file.partition_values}
    return [(name, kind) for name, kind in columns if name.lower() not in outside]


def as_asked(
    rows: pa.Table | pa.RecordBatch | None, count: int, own: dict[str, str], columns: Columns
) -> pa.Table:
    """The rows of a file, so many, with the table's names and types; a column that the file lacks is NULL."""
    schema = empty(columns).schema
    return pa.table(
        [
            rows.column(own[name.lower()]).cast(field.type)
            if rows is not None and name.lower() in own
            else pa.nulls(count, field.type)
            for (name, _), field in zip(columns, schema, strict=True)
        ],
        schema=schema,
    )


def empty(columns: Columns) -> pa.Table:
    """No rows of the columns."""
    return pa.schema([(name, arrow_type(kind)) for name, kind in columns]).empty_table()


def arrow_type(kind: str) -> pa.DataType | None:
    """What Arrow reads a column of that type as, if it is a plain one."""
    decimal = _DECIMAL.fullmatch(kind)
    return pa.decimal128(*map(int, decimal.groups())) if decimal else _TYPES.get(kind)


def _beyond(path: str, row: int, rows: int) -> SourceError:
    return SourceError(
        f'rows of the Delta Lake file "{path}" cannot be read',
        f"its deletion vector hides row {row}, counted from 0, but it has {rows} rows",
        "restore the table's files, or rollview source resync",
    )
