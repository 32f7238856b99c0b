"""Rows that DELETEs hid by deletion vectors, read straight from the data files that still hold them.

H1  A commit's rows are those that its vectors hide and the vectors before it did not; each is taken away once, with
    the commit's stamp.
H2  A vector that names rows which its file does not have, or a file that is not known, is an error.
The files are scanned for the columns asked for, and rows are told by file and row number; nothing is collected.
Which commits are read this way is capture.way's decision.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyroaring import BitMap64
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rollview.changes import COUNT, STAMP
from rollview.errors import SourceError
from rollview.ledger.rows import CapturedChange
from rollview.sources.delta_lake import vectors
from rollview.sources.delta_lake.direct import Occurrence, told
from rollview.views.syntax import quoted

FEW = 20_000
"""Up to here a list of row numbers, tested before the join, spares most rows of a file the join."""

_FILE, _ROW, _ROW_INDEX = "_rv_number", "_rv_row", "_metadata.row_index"


@dataclass(frozen=True, slots=True)
class Hidden:
    """The rows of one file that one commit hid."""

    file: Occurrence
    rows: BitMap64


def hidden(location: str, captured: Sequence[CapturedChange]) -> list[Hidden]:
    """What the vectors of the captured commits newly hide (H1)."""
    found = []
    for change in captured:
        for path, values, records, before, after in change.files.get("hidden", ()):
            old, new = vectors.marked(location, before), vectors.marked(location, after)
            if not old <= new or (records is not None and new and new.max() >= records):
                raise SourceError(
                    f'version {change.position} of the Delta Lake table at "{location}" cannot be read',
                    f"the deletion vector of {path} hides rows that are not there, or fewer than before",
                    "restore the table's files, or rollview source resync",
                )
            where = os.path.join(location, path)
            file = Occurrence(where, change.csn, -1, tuple(values.items()))
            found.append(Hidden(file, new - old))
    return [one for one in found if one.rows]


def rows_hidden(
    spark: SparkSession, found: Sequence[Hidden], columns: Sequence[tuple[str, str]]
) -> list[DataFrame]:
    """The rows: `columns`, stamp, count; one read for all files with the same partition columns."""
    parts: dict[tuple[str, ...], list[Hidden]] = {}
    for one in found:
        names = tuple(name for name, _ in one.file.partition_values)
        parts.setdefault(names, []).append(one)
    return [_read(spark, part, columns) for part in parts.values()]


def _read(
    spark: SparkSession, part: Sequence[Hidden], columns: Sequence[tuple[str, str]]
) -> DataFrame:
    files = {one.file.path: one.file.partition_values for one in part}
    numbers = {path: number for number, path in enumerate(files)}
    # A file that is read tells its number where it otherwise tells its stamp.
    numbered = [Occurrence(path, numbers[path], -1, files[path]) for path in files]
    rows = sorted({row for one in part for row in one.rows})
    wanted = (
        f"{_ROW_INDEX} IN ({', '.join(f'{row}L' for row in rows)})" if len(rows) <= FEW else None
    )
    named = told(spark, numbered, columns, {_ROW: _ROW_INDEX}, wanted)
    known = spark.createDataFrame(_table(part, numbers))
    placed = named.withColumnRenamed(STAMP, _FILE).join(F.broadcast(known), [_FILE, _ROW])
    return placed.select(*(quoted(name) for name, _ in columns), STAMP, COUNT)


def _table(part: Sequence[Hidden], numbers: Mapping[str, int]) -> pa.Table:
    """Which rows of which file were hidden, and when."""
    files, rows, stamps = [], [], []
    for one in part:
        files += [numbers[one.file.path]] * len(one.rows)
        rows += list(one.rows)
        stamps += [one.file.stamp] * len(one.rows)
    columns = {_FILE: files, _ROW: rows, STAMP: stamps}
    return pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})
