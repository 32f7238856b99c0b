"""Rows of a DataFrame, printed as a table or as JSON.

W1  Values are put into text by Spark, in UTC; decimals are strings in JSON, so that no digit is lost.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.text import Text

from rollview.cli.printing import counted, note, stdout, table
from rollview.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
FORMATS = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def print_rows(frame: DataFrame, limit: int) -> None:
    """The first `limit` rows as a table; 0 means all."""
    from pyspark.sql import functions as F

    kinds = frame.dtypes
    texts = frame.toDF(*[f"c{k}" for k in range(len(kinds))])
    texts = texts.select([F.col(c).cast("string") for c in texts.columns])
    rows = texts.limit(limit + 1).collect() if limit else texts.collect()
    more = bool(limit) and len(rows) > limit
    shown = table([name for name, _ in kinds], [n for n, kind in kinds if kind.startswith(NUMBERS)])
    for row in rows[: limit or None]:
        shown.add_row(*[Text("NULL", "dim") if v is None else Text(v) for v in row])
    stdout().print(shown)
    note(
        f"the first {counted(limit, 'row')}; --limit shows more"
        if more
        else counted(len(rows), "row")
    )


def rows_json(frame: DataFrame, limit: int) -> dict[str, Any]:
    """columns (name, type), rows as objects, and whether there are more."""
    from pyspark.sql import functions as F

    kinds = frame.dtypes
    if len({name.lower() for name, _ in kinds}) < len(kinds):
        raise ConfigError(
            "two columns have the same name", hint="give each a name of its own with AS"
        )
    exact = frame.select([
        F.col(f"`{name}`").cast("string").alias(name) if kind.startswith("decimal")
        else F.col(f"`{name}`")
        for name, kind in kinds
    ])  # fmt: skip
    texts = exact.select(F.to_json(F.struct("*"), FORMATS))
    rows = texts.limit(limit + 1).collect() if limit else texts.collect()
    return {
        "columns": [{"name": name, "type": kind} for name, kind in kinds],
        "rows": [json.loads(row[0]) for row in rows[: limit or None]],
        "more": bool(limit) and len(rows) > limit,
    }
