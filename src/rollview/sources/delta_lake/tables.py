"""Delta Lake tables found and registered, each pinned at its newest version.

T1  A table is registered only if every later change of it can be told: it is in the files under
    `location`, it records its changes, and no column takes a name that rollview needs.
T2  Position, columns, properties and rows are all of one version.
T3  A folder's tables are those below it: a link that leads out of it is not followed.
Runs Spark only to count rows, and for what the log no longer says. Words: docs/glossary.md.
"""

from __future__ import annotations

import os
import re

from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rollview.changes import Csn
from rollview.errors import ConfigError, SourceError
from rollview.ledger.rows import BaseRelation
from rollview.sources.delta_lake import log
from rollview.sources.delta_lake.capture import (
    Properties,
    feed_on_sql,
    has_feed,
    plain_table,
    properties_of,
    records_changes,
)
from rollview.sources.delta_lake.log import Columns, Metadata, Protocol

TABLE_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
RESERVED_PREFIX = "_rv_"
RESERVED = frozenset({"_change_type", "_commit_version", "_commit_timestamp"})

# Their commits are not, or not only, the files under _delta_log.
UNREADABLE_FEATURES = frozenset({"catalogManaged", "catalogOwned", "catalogOwned-preview"})
# Table features that a reader need not know; DESCRIBE DETAIL lists all features in one.
WRITER_FEATURES = frozenset(
    {
        "appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns",
        "identityColumns", "rowTracking", "domainMetadata", "inCommitTimestamp", "clustering",
        "icebergCompatV1", "icebergCompatV2", "allowColumnDefaults", "checkpointProtection",
        "materializePartitionColumns",
    }
)  # fmt: skip


def find_tables(folder: str) -> dict[str, str]:
    """Every Delta Lake table in or below the folder: name -> location (T3)."""
    root = _local_path(folder)
    if not os.path.isdir(root):
        raise ConfigError(f'there is no folder "{folder}"', hint="name the folder of the tables")
    found: dict[str, str] = {}
    waiting, seen = [root], {root}
    while waiting:
        place = waiting.pop()
        if os.path.isdir(log.log_folder(place)):
            _add(found, place)
            continue
        below = [path for path in _folders(place, root) if path not in seen]
        seen.update(below)
        waiting.extend(below)
    return dict(sorted(found.items()))


def locate(spark: SparkSession, place: str) -> str:
    """The location of a table named by its path or by its name in Spark's catalog."""
    path = _local_path(place)
    if "/" in place or os.path.isdir(path):
        return path
    quoted = ".".join(f"`{part.replace('`', '``')}`" for part in place.split("."))
    try:
        detail = spark.sql(f"DESCRIBE DETAIL {quoted}").first()
    except PySparkException as error:
        raise ConfigError(
            f'"{place}" is neither a folder nor a Delta Lake table of the catalog',
            str(error).splitlines()[0],
            "name a path, or catalog.schema.table",
        ) from error
    if detail is None or detail["format"] != "delta":
        raise ConfigError(f'"{place}" is not a Delta Lake table')
    return _local_path(detail["location"])


def register(
    spark: SparkSession, source: str, table_name: str, location: str, csn: Csn
) -> BaseRelation:
    """The table as it is now, checked (T1) and pinned (T2)."""
    name, path = f"{source}.{table_name}", _local_path(location)
    if not TABLE_NAME.fullmatch(table_name) or table_name.startswith(RESERVED_PREFIX):
        raise _bad_name(table_name, path)
    version = _newest(name, path)
    try:
        metadata, protocol = _state(spark, path, version)
        columns = log.columns(metadata.schema)
        properties = properties_of(metadata, protocol)
        _check_columns(name, columns)
        _check_properties(name, path, properties)
        rows, size = _size(spark, path, version)
    except PySparkException as error:
        raise ConfigError(
            f'Delta Lake table "{name}" cannot be read', str(error).splitlines()[0]
        ) from error
    return BaseRelation(
        name=name,
        source=source,
        location=path,
        table_id=metadata.id,
        position=version,
        columns=columns,
        base_csn=csn,
        base_position=version,
        rows=rows,
        bytes=size,
        stopped=None,
        properties=properties,
    )


def _folders(place: str, root: str) -> list[str]:
    """The folders in `place`, resolved; those that are hidden or lead out of `root` left out."""
    with os.scandir(place) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir())
    paths = [os.path.realpath(os.path.join(place, n)) for n in names if n[0] not in "._"]
    for path in paths:
        if not _inside(path, root) and os.path.isdir(log.log_folder(path)):
            raise ConfigError(
                f'a link in "{place}" leads to the Delta Lake table "{path}"',
                f'which is not below "{root}"',
                f'name it by itself: delta={{"{os.path.basename(path).lower()}": "{path}"}}',
            )
    return [path for path in paths if _inside(path, root)]


def _inside(path: str, root: str) -> bool:
    return os.path.commonpath([path, root]) == root


def _add(found: dict[str, str], place: str) -> None:
    name = os.path.basename(place).lower()
    if not TABLE_NAME.fullmatch(name) or name.startswith(RESERVED_PREFIX):
        raise _bad_name(name, place)
    if name in found:
        raise ConfigError(
            f'two Delta Lake tables are called "{name}"',
            f"{found[name]} and {place}",
            'give them names of their own: delta={"name": "path", …}',
        )
    found[name] = place


def _bad_name(name: str, place: str) -> ConfigError:
    return ConfigError(
        f'a table cannot be called "{name}"',
        f"{place}: a name has lower-case letters, digits and _, and starts with no digit",
        f'give it a name of its own: delta={{"name": "{place}"}}',
    )


def _local_path(place: str) -> str:
    """The folder that a path or a file: URI names, absolute, without links and dots."""
    if log.on_other_file_system(place):
        raise ConfigError(
            f'"{place}" is not on a local or mounted file system',
            "rollview reads a table's commit files by itself",
            "mount the store, and name the tables by their mounted paths",
        )
    if "\0" in place:
        raise ConfigError(f"{place!r} is not a path")
    return os.path.realpath(os.path.expanduser(log.plain_path(place)))


def _newest(name: str, path: str) -> int:
    try:
        newest = log.newest_version(path)
    except SourceError as error:
        raise ConfigError(
            f'"{path}" is not a Delta Lake table', error.detail, f'mend the path of "{name}"'
        ) from error
    if newest is None:
        raise ConfigError(f'"{path}" is not a Delta Lake table', "its log holds no commit")
    return newest


def _state(spark: SparkSession, path: str, version: int) -> tuple[Metadata, Protocol]:
    """Metadata and protocol as of the version: from the log where it still says both."""
    found = log.state_at(path, version)
    return found if found else _state_by_spark(spark, path, version)


def _state_by_spark(spark: SparkSession, path: str, version: int) -> tuple[Metadata, Protocol]:
    schema = spark.read.format("delta").option("versionAsOf", version).load(f"file:{path}").schema
    detail = DeltaTable.forPath(spark, f"file:{path}").detail().collect()[0]
    if log.newest_version(path) != version:
        raise ConfigError(
            f'Delta Lake table at "{path}" changed while it was registered', hint="try again"
        )
    features = tuple(f for f in detail["tableFeatures"] if f not in WRITER_FEATURES)
    metadata = Metadata(
        detail["id"], schema.json(), tuple(detail["partitionColumns"]), detail["properties"]
    )
    return metadata, Protocol(detail["minReaderVersion"], detail["minWriterVersion"], features, ())


def _size(spark: SparkSession, path: str, version: int) -> tuple[int, int]:
    """Rows and bytes at the version; Delta Lake counts by statistics, where the files have them."""
    rows = spark.read.format("delta").option("versionAsOf", version).load(f"file:{path}").count()
    return rows, log.table_bytes(path, version) or 0


def _check_columns(name: str, columns: Columns) -> None:
    seen: dict[str, str] = {}
    for column, _ in columns:
        lowered = column.lower()
        if lowered.startswith(RESERVED_PREFIX) or lowered in RESERVED:
            raise ConfigError(
                f'Delta Lake table "{name}" has a column called "{column}"',
                "rollview or Delta Lake's change feed needs that name",
                "rename the column",
            )
        if lowered in seen:
            raise ConfigError(
                f'Delta Lake table "{name}" has columns "{seen[lowered]}" and "{column}"',
                "their names differ only by case",
                "rename one of them",
            )
        seen[lowered] = column


def _check_properties(name: str, path: str, properties: Properties) -> None:
    features = {*properties["reader_features"], *properties["writer_features"]}
    if features & UNREADABLE_FEATURES:
        raise ConfigError(
            f'Delta Lake table "{name}" is committed to by a catalog',
            f"feature {', '.join(sorted(features & UNREADABLE_FEATURES))}: its log folder does"
            " not hold every commit",
        )
    if not records_changes(properties):
        raise ConfigError(
            f'Delta Lake table "{name}" does not record its changes',
            "neither delta.enableChangeDataFeed nor delta.appendOnly is set",
            feed_on_sql(path),
        )
    if not has_feed(properties) and not plain_table(properties):
        raise ConfigError(
            f'Delta Lake table "{name}" can only be read by its change feed',
            "column mapping or another feature changes how its files are read",
            feed_on_sql(path),
        )
