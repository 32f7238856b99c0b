"""The commit files of a Delta Lake table, read as the public protocol describes them.

L1  A commit is `_delta_log/<version>.json`; checkpoints and compacted logs are not read.
L2  A path in a DataFile is a file system path, decoded once: relative to the table, or absolute.
L3  A commit that is not whole, valid JSON is an error that names the file; it is never skipped.
Pure Python on a local or mounted file system: no Spark, no job. Knows nothing of rollview's times.
Protocol: https://github.com/delta-io/delta/blob/master/PROTOCOL.md. Words: docs/glossary.md.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any
from urllib.parse import unquote

from rollview.errors import SourceError, Unreachable

Columns = tuple[tuple[str, str], ...]
"""Names and Spark types, in table order."""

LOG_FOLDER = "_delta_log"
_COMMIT_NAME = re.compile(r"^(\d{20})\.json$")
_PLAIN_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_SCHEME = re.compile(r"^(?!file:)[A-Za-z][A-Za-z0-9+.-]+:/")
_TYPE_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of rows that a commit adds, removes, or holds its changes in.

    A partition column that is missing from `partition_values` is NULL: writers leave NULLs out of
    `remove` actions. None says that the writer did not record them at all.
    """

    path: str
    partition_values: Mapping[str, str | None] | None
    size: int
    records: int | None
    deletion_vector: Mapping[str, Any] | None
    data_change: bool

    @property
    def rows(self) -> int | None:
        """Rows that a reader sees: the records, less those that the deletion vector hides."""
        if self.records is None or self.deletion_vector is None:
            return self.records
        return self.records - int(self.deletion_vector.get("cardinality", 0))


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a `metaData` action says of the table, from its version on."""

    id: str
    schema: str
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Protocol:
    """The versions and features that a reader and a writer must understand."""

    reader_version: int
    writer_version: int
    reader_features: tuple[str, ...]
    writer_features: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableCommit:
    """One commit; `committed_at` is as the writer says and need not grow with the version."""

    version: int
    committed_at: datetime
    operation: str
    operation_metrics: Mapping[str, str]
    adds: tuple[DataFile, ...]
    removes: tuple[DataFile, ...]
    change_files: tuple[DataFile, ...]
    metadata: Metadata | None
    protocol: Protocol | None

    @property
    def data_changed(self) -> bool:
        """Whether rows came or went; OPTIMIZE and its like only move them between files."""
        files = (*self.adds, *self.removes)
        return bool(self.change_files) or any(file.data_change for file in files)


def log_folder(location: str) -> str:
    """Where the table at `location` keeps its log."""
    return os.path.join(location, LOG_FOLDER)


def commit_path(location: str, version: int) -> str:
    """The file of one commit."""
    return os.path.join(log_folder(location), f"{version:020d}.json")


def on_other_file_system(path: str) -> bool:
    """Whether a path names a file system of its own, as a shallow clone's may."""
    return _SCHEME.match(path) is not None


def plain_path(path: str) -> str:
    """A path without the scheme and slashes of a file: URI; nothing is decoded."""
    return re.sub("^/+", "/", path.removeprefix("file:"))


def versions(location: str) -> list[int]:
    """The versions whose commit files are there, ascending; Unreachable if there is no log."""
    try:
        names = os.listdir(log_folder(location))
    except OSError as error:
        raise Unreachable(
            f'Delta Lake table at "{location}" cannot be read',
            f"{log_folder(location)}: {error.strerror}",
            "bring the table back, or drop the source",
        ) from error
    return sorted(int(match[1]) for match in map(_COMMIT_NAME.match, names) if match)


def newest_version(location: str) -> int | None:
    """The newest version, or None where the log has no commit file."""
    return max(versions(location), default=None)


def read_commit(location: str, version: int) -> TableCommit:
    """One commit, whole (L3)."""
    path = commit_path(location, version)
    found: dict[str, list[dict[str, Any]]] = {}
    for action in _actions(path):
        for kind, body in action.items():
            found.setdefault(kind, []).append(body)
    try:
        commit_info = found.get("commitInfo", [{}])[0]
        return TableCommit(
            version=version,
            committed_at=_committed_at(commit_info, path),
            operation=str(commit_info.get("operation", "UNKNOWN")),
            operation_metrics=commit_info.get("operationMetrics") or {},
            adds=tuple(map(data_file, found.get("add", []))),
            removes=tuple(map(data_file, found.get("remove", []))),
            change_files=tuple(map(data_file, found.get("cdc", []))),
            metadata=_metadata(found["metaData"][-1]) if "metaData" in found else None,
            protocol=_protocol(found["protocol"][-1]) if "protocol" in found else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _invalid(path, f"not as the protocol describes it: {error!r}") from error


def first_metadata(location: str, version: int) -> Metadata | None:
    """The metadata that one commit sets, reading no further than that; None if it sets none."""
    for action in _actions(commit_path(location, version)):
        if "metaData" in action:
            return _metadata(action["metaData"])
    return None


def state_at(location: str, version: int) -> tuple[Metadata, Protocol] | None:
    """The table's metadata and protocol as of `version`; None if the log alone does not say."""
    said = checksum(location, version)
    try:
        return _metadata(said["metadata"]), _protocol(said["protocol"])
    except (KeyError, TypeError, ValueError):
        pass  # a checksum is optional, and may say less
    there = set(versions(location))
    metadata, protocol = None, None
    while version in there and not (metadata and protocol):
        commit = read_commit(location, version)
        metadata, protocol = metadata or commit.metadata, protocol or commit.protocol
        version -= 1
    return (metadata, protocol) if metadata and protocol else None


def table_bytes(location: str, version: int) -> int | None:
    """The size of the table's files as of `version`, if the writer left a checksum."""
    size = checksum(location, version).get("tableSizeBytes")
    return size if isinstance(size, int) else None


def checksum(location: str, version: int) -> dict[str, Any]:
    """What the checksum file of a version says; nothing if there is none, or none that can be read."""
    path = os.path.join(log_folder(location), f"{version:020d}.crc")
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def columns(schema_string: str) -> Columns:
    """Names and Spark types of the columns, from the schema as the log has it."""
    fields = json.loads(schema_string)["fields"]
    return tuple((field["name"], _type_name(field["type"])) for field in fields)


def _type_name(of: str | dict[str, Any]) -> str:
    if isinstance(of, str):
        return _TYPE_NAMES.get(of, of)
    match of["type"]:
        case "array":
            return f"array<{_type_name(of['elementType'])}>"
        case "map":
            return f"map<{_type_name(of['keyType'])},{_type_name(of['valueType'])}>"
        case "struct":
            inner = (f"{_quoted(f['name'])}:{_type_name(f['type'])}" for f in of["fields"])
            return f"struct<{','.join(inner)}>"
        case other:
            raise ValueError(f"unknown type {other!r}")


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.match(name) else "`" + name.replace("`", "``") + "`"


def _actions(path: str) -> Iterator[dict[str, Any]]:
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _action(line, path, number)
    except UnicodeDecodeError as error:
        raise _invalid(path, str(error)) from error
    except OSError as error:
        raise Unreachable("a Delta Lake commit cannot be read", f"{path}: {error}") from error


def _action(line: str, path: str, number: int) -> dict[str, Any]:
    try:
        action = json.loads(line)
    except ValueError as error:
        raise _invalid(path, f"line {number}: {error}") from error
    if not isinstance(action, dict):
        raise _invalid(path, f"line {number}: not an action")
    return action


def _invalid(path: str, detail: str) -> SourceError:
    return SourceError(
        f'Delta Lake commit file "{path}" is not valid',
        detail,
        "if a writer is still at it, try again; if the file is damaged, restore it",
    )


def _committed_at(commit_info: Mapping[str, Any], path: str) -> datetime:
    millis = commit_info.get("inCommitTimestamp") or commit_info.get("timestamp")
    seconds = os.stat(path).st_mtime if millis is None else int(millis) / 1000
    return datetime.fromtimestamp(seconds, timezone.utc)


def data_file(body: Mapping[str, Any]) -> DataFile:
    """The file that an action names."""
    stats = body.get("stats")
    records = json.loads(stats).get("numRecords") if stats else None
    return DataFile(
        path=_decoded(body["path"]),
        partition_values=body.get("partitionValues"),
        size=int(body.get("size") or 0),
        records=None if records is None else int(records),
        deletion_vector=body.get("deletionVector"),
        data_change=bool(body.get("dataChange", True)),
    )


def _decoded(path: str) -> str:
    """The path that the URI in the log stands for (L2); one on another file system stays a URI."""
    return path if on_other_file_system(path) else unquote(plain_path(path))


def _metadata(body: Mapping[str, Any]) -> Metadata:
    return Metadata(
        id=body["id"],
        schema=body["schemaString"],
        partition_columns=tuple(body.get("partitionColumns") or ()),
        configuration=body.get("configuration") or {},
    )


def _protocol(body: Mapping[str, Any]) -> Protocol:
    return Protocol(
        reader_version=int(body["minReaderVersion"]),
        writer_version=int(body["minWriterVersion"]),
        reader_features=tuple(body.get("readerFeatures") or ()),
        writer_features=tuple(body.get("writerFeatures") or ()),
    )
