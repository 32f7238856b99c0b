"""Few rows written as Parquet by the driver: a file that Spark reads as it reads its own.

Spark's own write takes a job, a committer and 0.1 s; a file of a thousand rows takes a millisecond.
"""

from __future__ import annotations

from pathlib import Path

from pyarrow import parquet
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DateType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

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


def plain_rows(rows: DataFrame) -> bool:
    """Whether all columns are of plain types."""
    return all(isinstance(field.dataType, PLAIN) for field in rows.schema)


def write_rows(rows: DataFrame, folder: Path) -> None:
    """The rows in one file of a folder that is made for it."""
    found = rows.toArrow()
    # By this Spark knows that dates and times are in the calendar of today.
    said = {**(found.schema.metadata or {}), b"org.apache.spark.version": rows.sparkSession.version}
    folder.mkdir(parents=True)
    parquet.write_table(found.replace_schema_metadata(said), folder / "part-0.parquet")
