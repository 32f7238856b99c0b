"""Rows that DELETEs hid by deletion vectors, read straight from the data files that still hold them.

H1  A commit's rows are those that its vectors hide and the vectors before it did not; each is taken away once, with
    the commit's stamp.
H2  A vector that names rows which its file does not have, or a file that is not known, is an error.
Rows are told by file and row number. named_rows.plain decides who reads them: Arrow on the driver, where that is small
and plain, else a scan by Spark, of which nothing is collected. Building runs no Spark job either way.
Which commits are read from here is capture.way's decision.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rollview.changes import COUNT, STAMP
from rollview.errors import SourceError
from rollview.ledger.rows import CapturedChange
from rollview.sources.delta_lake import named_rows, vectors
from rollview.sources.delta_lake.direct import Occurrence, told
from rollview.sources.delta_lake.named_rows import Named
from rollview.sources.frames import frame
from rollview.views.syntax import quoted

_FILE, _ROW, _ROW_INDEX = "_rv_number", "_rv_row", "_metadata.row_index"


def hidden(location: str, captured: Sequence[CapturedChange]) -> list[Named]:
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
            found.append(Named(file, new - old))
    return [one for one in found if one.rows]


def rows_hidden(
    spark: SparkSession, found: Sequence[Named], columns: Sequence[tuple[str, str]]
) -> list[DataFrame]:
    """The rows: `columns`, stamp, count; one read for all files with the same partition columns.

    Read by Arrow, at most named_rows.FEW rows of all files together come to the driver.
    """
    parts: dict[tuple[str, ...], list[Named]] = {}
    for one in found:
        names = tuple(name for name, _ in one.file.partition_values)
        parts.setdefault(names, []).append(one)
    read = _by_arrow if named_rows.plain(found, columns) else _by_spark
    return [read(spark, part, columns) for part in parts.values()]


def _by_arrow(
    spark: SparkSession, part: Sequence[Named], columns: Sequence[tuple[str, str]]
) -> DataFrame:
    """The rows, read here and now; Delta Lake keeps the partition values as text, and the empty text is NULL."""
    try:
        table = named_rows.taken(part, columns)
    except named_rows.UNREADABLE:
        return _by_spark(spark, part, columns)  # whose error is the one that missing.py explains
    outside = {name.lower() for name, _ in part[0].file.partition_values}
    held = [(name, "string" if name.lower() in outside else kind) for name, kind in columns]
    schema = ", ".join(f"{quoted(name)} {kind}" for name, kind in [*held, (STAMP, "bigint")])
    chosen = [
        f"CAST(NULLIF({quoted(name)}, '') AS {kind}) AS {quoted(name)}"
        if name.lower() in outside
        else quoted(name)
        for name, kind in columns
    ]
    return frame(spark, table, schema).selectExpr(*chosen, STAMP, f"-1L AS {COUNT}")


def _by_spark(
    spark: SparkSession, part: Sequence[Named], columns: Sequence[tuple[str, str]]
) -> DataFrame:
    """The rows, when Spark runs the query: a scan of the files, joined with the row numbers."""
    files = {one.file.path: one.file.partition_values for one in part}
    numbers = {path: number for number, path in enumerate(files)}
    # A file that is read tells its number where it otherwise tells its stamp.
    numbered = [Occurrence(path, numbers[path], -1, files[path]) for path in files]
    rows = sorted({row for one in part for row in one.rows})
    few = len(rows) <= named_rows.FEW
    wanted = f"{_ROW_INDEX} IN ({', '.join(f'{row}L' for row in rows)})" if few else None
    named = told(spark, numbered, columns, {_ROW: _ROW_INDEX}, wanted)
    known = frame(spark, _table(part, numbers), f"{_FILE} bigint, {_ROW} bigint, {STAMP} bigint")
    placed = named.withColumnRenamed(STAMP, _FILE).join(F.broadcast(known), [_FILE, _ROW])
    return placed.select(*(quoted(name) for name, _ in columns), STAMP, COUNT)


def _table(part: Sequence[Named], numbers: Mapping[str, int]) -> pa.Table:
    """Which rows of which file were hidden, and when."""
    files, rows, stamps = [], [], []
    for one in part:
        files += [numbers[one.file.path]] * len(one.rows)
        rows += list(one.rows)
        stamps += [one.file.stamp] * len(one.rows)
    columns = {_FILE: files, _ROW: rows, STAMP: stamps}
    return pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})
