"""What a Delta Lake table committed since it was last looked at, from its commit files alone.

D1  Every version after the captured one is accounted for, in order: with rows, without rows
    (OPTIMIZE), or as the problem that ends the list. Good versions before it are still returned.
D2  `files` says where the changed rows are: in files (whole, or the rows that a deletion vector newly hides) where
    that is plain, else in the table's change feed; `way` alone decides.
D3  Commits are believed only while the table is the registered one and records its changes.
Runs no Spark. Whether a view minds a schema change is not decided here. Words: docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from rollview.errors import ChangesLost, SourceError, Unreachable
from rollview.ledger.rows import BaseRelation
from rollview.sources.delta_lake import log, vectors
from rollview.sources.delta_lake.estimates import estimated_rows
from rollview.sources.delta_lake.identity import check_metadata, is_registered, recreated
from rollview.sources.delta_lake.log import Columns, DataFile, Metadata, Protocol, TableCommit

Properties = dict[str, Any]
"""The table's state that decides how to read it: configuration, partition columns, features."""

MAX_FILES = 10_000
"""Above it, naming the files one by one costs the ledger more than it saves the reader."""

MAX_HIDDEN = 200_000
"""Above it, the rows that deletion vectors newly hide are not named one by one either."""

# Reader features that change nothing in how a whole file without a deletion vector is read.
PLAIN_FEATURES = frozenset(
    {"deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "columnMapping"}
)


@dataclass(frozen=True, slots=True)
class Captured:
    """One version; `columns` and `properties` are set where this version changed them."""

    version: int
    committed_at: datetime
    operation: str
    data_changed: bool
    inserted: int
    deleted: int
    files: dict[str, Any]
    columns: Columns | None
    properties: Properties | None


@dataclass(frozen=True, slots=True)
class CaptureResult:
    """The good versions in order, and what stopped the list if something did (D1)."""

    captured: tuple[Captured, ...]
    problem: SourceError | None


def new_commits(relation: BaseRelation) -> CaptureResult:
    """Everything committed after `relation.position`, in version order (D1)."""
    captured: list[Captured] = []
    columns, properties = relation.columns, relation.properties
    try:
        for version in _versions_after(relation):
            commit = log.read_commit(relation.location, version)
            check_metadata(relation, commit.metadata, version)
            one = captured_version(commit, relation, columns, properties)
            columns = one.columns or columns
            properties = one.properties or properties
            captured.append(one)
    except SourceError as problem:
        return CaptureResult(tuple(captured), problem)
    return CaptureResult(tuple(captured), None)


def captured_version(
    commit: TableCommit, relation: BaseRelation, columns: Columns, properties: Properties
) -> Captured:
    """One commit, given the columns and properties of the version before it."""
    changed = properties_after(properties, commit.metadata, commit.protocol)
    if not records_changes(changed):
        raise _feed_off(relation, commit)
    columns_now = log.columns(commit.metadata.schema) if commit.metadata else columns
    if columns_now != tuple(columns):
        changed["schema_position"] = commit.version
    bytes_per_row = relation.bytes / relation.rows if relation.rows and relation.bytes else None
    inserted, deleted = estimated_rows(commit, bytes_per_row)
    return Captured(
        version=commit.version,
        committed_at=commit.committed_at,
        operation=commit.operation,
        data_changed=commit.data_changed,
        inserted=inserted,
        deleted=deleted,
        files=changed_files(commit, relation, changed),
        columns=columns_now if columns_now != tuple(columns) else None,
        properties=changed if changed != properties else None,
    )


def properties_of(metadata: Metadata, protocol: Protocol) -> Properties:
    """The properties that are kept of a table, JSON-able."""
    return {
        "configuration": dict(metadata.configuration),
        "partition_columns": list(metadata.partition_columns),
        "reader_version": protocol.reader_version,
        "reader_features": sorted(protocol.reader_features),
        "writer_features": sorted(protocol.writer_features),
    }


def properties_after(
    properties: Properties, metadata: Metadata | None, protocol: Protocol | None
) -> Properties:
    """The properties once a commit's metadata and protocol hold."""
    after = dict(properties)
    if metadata:
        after["configuration"] = dict(metadata.configuration)
        after["partition_columns"] = list(metadata.partition_columns)
    if protocol:
        after["reader_version"] = protocol.reader_version
        after["reader_features"] = sorted(protocol.reader_features)
        after["writer_features"] = sorted(protocol.writer_features)
    return after


def has_feed(properties: Mapping[str, Any]) -> bool:
    """Whether the table's own change feed can be read."""
    return _switched_on(properties, "delta.enableChangeDataFeed")


def records_changes(properties: Mapping[str, Any]) -> bool:
    """Whether its commits say what changed: a change feed, or rows that only ever come."""
    return has_feed(properties) or _switched_on(properties, "delta.appendOnly")


def plain_table(properties: Mapping[str, Any]) -> bool:
    """Whether the table's files can be read as plain Parquet under the table's own column names."""
    mapping = properties["configuration"].get("delta.columnMapping.mode", "none")
    unknown = set(properties["reader_features"]) - PLAIN_FEATURES
    return mapping == "none" and not unknown and properties["reader_version"] <= 3


def way(commit: TableCommit, properties: Mapping[str, Any]) -> Literal["direct", "feed"]:
    """How the changed rows of a commit are to be read (D2)."""
    if not plain_table(properties):
        return "feed"
    files = rows_in(commit)
    if len(files) > MAX_FILES and has_feed(properties):
        return "feed"
    partitioned = bool(properties["partition_columns"])
    pairs = [] if commit.change_files else touched_again(commit)
    paired = {id(file) for pair in pairs for file in pair}
    plain = all(
        (file.deletion_vector is None or id(file) in paired)
        and not log.on_other_file_system(file.path)
        and not (partitioned and file.partition_values is None)
        for file in files
    )
    return "direct" if plain and (not pairs or _hides_few(commit, pairs)) else "feed"


def rows_in(commit: TableCommit) -> tuple[DataFile, ...]:
    """The files that hold the changed rows: the change files alone where there are any."""
    if commit.change_files:
        return commit.change_files
    return tuple(file for file in (*commit.adds, *commit.removes) if file.data_change)


def touched_again(commit: TableCommit) -> list[tuple[DataFile, DataFile]]:
    """Files that a commit removes and adds in one: (before, after); only their deletion vectors differ."""
    before = {file.path: file for file in commit.removes if file.data_change}
    after = {file.path: file for file in commit.adds if file.data_change}
    return [(before[path], file) for path, file in after.items() if path in before]


def _hides_few(commit: TableCommit, pairs: list[tuple[DataFile, DataFile]]) -> bool:
    """A DELETE only ever hides more rows; by the log's count, few enough to be named."""
    found = [file.deletion_vector for pair in pairs for file in pair if file.deletion_vector]
    newly = sum(_hidden(after) - _hidden(before) for before, after in pairs)
    return (
        commit.operation == "DELETE" and all(map(vectors.readable, found)) and newly <= MAX_HIDDEN
    )


def _hidden(file: DataFile) -> int:
    return int((file.deletion_vector or {}).get("cardinality", 0))


def changed_files(
    commit: TableCommit, relation: BaseRelation, properties: Properties
) -> dict[str, Any]:
    """Where the changed rows are, JSON-able (D2).

    For the change feed no file is listed, but since which version the columns are what they are:
    one read of the feed must not span a change of them.
    """
    chosen = way(commit, properties)
    files: dict[str, Any] = {"way": chosen, "change_files": [], "added": [], "removed": []}
    if chosen == "feed":
        files["schema_position"] = properties.get("schema_position", relation.base_position)
        if not has_feed(properties):
            raise _feed_off(relation, commit)
        return files
    partitions = properties["partition_columns"]
    if commit.change_files:
        files["change_files"] = [_located(file, partitions)[:3] for file in commit.change_files]
        return files
    pairs = touched_again(commit)
    again = {before.path for before, _ in pairs}
    for kind, found in (("added", commit.adds), ("removed", commit.removes)):
        whole = [file for file in found if file.data_change and file.path not in again]
        files[kind] = [_located(file, partitions) for file in whole]
    for before, after in pairs:
        shown = [*_located(after, partitions)[:2], after.records]
        both = [before.deletion_vector, after.deletion_vector]
        files.setdefault("hidden", []).append([*shown, *both])
    return files


def _located(file: DataFile, partitions: list[str]) -> list[Any]:
    known = file.partition_values or {}
    values = {column: known.get(column) for column in partitions}
    return [file.path, values, file.size, file.records, file.deletion_vector]


def _switched_on(properties: Mapping[str, Any], key: str) -> bool:
    return str(properties["configuration"].get(key, "")).lower() == "true"


def _versions_after(relation: BaseRelation) -> range:
    """The versions to read, once all of them are known to be there (D1, D3)."""
    there = log.versions(relation.location)
    if not there:
        raise Unreachable(
            f'Delta Lake table "{relation.name}" is gone',
            f"{log.log_folder(relation.location)} holds no commit",
            "bring the table back, or drop the source",
        )
    if there[-1] < relation.position:
        raise recreated(relation, f"its newest version is {there[-1]}")
    if not is_registered(relation, there):
        raise recreated(relation, "its id is another one")
    wanted = range(relation.position + 1, there[-1] + 1)
    missing = sorted(set(wanted) - set(there))
    if missing:
        raise _missing(relation, missing, there)
    return wanted


def _missing(relation: BaseRelation, missing: list[int], there: list[int]) -> ChangesLost:
    oldest = there[-1]
    while oldest - 1 in set(there):
        oldest -= 1
    named = str(missing[0]) if len(missing) == 1 else f"{missing[0]} to {missing[-1]}"
    return ChangesLost(
        f'changes of Delta Lake table "{relation.name}" are lost',
        f"version {named} is no longer in its log, captured up to {relation.position};"
        f" the oldest available is {oldest}, the newest {there[-1]}",
        f"rollview source resync {relation.name}",
    )


def _feed_off(relation: BaseRelation, commit: TableCommit) -> ChangesLost:
    return ChangesLost(
        f'Delta Lake table "{relation.name}" no longer records its changes',
        f"version {commit.version} ({commit.operation}) cannot be read without a change data feed",
        f"{feed_on_sql(relation.location)}, then rollview source resync {relation.name}",
    )


def feed_on_sql(location: str) -> str:
    """The statement that makes a table record its changes."""
    quoted = location.replace("`", "``")
    return f"ALTER TABLE delta.`{quoted}` SET TBLPROPERTIES (delta.enableChangeDataFeed = true)"
