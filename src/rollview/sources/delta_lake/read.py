"""The rows of a captured Delta Lake table: what changed, and the table at an exact version.

R1  changes: state(lo) + changes(lo, hi] = state(hi), as bags; the ways of reading give the same
    net effect for every version.
R2  Columns come in the order asked for, with the relation's types, then the stamp and the count.
R3  A feed is read only over versions whose commit files are there: the feed reader itself skips
    missing ones without a word. Ask `check_still_there` again once the rows were read.
R4  Building a DataFrame runs no Spark job; but Delta Lake may run its own to learn the schema of a
    version whose writer left no checksum file (RESTORE leaves none).
Times are positions here; relation.py turns CSNs into them. Words: docs/glossary.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rollview.changes import COUNT, STAMP
from rollview.errors import ChangesLost, SchemaChanged, SourceError
from rollview.ledger.rows import BaseRelation, CapturedChange
from rollview.sources.delta_lake import fetched, log, vectors
from rollview.sources.delta_lake.direct import (
    CHANGE_COUNTS,
    CHANGE_TYPE,
    Occurrence,
    occurrences,
    rows_of,
    told,
)
from rollview.sources.delta_lake.hidden import hidden, rows_hidden
from rollview.sources.delta_lake.identity import check_registered
from rollview.sources.delta_lake.listed import plain_files
from rollview.sources.delta_lake.lookup import Keys, having, looked_up, told_keys
from rollview.sources.delta_lake.missing import explain_missing
from rollview.sources.delta_lake.named_rows import FEW, Stored
from rollview.sources.frames import empty_rows, frame
from rollview.views.syntax import quoted

__all__ = [
    "Moment", "as_of", "changes", "cheaper", "check_still_there", "explain_missing", "fetched_changes",
    "fetched_version", "found_at", "parts_at", "patched",
]  # fmt: skip

COMMIT_VERSION = "_commit_version"

OLD_VERSION_SECONDS = 0.6
PATCH_SECONDS = 0.1
FEED_SECONDS = 0.5
SECONDS_PER_ROW = 1e-6
"""notes/delta.md, sections A and Direct: what an old version, a read of change files and a read of
the feed cost before the first row."""


def changes(
    spark: SparkSession,
    relation: BaseRelation,
    captured: Sequence[CapturedChange],
    columns: Sequence[str],
) -> DataFrame:
    """The changed rows of the captured commits: the columns, `_rv_stamp`, `_rv_count` (R1, R2)."""
    typed = _typed(relation, columns)
    direct = [change for change in captured if change.files["way"] == "direct"]
    feed = [change for change in captured if change.files["way"] == "feed"]
    parts = rows_of(spark, occurrences(relation.location, direct), typed)
    parts += rows_hidden(spark, hidden(relation.location, direct), typed)
    check_still_there(relation, feed)
    parts += [_feed(spark, relation, run, typed) for run in _runs(feed)]
    if not parts:
        return empty_rows(spark, _schema([*typed, (STAMP, "bigint"), (COUNT, "bigint")]))
    united = parts[0]
    for part in parts[1:]:
        united = united.unionAll(part)
    return united


def as_of(
    spark: SparkSession,
    relation: BaseRelation,
    version: int,
    columns: Sequence[str],
    only: Keys | None = None,
) -> DataFrame:
    """The table at exactly that version: the columns and `_rv_count`, which is 1 everywhere.

    `only`: the rows that have one of the keys, and perhaps others.
    """
    check_registered(relation)
    condition = told_keys(only) if only is not None else None
    typed = _typed(relation, columns)
    stored = _stored(relation, version)
    if stored is not None and not stored.hidden:
        return told(spark, stored.files, typed, where=condition).drop(STAMP)
    reader = spark.read.format("delta").option("versionAsOf", version)
    rows = reader.load(_uri(relation.location))
    there = {name.lower() for name in rows.columns}
    chosen = [_cast(name, kind, name.lower() in there) for name, kind in typed]
    rows = rows.selectExpr(*chosen, f"1L AS {COUNT}")
    return rows.where(condition) if condition else rows


def _stored(relation: BaseRelation, version: int) -> Stored | None:
    """The files of the version, if each is plain Parquet, and the rows that are not its any more."""
    files = plain_files(relation, version)
    if files is None:
        return None
    paths = [os.path.join(relation.location, f.path) for f in files]
    try:
        hidden = {
            path: vectors.marked(relation.location, file.deletion_vector)
            for path, file in zip(paths, files, strict=True)
            if file.deletion_vector is not None
        }
    except SourceError:  # a vector is gone, or damaged: who reads the version says so
        return None
    return Stored([Occurrence(path, 0, 1, ()) for path in paths], hidden)


@dataclass(frozen=True, slots=True)
class Moment:
    """A table as of a time t: its version then, and what came after.

    `later` are the changes after t, up to `newest`, the newest captured version; versions after `schema_limit` do not
    have the columns as they were.
    """

    relation: BaseRelation
    version: int
    newest: int
    later: Sequence[CapturedChange]
    schema_limit: int | None

    def nearest(self) -> tuple[int, list[CapturedChange]]:
        """The version that is read, and the changes that are taken back from it: whatever is cheapest."""
        limit = self.schema_limit
        usable = self.newest if limit is None else min(self.newest, limit)
        between = [change for change in self.later if change.position <= usable]
        if not between:
            return max(usable, self.version), []
        rows = sum(change.inserted + change.deleted for change in between)
        # Few rows behind vectors are read for the step's own changes, and kept; many take a scan of their own.
        behind = sum(change.deleted for change in between if change.files.get("hidden"))
        feed = behind > FEW or any(change.files["way"] == "feed" for change in between)
        if cheaper(rows, self.relation.rows, feed) == "travel":
            return self.version, []
        return usable, between


Changed = Callable[[BaseRelation, Sequence[CapturedChange], Sequence[str]], DataFrame]
"""How changes are read: `changes` in a session."""


def parts_at(
    spark: SparkSession,
    moment: Moment,
    columns: Sequence[str],
    changed: Changed,
    only: Keys | None = None,
) -> tuple[DataFrame, ...]:
    """The table as of a time: the columns, `_rv_count`.

    One version, and after it what takes later changes back, if that is cheaper than an old version. A bag whose counts
    may be negative. `only`: as for `as_of`.
    """
    version, between = moment.nearest()
    rows = as_of(spark, moment.relation, version, columns, only)
    return (rows, *_taken_back(moment.relation, between, columns, changed))


def found_at(
    spark: SparkSession, moment: Moment, columns: Sequence[str], changed: Changed, keys: Keys
) -> DataFrame | None:
    """The rows as of a time that have one of the keys, and perhaps others, looked up on the driver.

    None if they should be scanned for.
    """
    check_registered(moment.relation)
    version, between = moment.nearest()
    stored, typed = _stored(moment.relation, version), _typed(moment.relation, columns)
    found = looked_up(stored, typed, keys) if stored is not None else None
    if found is None:
        return None
    rows = frame(spark, found, _schema(typed)).selectExpr("*", f"1L AS {COUNT}")
    patch = _taken_back(moment.relation, between, columns, changed)
    return reduce(DataFrame.unionAll, patch, rows)


def fetched_changes(
    relation: BaseRelation, captured: Sequence[CapturedChange], columns: Sequence[str]
) -> pa.Table | None:
    """`changes` on the driver, if they are few and plain; else None."""
    return fetched.changed(relation.location, captured, _typed(relation, columns))


def fetched_version(
    relation: BaseRelation, version: int, columns: Sequence[str], keys: Keys | None
) -> pa.Table | None:
    """The version's rows that have one of the keys, all without keys, if its files are plain; else None."""
    check_registered(relation)
    stored, typed = _stored(relation, version), _typed(relation, columns)
    if stored is None:
        return None
    return looked_up(stored, typed, keys) if keys is not None else fetched.whole(stored, typed)


def patched(rows: pa.Table, later: pa.Table, keys: Keys) -> pa.Table:
    """Rows of a version, each counted once, with later changes taken back."""
    ones = rows.append_column(COUNT, pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows))
    if not later.num_rows:
        return ones
    back = having(later.drop_columns([STAMP]), keys)
    negated = pc.negate(back.column(COUNT))
    return pa.concat_tables([ones, back.drop_columns([COUNT]).append_column(COUNT, negated)])


def _taken_back(
    relation: BaseRelation,
    between: Sequence[CapturedChange],
    columns: Sequence[str],
    changed: Changed,
) -> list[DataFrame]:
    if not between:
        return []
    rows = changed(relation, between, columns).drop(STAMP)
    return [rows.withColumn(COUNT, -F.col(COUNT))]


def cheaper(later_rows: int, table_rows: int, feed: bool = False) -> Literal["patch", "travel"]:
    """Whether to take the later changes back from the newest version, or to travel to the old one.

    A bag of more changes than rows is also dearer for whoever joins with it.
    """
    patch = (FEED_SECONDS if feed else 0.0) + PATCH_SECONDS + later_rows * SECONDS_PER_ROW
    return "patch" if patch < OLD_VERSION_SECONDS and later_rows <= table_rows else "travel"


def check_still_there(relation: BaseRelation, captured: Sequence[CapturedChange]) -> None:
    """ChangesLost if another table is there, or a version that the feed reads is gone from the log (R3)."""
    check_registered(relation)
    wanted = {change.position for change in captured if change.files["way"] == "feed"}
    missing = sorted(wanted - set(log.versions(relation.location)) if wanted else ())
    if missing:
        raise ChangesLost(
            f'changes of Delta Lake table "{relation.name}" are lost',
            f"version {missing[0]} was cleaned out of its log before it was propagated",
            f"rollview source resync {relation.name}",
        )


def _runs(feed: Sequence[CapturedChange]) -> list[list[CapturedChange]]:
    """Commits that one read of the feed can take: those between two changes of the columns."""
    runs: dict[int, list[CapturedChange]] = {}
    for change in feed:
        runs.setdefault(change.files.get("schema_position", 0), []).append(change)
    return list(runs.values())


def _feed(
    spark: SparkSession,
    relation: BaseRelation,
    captured: Sequence[CapturedChange],
    typed: Sequence[tuple[str, str]],
) -> DataFrame:
    """The rows by the table's own change feed: one read, of just these versions."""
    stamps: dict[int, int] = {change.position: change.csn for change in captured}
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    reader = reader.option("startingVersion", min(stamps)).option("endingVersion", max(stamps))
    rows = reader.load(_uri(relation.location))
    rows = rows.where(F.col(COMMIT_VERSION).isin(list(stamps)))
    _check_in_feed(relation, rows.columns, typed)
    chosen = [_cast(name, kind, True) for name, kind in typed]
    stamp = f"ELEMENT_AT({_map(stamps)}, {COMMIT_VERSION}) AS {STAMP}"
    count = f"ELEMENT_AT({_map(CHANGE_COUNTS)}, {CHANGE_TYPE}) AS {COUNT}"
    return rows.selectExpr(*chosen, stamp, count)


def _check_in_feed(
    relation: BaseRelation, there: Sequence[str], typed: Sequence[tuple[str, str]]
) -> None:
    """The feed has the columns of the newest version: one that it lacks was dropped since."""
    lowered = {name.lower() for name in there}
    for name, _ in typed:
        if name.lower() not in lowered:
            raise SchemaChanged(
                f'Delta Lake table "{relation.name}" has no column "{name}" any more',
                "its change feed gives older changes without it",
                "drop the view and create it anew over the columns that are there now",
            )


def _map(pairs: Mapping[int, int] | Mapping[str, int]) -> str:
    """A constant map to BIGINT, as SQL."""
    keys = (f"{key}L" if isinstance(key, int) else f"'{key}'" for key in pairs)
    return f"MAP({', '.join(f'{k}, {v}L' for k, v in zip(keys, pairs.values(), strict=True))})"


def _cast(name: str, kind: str, there: bool) -> str:
    """A column with the relation's type; NULL in versions from before it was added."""
    return f"CAST({quoted(name) if there else 'NULL'} AS {kind}) AS {quoted(name)}"


def _typed(relation: BaseRelation, columns: Sequence[str]) -> list[tuple[str, str]]:
    known = {name.lower(): kind for name, kind in relation.columns}
    missing = [name for name in columns if name.lower() not in known]
    if missing:
        raise SchemaChanged(
            f'Delta Lake table "{relation.name}" has no column "{missing[0]}"',
            f"its columns are {', '.join(name for name, _ in relation.columns)}",
        )
    return [(name, known[name.lower()]) for name in columns]


def _schema(columns: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{quoted(name)} {kind}" for name, kind in columns)


def _uri(location: str) -> str:
    return f"file:{os.path.abspath(location)}"
