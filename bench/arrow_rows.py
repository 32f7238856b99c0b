"""Rows of Parquet files that the driver reads and writes by Arrow, which Spark's tasks know nothing of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any

from pyarrow import parquet


@dataclass(slots=True)
class ArrowRows:
    """How many rows were read and written since the process began to count."""

    read: int = 0
    written: int = 0


COUNTED = ArrowRows()
_LOCK = Lock()
_ORIGINAL = {
    name: getattr(parquet.ParquetFile, name) for name in ("read", "read_row_group", "iter_batches")
}
_WRITE = parquet.write_table


def count() -> ArrowRows:
    """Begin to count, once in a process."""
    if parquet.write_table is _WRITE:
        parquet.ParquetFile.read = _whole("read")
        parquet.ParquetFile.read_row_group = _whole("read_row_group")
        parquet.ParquetFile.iter_batches = _batches
        parquet.write_table = _written
    return COUNTED


def _add(read: int, written: int = 0) -> None:
    with _LOCK:
        COUNTED.read += read
        COUNTED.written += written


def _whole(name: str) -> Any:
    def counted(self: parquet.ParquetFile, *args: Any, **more: Any) -> Any:
        table = _ORIGINAL[name](self, *args, **more)
        _add(table.num_rows)
        return table

    return counted


def _batches(self: parquet.ParquetFile, *args: Any, **more: Any) -> Iterator[Any]:
    for batch in _ORIGINAL["iter_batches"](self, *args, **more):
        _add(batch.num_rows)
        yield batch


def _written(table: Any, *args: Any, **more: Any) -> None:
    _WRITE(table, *args, **more)
    _add(0, table.num_rows)
