"""How many rows a Delta Lake commit inserted and deleted, without reading one.

E1  0 is a fact: no row was inserted, or none deleted, as the files show. Any other number is not.
An update counts in both. As the writer's metrics say for operations that change parts of files;
else from the files' statistics; where a file has none, guessed from its size.
"""

from __future__ import annotations

from collections.abc import Mapping

from rollview.sources.delta_lake.log import DataFile, TableCommit

BYTES_PER_ROW = 32.0
"""For tables of unknown size: about what notes/delta.md's test tables take in Parquet."""

# Operation -> the metrics whose sum counts inserted rows, and those that count deleted rows.
_METRICS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "DELETE": ((), ("numDeletedRows",)),
    "UPDATE": (("numUpdatedRows",), ("numUpdatedRows",)),
    "MERGE": (
        ("numTargetRowsInserted", "numTargetRowsUpdated"),
        ("numTargetRowsUpdated", "numTargetRowsDeleted"),
    ),
}
_INSERTED = ("numOutputRows",)


def estimated_rows(commit: TableCommit, bytes_per_row: float | None) -> tuple[int, int]:
    """(inserted, deleted); each is 0 only if no row came or went (E1)."""
    if not commit.data_changed:
        return 0, 0
    inserted, deleted = _guessed(commit, max(bytes_per_row or BYTES_PER_ROW, 1.0))
    gone = {file.path for file in commit.removes if file.data_change}
    came = {file.path for file in commit.adds if file.data_change}
    may_insert = bool(came) and commit.operation != "DELETE"
    return max(inserted, int(may_insert or not gone)), max(deleted, 1) if gone else 0


def _guessed(commit: TableCommit, per_row: float) -> tuple[int, int]:
    by_metrics = _by_metrics(commit)
    if by_metrics is not None:
        return by_metrics
    if commit.change_files:
        rows = _rows_by_size(commit.change_files, per_row)
        return rows - rows // 2, rows // 2
    return _by_files(commit, per_row)


def _by_metrics(commit: TableCommit) -> tuple[int, int] | None:
    """What the writer counted, for operations that change parts of files."""
    if commit.operation not in _METRICS:
        return None
    metrics = commit.operation_metrics
    inserted, deleted = (_total(metrics, keys) for keys in _METRICS[commit.operation])
    return None if inserted is None or deleted is None else (inserted, deleted)


def _total(metrics: Mapping[str, str], keys: tuple[str, ...]) -> int | None:
    try:
        return sum(int(metrics[key]) for key in keys)
    except (KeyError, ValueError):
        return None


def _by_files(commit: TableCommit, per_row: float) -> tuple[int, int]:
    """Whole files that came and went; one that did both lost rows to its deletion vector."""
    removes = {file.path: file for file in commit.removes if file.data_change}
    adds = {file.path: file for file in commit.adds if file.data_change}
    inserted = _rows_of([file for path, file in adds.items() if path not in removes], per_row)
    deleted = _rows_of([file for path, file in removes.items() if path not in adds], per_row)
    if not removes:
        inserted = _total(commit.operation_metrics, _INSERTED) or inserted
    for path in adds.keys() & removes.keys():
        gained = _rows_of([adds[path]], per_row) - _rows_of([removes[path]], per_row)
        inserted, deleted = inserted + max(gained, 0), deleted + max(-gained, 0)
    return inserted, deleted


def _rows_of(files: list[DataFile], per_row: float) -> int:
    counted = sum(file.rows for file in files if file.rows is not None)
    return counted + _rows_by_size([file for file in files if file.rows is None], per_row)


def _rows_by_size(files: list[DataFile] | tuple[DataFile, ...], per_row: float) -> int:
    return sum(max(1, round(file.size / per_row)) for file in files)
