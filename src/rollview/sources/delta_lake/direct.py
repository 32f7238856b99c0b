"""Changed rows read straight from the Parquet files that the commits name.

F1  Each occurrence of a file (a commit adds, removes or fills it) gives its rows once, with that
    commit's stamp; a file that was added and later removed or restored occurs more than once.
F2  A row that cannot be told to belong to an occurrence is an error, never dropped.
F3  A missing file is an error, whatever the session says of missing and corrupt files.
F4  Building a DataFrame runs no job and reads no file's contents; files are listed by the driver.
Knows files and stamps; which commits are read this way is capture.way's decision.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from rollview.changes import COUNT, STAMP
from rollview.ledger.rows import CapturedChange
from rollview.sources.frames import frame
from rollview.views.syntax import quoted

CHANGE_TYPE = "_change_type"
CHANGE_COUNTS = {"insert": 1, "update_postimage": 1, "update_preimage": -1, "delete": -1}
FILE_COUNTS = {"added": 1, "removed": -1}
BY_CHANGE_TYPE = 0
"""The count of an occurrence whose rows each say themselves what they are."""

MANY_FILES = 64
"""From here on a broadcast of file names is cheaper than an expression that lists them."""

_FILE = "_rv_file"
_LISTING = "spark.sql.sources.parallelPartitionDiscovery.threshold"

_GLOB, _ESCAPED = re.compile(r"([{}\[\]*?\\])"), r"\\\1"
"""Spark takes a path for a pattern; a folder's name may well have brackets or braces."""

Values = tuple[tuple[str, str | None], ...]
Value = Callable[[str], str]
"""What a row's occurrence says, as SQL: STAMP, COUNT or a partition column -> its value for the row."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One file as one commit names it; `count` may be BY_CHANGE_TYPE."""

    path: str
    stamp: int
    count: int
    partition_values: Values


def occurrences(location: str, captured: Sequence[CapturedChange]) -> list[Occurrence]:
    """Every file that holds changed rows of the captured commits."""
    found = []
    for change in captured:
        lists = [(BY_CHANGE_TYPE, change.files["change_files"])]
        lists += [(count, change.files[kind]) for kind, count in FILE_COUNTS.items()]
        for count, files in lists:
            for path, values, *_ in files:
                where = os.path.join(location, path)
                found.append(Occurrence(where, change.csn, count, tuple(values.items())))
    return found


def rows_of(
    spark: SparkSession, found: Sequence[Occurrence], columns: Sequence[tuple[str, str]]
) -> list[DataFrame]:
    """The rows of all occurrences: `columns`, stamp, count; one read unless files occur again."""
    return [told(spark, part, columns) for part in _apart(found)]


def _apart(found: Sequence[Occurrence]) -> list[list[Occurrence]]:
    """Occurrences that one read can tell apart: each path once, the same partition columns (F1)."""
    parts: dict[tuple[int, tuple[str, ...]], list[Occurrence]] = {}
    seen: dict[str, int] = {}
    for one in found:
        turn = seen[one.path] = seen.get(one.path, -1) + 1
        names = tuple(name for name, _ in one.partition_values)
        parts.setdefault((turn, names), []).append(one)
    return list(parts.values())


def told(
    spark: SparkSession,
    part: Sequence[Occurrence],
    columns: Sequence[tuple[str, str]],
    also: Mapping[str, str] = MappingProxyType({}),
    where: str | None = None,
) -> DataFrame:
    """The rows of occurrences that differ in their paths, with what each occurrence tells: stamp and count.

    `also` are other columns, by name, and `where` a condition; both may use `_metadata`.
    """
    partitions = {name.lower(): name for name, _ in part[0].partition_values}
    inside = [(name, kind) for name, kind in columns if name.lower() not in partitions]
    typed = any(one.count == BY_CHANGE_TYPE for one in part)
    files = _parquet(spark, part, [*inside, *([(CHANGE_TYPE, "string")] if typed else [])])
    placed, value = _placed(spark, files.where(where) if where else files, part)
    chosen = [
        f"{_outside(value, partitions[name.lower()], kind)} AS {quoted(name)}"
        if name.lower() in partitions
        else quoted(name)
        for name, kind in columns
    ]
    chosen += [f"{expression} AS {name}" for name, expression in also.items()]
    count = _count_by_row(value(COUNT)) if typed else value(COUNT)
    return placed.selectExpr(*chosen, f"{value(STAMP)} AS {STAMP}", f"{count} AS {COUNT}")


def _outside(value: Value, partition: str, kind: str) -> str:
    """A partition column: Delta Lake keeps its values as text, and the empty text is NULL."""
    return f"CAST(NULLIF({value(partition)}, '') AS {kind})"


def _count_by_row(of_file: str) -> str:
    """What the row itself says, in a change file; else what its file says."""
    counts = " ".join(f"WHEN '{kind}' THEN {count}L" for kind, count in CHANGE_COUNTS.items())
    unknown = _refused("a row with an unknown _change_type")
    return (
        f"CASE WHEN {CHANGE_TYPE} IS NULL THEN {of_file} "
        f"ELSE CASE {CHANGE_TYPE} {counts} ELSE CAST({unknown} AS BIGINT) END END"
    )


def _parquet(
    spark: SparkSession, part: Sequence[Occurrence], schema: Sequence[tuple[str, str]]
) -> DataFrame:
    asked = schema or [("_rv_nothing", "boolean")]  # an empty schema is refused
    reader = spark.read.format("parquet").schema(
        ", ".join(f"{quoted(name)} {kind}" for name, kind in asked)
    )
    # The partition values come from the log, and need not be guessed from the folders.
    reader = reader.option("recursiveFileLookup", "true")
    reader = reader.option("ignoreMissingFiles", "false").option("ignoreCorruptFiles", "false")
    paths = [f"file:{_GLOB.sub(_ESCAPED, one.path)}" for one in part]
    with _listing_without_job(spark, len(paths)):
        return reader.load(paths)


@contextmanager
def _listing_without_job(spark: SparkSession, files: int) -> Iterator[None]:
    """Spark lists many paths by a job; here each path is a file, and one stat of it (F4)."""
    before = spark.conf.get(_LISTING) or "32"
    if int(before) > files:
        yield
        return
    spark.conf.set(_LISTING, str(files + 1))
    try:
        yield
    finally:
        spark.conf.set(_LISTING, before)


def _placed(
    spark: SparkSession, files: DataFrame, part: Sequence[Occurrence]
) -> tuple[DataFrame, Value]:
    """The rows, and what the occurrence of each says (F2)."""
    if len({(one.stamp, one.count, one.partition_values) for one in part}) == 1:
        return files, lambda name: _literal(_plain(part[0], name), name)
    key = _file_key(part)
    placed = files.withColumn(_FILE, _file_of(files, part))
    if len(part) <= MANY_FILES:
        return placed, _by_map(part, key)
    return _by_broadcast(spark, placed, part, key)


def _by_map(part: Sequence[Occurrence], key: Callable[[str], str]) -> Value:
    """The value by a constant map from files: the compiled query stays the same whatever the map holds."""

    def value(name: str) -> str:
        pairs = ", ".join(
            f"{_literal(key(one.path), _FILE)}, {_literal(_plain(one, name), name)}" for one in part
        )
        found = f"ELEMENT_AT(MAP({pairs}), {_FILE})"
        return _known(found) if name in (STAMP, COUNT) else found

    return value


def _by_broadcast(
    spark: SparkSession, placed: DataFrame, part: Sequence[Occurrence], key: Callable[[str], str]
) -> tuple[DataFrame, Value]:
    prefixed = {name: f"_rv_of_file_{place}" for place, name in enumerate(_names(part[0]))}
    table = pa.table(
        {_FILE: pa.array([key(one.path) for one in part], pa.string())}
        | {
            prefixed[name]: pa.array([_plain(one, name) for one in part], _arrow_type(name))
            for name in prefixed
        }
    )
    kinds = {name: "bigint" if name in (STAMP, COUNT) else "string" for name in prefixed}
    schema = ", ".join([f"{_FILE} string", *(f"{prefixed[n]} {kind}" for n, kind in kinds.items())])
    known = F.broadcast(frame(spark, table, schema))

    def value(name: str) -> str:
        return _known(prefixed[name]) if name in (STAMP, COUNT) else prefixed[name]

    return placed.join(known, _FILE, "left"), value


def _known(number: str) -> str:
    """The number, or an error for a row whose file no occurrence names (F2)."""
    return f"COALESCE({number}, CAST({_refused('a row of an unknown file')} AS BIGINT))"


def _names(one: Occurrence) -> list[str]:
    return [STAMP, COUNT, *(name for name, _ in one.partition_values)]


def _plain(one: Occurrence, name: str) -> int | str | None:
    if name == STAMP:
        return one.stamp
    return one.count if name == COUNT else dict(one.partition_values)[name]


def _literal(value: int | str | None, name: str) -> str:
    if isinstance(value, int):
        return f"{value}L"
    if value is None:
        return f"CAST(NULL AS {'BIGINT' if name in (STAMP, COUNT) else 'STRING'})"
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _arrow_type(name: str) -> pa.DataType:
    return pa.int64() if name in (STAMP, COUNT) else pa.string()


def _names_differ(part: Sequence[Occurrence]) -> bool:
    """Delta Lake's writers give every file a name of its own; a converted table's files were named by others."""
    return len({os.path.basename(one.path) for one in part}) == len(part)


def _file_key(part: Sequence[Occurrence]) -> Callable[[str], str]:
    """What tells the files apart: their names, or their paths where a name occurs twice."""
    return os.path.basename if _names_differ(part) else lambda path: f"file:{path}"


def _file_of(files: DataFrame, part: Sequence[Occurrence]) -> Column:
    """The same of a row's file. `_metadata.file_path` is URL-encoded, but for the plus sign."""
    metadata = files.metadataColumn("_metadata")
    if _names_differ(part):
        return metadata["file_name"]
    return F.url_decode(F.replace(metadata["file_path"], F.lit("+"), F.lit("%2B")))


def _refused(what: str) -> str:
    return f"RAISE_ERROR('rollview: {what} among the changes of a Delta Lake table')"
