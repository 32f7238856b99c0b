"""Rows that are on the driver already, as a DataFrame: the one place that hands them to Spark.

I1  Every row of the table arrives. Spark 4.2 stops at a piece of a table that has no rows, and says nothing: what comes
    after it would be lost. So a table is made of one piece first.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType


def frame(spark: SparkSession, rows: pa.Table, schema: str) -> DataFrame:
    """The rows as a DataFrame of that schema, without a job (I1)."""
    if not rows.num_rows:
        return empty_rows(spark, schema)
    return spark.createDataFrame(rows.combine_chunks(), _fields(schema))


def empty_rows(spark: SparkSession, schema: str) -> DataFrame:
    """No rows of the given schema, without a job."""
    return spark.range(0).select(
        *(F.lit(None).cast(field.dataType).alias(field.name) for field in _fields(schema))
    )


def _fields(schema: str) -> StructType:
    fields = StructType.fromDDL(schema)
    assert isinstance(fields, StructType), "a list of columns is a struct"
    return fields
