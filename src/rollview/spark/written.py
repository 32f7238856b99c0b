"""Few rows written as Parquet by the driver: a file that Spark reads as it reads its own.

D1  Spark's own write takes a job, a committer and 0.1 s; a file of a thousand rows takes a millisecond.
D2  A query without groups over rows that are on the driver is run by Spark's optimiser, and collecting it takes no job.
    So the rows of a small step come as they are, and what a Reduce adds up of them is added up here (added.py).
D3  They come as tuples: to make each a Row of PySpark's would take five times as long as to read it.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet
from pyspark.serializers import BatchedSerializer, CPickleSerializer
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DateType,
    NumericType,
    StringType,
    StructField,
    TimestampNTZType,
    TimestampType,
)
from pyspark.util import _load_from_socket

from rollview.changes import COUNT, STAMP, Csn
from rollview.views.syntax import quoted

COLLECTED_ROWS = 3_000
"""With more, a job that hands over batches is sooner done than Python with rows."""

PLAIN = (
    BinaryType,
    BooleanType,
    DateType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)
"""Types that Arrow writes and Spark reads alike."""

NUMBERED: dict[type, Callable[[Column], Column]] = {
    DateType: F.unix_date,
    TimestampType: F.unix_micros,
}
"""Types with values that Python does not have, such as the year 10000, and the numbers that they are made of."""


@dataclass(frozen=True, slots=True)
class Written:
    """A step's files, not visible to anybody yet."""

    id: str
    folder: str
    lo: Csn
    hi: Csn
    rows: int
    taken: int
    bytes: int


def plain_rows(rows: DataFrame) -> bool:
    """Whether all columns are of plain types."""
    return all(isinstance(field.dataType, PLAIN) for field in rows.schema)


def write_rows(rows: pa.Table, folder: Path, spark_version: str) -> None:
    """The rows in one file of a folder that is made for it."""
    # By this Spark knows that dates and times are in the calendar of today.
    said = {**(rows.schema.metadata or {}), b"org.apache.spark.version": spark_version}
    folder.mkdir(parents=True)
    parquet.write_table(rows.replace_schema_metadata(said), folder / "part-0.parquet")


def collected(rows: DataFrame) -> pa.Table:
    """Rows of plain types as Arrow's, row by row, if that is possible without a job (D2)."""
    if any(isinstance(field.dataType, TimestampNTZType) for field in rows.schema):
        return rows.toArrow()
    schema: pa.Schema = to_arrow_schema(rows.schema, timezone="UTC")
    if any(type(field.dataType) in NUMBERED for field in rows.schema):
        rows = rows.select(*map(_as_number, rows.schema))
    values = list(zip(*_tuples(rows), strict=True)) or [()] * len(schema)
    return pa.Table.from_arrays(
        [_array(column, field.type) for column, field in zip(values, schema, strict=True)],
        schema=schema,
    )


def _tuples(rows: DataFrame) -> list[tuple[object, ...]]:
    """What `collect` gives, as tuples (D3)."""
    batches = BatchedSerializer(_TupleSerializer())  # type: ignore[no-untyped-call] # PySpark's own
    with _load_from_socket(rows._jdf.collectToPython(), batches) as stream:
        return list(stream)


class _TupleSerializer(CPickleSerializer):
    def loads(self, obj: bytes, encoding: str = "bytes") -> Any:
        return _Tuples(io.BytesIO(obj), encoding=encoding).load()


class _Tuples(pickle.Unpickler):
    """Reads what Spark wrote, but for the two calls that would make Rows of it."""

    def find_class(self, module: str, name: str) -> Any:  # asked for every row
        return _CALLS[name] if name in _CALLS else super().find_class(module, name)


def _tuple(*values: object) -> tuple[object, ...]:
    return values


_CALLS: dict[str, Callable[..., object]] = {
    "_create_row_inbound_converter": lambda _type: _tuple,
    "_parse_datatype_json_string": str,
}


def _as_number(field: StructField) -> Column:
    column, number = F.col(quoted(field.name)), NUMBERED.get(type(field.dataType))
    return column if number is None else number(column)


def _array(values: tuple[object, ...], kind: pa.DataType) -> pa.Array:
    numbers = {pa.date32(): pa.int32(), pa.timestamp("us", "UTC"): pa.int64()}.get(kind)
    return pa.array(values, numbers).cast(kind) if numbers else pa.array(values, kind)


def measured(warehouse: Path, step: str, folder: str) -> Written:
    """The step's size and stamp range, from the footers of its files: no Spark job."""
    rows = size = taken = 0
    lo, hi = Csn(2**62), Csn(0)
    for file in sorted((warehouse / folder).glob("*.parquet")):
        footer = parquet.read_metadata(file)
        rows, size = rows + footer.num_rows, size + file.stat().st_size
        names = footer.schema.names
        for g in range(footer.num_row_groups):
            group = footer.row_group(g)
            if not group.num_rows:  # as Arrow writes no rows
                continue
            stamps = group.column(names.index(STAMP)).statistics
            counts = group.column(names.index(COUNT)).statistics
            lo, hi = Csn(min(lo, stamps.min)), Csn(max(hi, stamps.max))
            taken += group.num_rows if counts.min < 0 else 0
    return Written(step, folder, lo, hi, rows, taken, size)
