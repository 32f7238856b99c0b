"""Bags of rows, from Spark and from DuckDB, in one form; and what differs between two of them.

A row is a tuple of texts: floats to 9 significant digits, with -0.0 as 0.0; everything else exactly. So the answers
of two engines can be compared, and those of many views can be collected by one Spark action.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StructType,
)
from spark_session import interpreted

Bag = Counter[tuple[str | None, ...]]
EXAMPLES = 5


def difference(have: Bag, want: Bag) -> str | None:
    """What `have` lacks and what it has too many, or None if they are the same bag."""
    missing, extra = want - have, have - want
    if not missing and not extra:
        return None
    lines = [f"{missing.total()} rows missing, {extra.total()} too many"]
    for what, rows in (("missing", missing), ("too many", extra)):
        some = sorted(rows.items(), key=str)[:EXAMPLES]
        lines += [f"  {what}: {n} x {row}" for row, n in some]
    return "\n".join(lines)


# --- Spark


def collected(frames: Mapping[Any, DataFrame]) -> dict[Any, Bag]:
    """The bags of all frames, by one Spark action."""
    if not frames:
        return {}
    tags = list(frames)
    parts = [_tagged(number, frames[tag]) for number, tag in enumerate(tags)]
    bags: dict[Any, Bag] = {tag: Counter() for tag in tags}
    with interpreted(parts[0].sparkSession):
        rows = reduce(DataFrame.unionAll, parts).collect()
    for number, row in rows:
        bags[tags[number]][tuple(row)] += 1
    return bags


def _tagged(number: int, frame: DataFrame) -> DataFrame:
    texts = [_text(F.col("`" + f.name.replace("`", "``") + "`"), f.dataType) for f in frame.schema]
    return frame.select(F.lit(number), F.array(*texts))


def _text(column: Column, kind: DataType) -> Column:
    match kind:
        case DoubleType() | FloatType():
            plain = F.when(column == 0, F.lit(0.0)).otherwise(column.cast("double"))
            return F.when(column.isNotNull(), F.format_string("%.8e", plain))
        case BinaryType():
            return F.lower(F.hex(column))
        case ArrayType() | StructType() | MapType():
            return F.to_json(column, {"ignoreNullFields": "false"})
        case _:
            return column.cast("string")


# --- Python and DuckDB


def bag_of(table: pa.Table) -> Bag:
    """The bag of an Arrow table, such as DuckDB's answer."""
    columns = [[text_of(value) for value in column.to_pylist()] for column in table.columns]
    return Counter(zip(*columns, strict=True))


def text_of(value: Any) -> str | None:
    """A Python value as `collected` has it."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float():
            named = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
            return named.get(str(value), f"{value + 0.0:.8e}")
        case Decimal():
            return f"{value:f}"
        case bytes():
            return value.hex()
        case dt.datetime():
            shown = value.replace(tzinfo=None).isoformat(" ")
            return shown.rstrip("0") if "." in shown else shown
        case list() | dict():
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        case _:
            return str(value)
