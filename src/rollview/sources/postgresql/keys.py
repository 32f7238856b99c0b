"""Join keys on their way to a server: values as its texts, and the conditions that look them up by index.

A key is a tuple of values without NULL (NULL equals nothing). Few keys are part of the query, as array literals: one
round trip and nothing made on the server. Many go into a temporary table of texts, by COPY, or as arrays in chunks
where the role may make none. Conditions compare a column with values of its own type, so that its index serves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from typing import Any

import pyarrow as pa
from psycopg import sql

from rollview.sources.postgresql.connect import Connection

Key = tuple[Any, ...]

INLINE = 5_000
"""Keys that a query carries itself."""
CHUNK = 20_000
"""Keys of one array, where they cannot go into a table."""
MOST_COLUMNS = 4
TABLE = sql.Identifier("pg_temp", "rv_keys")

CASTS = {
    "bool": "bool", "int2": "int8", "int4": "int8", "int8": "int8", "oid": "oid",
    "float4": "float4", "float8": "float8", "date": "date", "timestamp": "timestamp",
    "timestamptz": "timestamptz", "bytea": "bytea", "bpchar": "bpchar",
}  # fmt: skip
TEXT_OIDS = frozenset({25, 1043})
"""text and varchar: what other types show as text (enums, json, uuid) compares otherwise on the server."""


def cast_of(codec: str, type_oid: int) -> str | None:
    """The type in which a column is compared; None if the server cannot look it up as Spark compares it."""
    if codec.startswith("numeric"):
        return "numeric"
    if codec == "text":
        return "text" if type_oid in TEXT_OIDS else None
    return CASTS.get(codec)


def text_of(value: Any) -> str:
    """A value as the server reads it."""
    match value:
        case bool():
            return "t" if value else "f"
        case float():
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(
                repr(value), repr(value)
            )
        case Decimal():
            return format(value, "f")
        case bytes():
            return "\\x" + value.hex()
        case datetime():
            return value.isoformat(" ")
        case date():
            return value.isoformat()
        case _:
            return str(value)


def keys_of(rows: pa.Table, columns: Sequence[str]) -> set[Key]:
    """The distinct keys among the rows."""
    return {key for key in _keys(rows, columns) if None not in key}


def among(rows: pa.Table, columns: Sequence[str], keys: set[Key]) -> pa.Table:
    """The rows whose key is among the keys."""
    return rows.filter(pa.array([key in keys for key in _keys(rows, columns)], pa.bool_()))


NAN = float("nan")


def _keys(rows: pa.Table, columns: Sequence[str]) -> Iterator[Key]:
    """The key of each row; every NaN is the same object, since NaN joins with NaN."""
    chosen = []
    for name in columns:
        values = rows.column(name).to_pylist()
        if pa.types.is_floating(rows.schema.field(name).type):
            values = [NAN if v != v else v for v in values]
        chosen.append(values)
    return zip(*chosen, strict=True)


def chunks(keys: Iterable[Key], length: int = CHUNK) -> Iterator[list[Key]]:
    """The keys in lists of a length."""
    rest = iter(keys)
    while chunk := list(islice(rest, length)):
        yield chunk


def array(values: Iterable[Any], cast: str) -> sql.Composable:
    """An array literal of the type."""
    escaped = (text_of(v).replace("\\", "\\\\").replace('"', '\\"') for v in values)
    text = "{" + ",".join(f'"{e}"' for e in escaped) + "}"
    return sql.SQL("{}::{}[]").format(sql.Literal(text), sql.SQL(cast))


Columns = Sequence[tuple[sql.Composable, str]]
"""Columns of the table that is asked, each with the type in which it is compared."""


def equal_to_any(columns: Columns, keys: Sequence[Key]) -> sql.Composable:
    """The columns are one of the keys, which the condition carries."""
    arrays = [array(values, cast) for values, (_, cast) in
              zip(list(zip(*keys, strict=True)) or [()] * len(columns), columns, strict=True)]  # fmt: skip
    if len(columns) == 1:
        return sql.SQL("{} = ANY({})").format(columns[0][0], arrays[0])
    return sql.SQL("({}) IN (SELECT * FROM unnest({}))").format(
        sql.SQL(", ").join(c for c, _ in columns), sql.SQL(", ").join(arrays)
    )


def equal_to_stored(columns: Columns, probe: int) -> sql.Composable:
    """The columns are one of the keys that were stored for this probe."""
    listed = [sql.SQL("{}::{}").format(sql.Identifier(f"k{n}"), sql.SQL(cast))
              for n, (_, cast) in enumerate(columns)]  # fmt: skip
    return sql.SQL("({}) IN (SELECT {} FROM {} WHERE probe = {})").format(
        sql.SQL(", ").join(c for c, _ in columns), sql.SQL(", ").join(listed), TABLE,
        sql.Literal(probe),
    )  # fmt: skip


def equal_to_found(columns: Columns, found: sql.Composable, extra: Sequence[Key]) -> sql.Composable:
    """The columns are one of what a query finds (in those types), or one of the extra keys."""
    if len(columns) == 1:
        more = array([k for (k,) in extra], columns[0][1])
        return sql.SQL("{} = ANY(ARRAY({}) || {})").format(columns[0][0], found, more)
    more = sql.SQL("")
    if extra:
        arrays = [array(values, cast) for values, (_, cast) in
                  zip(zip(*extra, strict=True), columns, strict=True)]  # fmt: skip
        more = sql.SQL(" UNION ALL SELECT * FROM unnest({})").format(sql.SQL(", ").join(arrays))
    return sql.SQL("({}) IN ({}{})").format(sql.SQL(", ").join(c for c, _ in columns), found, more)


def may_make_tables(connection: Connection) -> bool:
    """The role may make temporary tables."""
    query = "SELECT has_database_privilege(current_database(), 'TEMPORARY')"
    return connection.execute(query).fetchone() == (True,)


def make_table(connection: Connection) -> None:
    """The table for keys; before the transaction that reads, which may make none."""
    listed = sql.SQL(", ").join(sql.SQL("{} text").format(sql.Identifier(f"k{n}"))
                                for n in range(MOST_COLUMNS))  # fmt: skip
    connection.execute("BEGIN READ WRITE")
    connection.execute(sql.SQL("CREATE TEMPORARY TABLE rv_keys (probe int, {}) ON COMMIT DELETE ROWS")
                       .format(listed))  # fmt: skip
    connection.execute("COMMIT")


def store(connection: Connection, probe: int, keys: Iterable[Key]) -> None:
    """Put keys into the table, by COPY, and let the planner know how many."""
    with connection.cursor() as cursor:
        with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(TABLE)) as copy:
            for key in keys:
                padded = [None] * (MOST_COLUMNS - len(key))
                copy.write_row((probe, *(text_of(v) for v in key), *padded))
        cursor.execute(sql.SQL("ANALYZE {}").format(TABLE))
