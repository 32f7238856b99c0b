"""The first rows of a table: read from one exported snapshot, in parallel, by ranges of its pages.

F1  Every part reads the same moment: it imports the snapshot, and fails unless the server shows it the leader's.
F2  The parts cover the table: ranges are of pages, and the last one of each leaf has no end.
F3  Rows go through the codecs that capture uses (types.py).
Executors connect by themselves; a retried task that comes after the snapshot is gone fails.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from psycopg import sql
from pyspark.sql import DataFrame, SparkSession

from rollview.errors import ChangesLost, RollviewError, SourceError
from rollview.sources.postgresql.connect import Connection, connected
from rollview.sources.postgresql.live import TooLong, limit, limited
from rollview.sources.postgresql.ranges import Range
from rollview.sources.postgresql.spool import CHUNK, arrays_of
from rollview.sources.postgresql.table import Table
from rollview.sources.postgresql.types import arrow_type, spark_type

PART_PAGES = 16_384
"""Pages (of 8 KiB) that one part reads."""
CHUNK_BYTES = 1 << 24
"""Bytes that are turned into Arrow at a time, and one row more."""

LEAVES = """
SELECT n.nspname, c.relname, pg_relation_size(c.oid) / current_setting('block_size')::bigint
FROM (SELECT relid::oid AS oid FROM pg_partition_tree(%(oid)s::oid::regclass) WHERE isleaf
      UNION SELECT %(oid)s::oid) t JOIN pg_class c ON c.oid = t.oid
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' ORDER BY 1, 2"""


@dataclass(frozen=True, slots=True)
class Part:
    """Pages [first, end) of one leaf; None: to its end. Or of all its pages, the rows in a range of `keys`."""

    schema: str
    leaf: str
    first: int
    end: int | None
    keys: Range | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """An exported snapshot: its name, and what pg_current_snapshot() is in it."""

    name: str
    text: str


def parts_of(connection: Connection, table: Table, pages: int = PART_PAGES) -> list[Part]:
    """What the parts of a load read (F2)."""
    parts = []
    for schema, leaf, size in connection.execute(LEAVES, {"oid": table.oid}).fetchall():
        firsts = list(range(0, max(size, 1), pages))
        ends: list[int | None] = [*firsts[1:], None]
        parts += [Part(schema, leaf, a, b) for a, b in zip(firsts, ends, strict=True)]
    return parts


def key_parts(connection: Connection, table: Table, keys: Range) -> list[Part]:
    """The parts that read a range of keys: a leaf each, by the index of the key."""
    leaves = connection.execute(LEAVES, {"oid": table.oid}).fetchall()
    return [Part(schema, leaf, 0, None, keys) for schema, leaf, _ in leaves]


def begin_at(connection: Connection, snapshot: str) -> str:
    """Begin a transaction that shows the exported snapshot; the snapshot as text."""
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(snapshot)))
    row = connection.execute("SELECT pg_current_snapshot()::text").fetchone()
    assert row is not None, "a SELECT without FROM has one row"
    return str(row[0])


def part_rows(connection: Connection, table: Table, part: Part) -> Iterator[pa.RecordBatch]:
    """The rows of one part, in the transaction that is open."""
    names = sql.SQL(", ").join(sql.Identifier(c.name) for c in table.columns)
    leaf = sql.Identifier(part.schema, part.leaf)
    if part.keys is not None:
        where = part.keys.condition
    else:
        where = sql.SQL("ctid >= {}::tid").format(sql.Literal(f"({part.first},0)"))
        if part.end is not None:
            where += sql.SQL(" AND ctid < {}::tid").format(sql.Literal(f"({part.end},0)"))
    # Every value is quoted and NULL is not, so that the two cannot be confused.
    query = sql.SQL(
        "COPY (SELECT {} FROM ONLY {} WHERE {}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)"
    ).format(names, leaf, where)
    schema = pa.schema([pa.field(c.name, arrow_type(c.codec)) for c in table.columns])
    lines: list[bytes] = []
    size = 0
    with connection.cursor() as cursor, cursor.copy(query) as copied:
        for line in copied:  # a row each
            lines.append(bytes(line))
            size += len(line)
            if len(lines) == CHUNK or size > CHUNK_BYTES:
                yield pa.RecordBatch.from_arrays(
                    arrays_of(table, _texts(table, lines)), schema=schema
                )
                lines, size = [], 0
    if lines:
        yield pa.RecordBatch.from_arrays(arrays_of(table, _texts(table, lines)), schema=schema)


def _texts(table: Table, lines: Sequence[bytes]) -> list[pa.Array]:
    """The columns of rows in CSV, as texts."""
    data, names = b"".join(lines), [str(n) for n in range(len(table.columns))]
    found = pyarrow.csv.read_csv(
        pa.BufferReader(data),
        pyarrow.csv.ReadOptions(column_names=names, block_size=len(data) + 1, use_threads=False),
        pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), null_values=[""],
                                   strings_can_be_null=True, quoted_strings_can_be_null=False),
    )  # fmt: skip
    assert found.num_rows == len(lines), "each row of the answer is a row of the table"
    return [column.combine_chunks() for column in found.columns]


def rows_at(
    spark: SparkSession,
    url: str,
    source: str,
    table: Table,
    parts: Sequence[Part],
    moment: Moment,
    folder: Path,
    seconds: float = 0,
) -> DataFrame:
    """The table as the snapshot shows it: read by the executors, a task a part, into files in `folder`.

    `seconds`, unless 0: how long the server may take for a part, else TooLong.
    """
    folder.mkdir(parents=True, exist_ok=True)
    numbered = list(enumerate(parts))
    reading = _reading(url, source, table, moment, str(folder), seconds)
    failures = spark.sparkContext.parallelize(numbered, len(numbered)).map(reading).collect()
    for failure in failures:
        if failure is not None:
            too_long, *said = failure
            raise (TooLong if too_long else SourceError)(*said)
    schema = ", ".join(
        f"`{c.name.replace('`', '``')}` {spark_type(c.codec)}" for c in table.columns
    )
    return spark.read.schema(schema).parquet(str(folder))


def _reading(
    url: str, source: str, table: Table, moment: Moment, folder: str, seconds: float
) -> Callable[[tuple[int, Part]], tuple[bool, str, str, str] | None]:
    """What a task does: it writes its part, or tells an error that is ours: was it too long, and its three parts."""

    def read(numbered: tuple[int, Part]) -> tuple[bool, str, str, str] | None:
        number, part = numbered
        path = Path(folder) / f"part-{number}.parquet"
        attempt = Path(folder) / f".attempt-{number}-{uuid.uuid4().hex}"
        schema = pa.schema([pa.field(c.name, arrow_type(c.codec)) for c in table.columns])
        try:
            with (
                connected(url, source) as connection,
                pyarrow.parquet.ParquetWriter(attempt, schema) as writer,
            ):
                check_moment(source, begin_at(connection, moment.name), moment)
                if seconds:  # else the limit stays that the owner has set for the role
                    connection.execute(limit(seconds))
                with limited(source, seconds or float("inf")):
                    for batch in part_rows(connection, table, part):
                        writer.write_batch(batch)
        except RollviewError as problem:
            return isinstance(problem, TooLong), problem.what, problem.detail, problem.hint
        attempt.rename(path)
        return None

    return read


def check_moment(source: str, seen: str, moment: Moment) -> None:
    """Raise unless the snapshot that is seen is the one that was exported (F1)."""
    if seen != moment.text:
        raise ChangesLost(
            f'source "{source}" cannot be loaded: a part of it would be of another moment',
            f"snapshot {seen} instead of {moment.text}",
            "try again",
        )
