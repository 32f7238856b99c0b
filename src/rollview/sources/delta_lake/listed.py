"""The files of a table version by the table's log, so that reading a version needs no Spark job to list them.

N1  What is listed is every file of the version, or nothing at all: then Delta Lake's own reader is asked.
N2  A list starts from a checksum file that names all files (as writers leave it for tables of few files) or from
    version 0, and goes on by the commits after it, each of them read whole.
Delta Lake's reader asks its log by a job of 0.03 s if it knows the version before it, and of 0.4 s if it does not.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from rollview.errors import SourceError
from rollview.ledger.rows import BaseRelation
from rollview.sources.delta_lake import log, vectors
from rollview.sources.delta_lake.capture import plain_table
from rollview.sources.delta_lake.log import DataFile, TableCommit

MOST_FILES = 64
"""Tables of more files gain from what Delta Lake knows of them: it leaves out those that a condition excludes."""
FEW_FILES = 8
"""A version of no more is read sooner as Parquet than Delta Lake's reader has looked at its log (0.07 s, 0.17 s)."""
MOST_COMMITS = 20
"""Commits after the last whole list that are read for it."""


def plain_files(relation: BaseRelation, version: int) -> list[DataFile] | None:
    """The files of the version, if they can be read as plain Parquet, but for rows that vectors hide; else None."""
    properties = relation.properties
    newest = version == relation.position  # what the properties are told of
    if not newest or not plain_table(properties) or properties["partition_columns"]:
        return None
    files = files_at(relation.location, version)
    if files is None or not 0 < len(files) <= MOST_FILES:
        return None
    return files if all(map(_plain, files)) else None


@dataclass(frozen=True, slots=True)
class Parquet:
    """A version with no row hidden, as plain Parquet: its schema as JSON (without partition columns), and its files."""

    schema: str
    files: tuple[str, ...]


def parquet_version(location: str, version: int, most: int = FEW_FILES) -> Parquet | None:
    """The version, if it has no more files and they can be read as plain Parquet (N1)."""
    state, files = log.state_at(location, version), files_at(location, version)
    if state is None or not files or len(files) > most:
        return None
    metadata, protocol = state
    properties = {"configuration": metadata.configuration, "reader_version": protocol.reader_version,
                  "reader_features": protocol.reader_features}  # fmt: skip
    hides = any(f.deletion_vector is not None or log.on_other_file_system(f.path) for f in files)
    if hides or not plain_table(properties):
        return None
    schema = json.loads(metadata.schema)
    schema["fields"] = [f for f in schema["fields"] if f["name"] not in metadata.partition_columns]
    places = tuple(os.path.join(location, f.path) for f in files)
    return Parquet(json.dumps(schema), places)


def _plain(file: DataFile) -> bool:
    vector = file.deletion_vector
    return not log.on_other_file_system(file.path) and (vector is None or vectors.readable(vector))


def files_at(location: str, version: int) -> list[DataFile] | None:
    """Every file of the version (N1, N2); None if its log does not say within MOST_COMMITS."""
    later: list[TableCommit] = []
    try:
        for at in range(version, max(-2, version - MOST_COMMITS), -1):
            known = [] if at < 0 else _all_files(log.checksum(location, at))
            if known is not None:
                return _after(known, later)
            later.insert(0, log.read_commit(location, at))
    except SourceError:  # a commit is gone, or damaged: who reads the version says so
        pass
    return None


def _all_files(checksum: dict[str, Any]) -> list[DataFile] | None:
    listed = checksum.get("allFiles")
    if not isinstance(listed, list) or len(listed) != checksum.get("numFiles"):
        return None
    try:
        return [log.data_file(body) for body in listed]
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _after(known: list[DataFile], later: list[TableCommit]) -> list[DataFile]:
    files = {file.path: file for file in known}
    for commit in later:
        for gone in commit.removes:
            files.pop(gone.path, None)
        files |= {file.path: file for file in commit.adds}
    return list(files.values())
