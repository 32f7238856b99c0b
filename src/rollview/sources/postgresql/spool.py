"""The rows of one table in one batch: collected as text, kept as Arrow outside of memory, written as one step.

B1  Memory is bounded, whatever a transaction changes: rows are turned into Arrow in chunks, and chunks lie in a
    temporary file that has no name and goes with the process.
B2  A value that cannot be kept exactly ends the batch before its transaction, with the row's key named.
B3  A step is on the disk, not only written, before anybody can list it: the server may forget its changes then.
Stamps are not known until the batch is merged with those of other sources: rows carry the number of their
transaction within the batch.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet

from rollview.changes import COUNT, STAMP, Csn
from rollview.errors import SourceError, WarehouseError
from rollview.sources.postgresql.table import Table, Texts
from rollview.sources.postgresql.types import arrow_type, column_read, reader

CHUNK = 20_000
"""Rows that are turned into Arrow at a time."""
COMPRESSION = "snappy"


@dataclass(frozen=True, slots=True)
class WrittenStep:
    """A step's file: its stamps, rows, rows taken away, and bytes."""

    lo: Csn
    hi: Csn
    rows: int
    taken: int
    bytes: int


class Spool:
    """The changed rows of one table, in the order in which they came."""

    def __init__(self, table: Table, folder: Path) -> None:
        self.table, self.schema = table, table.schema
        self._rows: list[Texts] = []
        self._counts: list[int] = []
        self._transactions: list[int] = []
        self._folder = folder
        self._open()

    def close(self) -> None:
        """Let the temporary file go."""
        with suppress(OSError):  # of a full disk, for bytes that nobody will read
            self._file.close()

    def clear(self) -> None:
        """Forget everything."""
        self.close()
        self._open()

    def _open(self) -> None:
        self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
        self._writer = pa.ipc.new_stream(self._file, self.schema)
        self._rows, self._counts, self._transactions = [], [], []
        self.broken: tuple[int, SourceError] | None = None

    def add(self, transaction: int, count: int, row: Texts) -> None:
        """A row came or went in the transaction with this number."""
        if self.broken is not None:
            return
        self._rows.append(row)
        self._counts.append(count)
        self._transactions.append(transaction)
        if len(self._rows) >= CHUNK:
            self.flush()

    def add_batch(self, transaction: int, batch: pa.RecordBatch) -> None:
        """Rows with counts (the table's columns and `_rv_count`) in the transaction with this number."""
        self.flush()
        stamps = pa.array([transaction], pa.int64()).take(
            pa.array([0] * batch.num_rows, pa.int64())
        )
        arrays = [batch.column(f.name).cast(f.type) for f in self.schema if f.name != STAMP]
        self._writer.write_batch(pa.RecordBatch.from_arrays([*arrays, stamps], schema=self.schema))

    def flush(self) -> None:
        """Turn what was collected into Arrow; `broken` says from which transaction on it cannot be."""
        if not self._rows:
            return
        columns = self._arrays()
        columns += [pa.array(self._counts, pa.int64()), pa.array(self._transactions, pa.int64())]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self.schema))
        self._rows, self._counts, self._transactions = [], [], []

    def _arrays(self) -> list[pa.Array]:
        """The rows as Arrow, up to the first transaction with a value that cannot be kept (B2)."""
        try:
            return arrays(self.table, self._rows)
        except Misfit as problem:
            first = self._transactions[problem.row]
            self.broken = (first, problem)
            kept = sum(number < first for number in self._transactions)
            self._rows, self._counts = self._rows[:kept], self._counts[:kept]
            self._transactions = self._transactions[:kept]
            return self._arrays()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Everything, in order; nothing can be added any more. The stamp is the transaction's number."""
        self.flush()
        self._writer.close()
        self._file.seek(0)
        yield from pa.ipc.open_stream(self._file)

    def write(self, folder: Path, stamps: Sequence[Csn]) -> WrittenStep | None:
        """Write the rows of the first transactions, one stamp for each, as the only file of `folder` (B3)."""
        folder.mkdir(parents=True)
        path = folder / "part-0.parquet"
        numbers = pa.array(stamps, pa.int64())
        rows = taken = 0
        lo, hi = Csn(2**62), Csn(0)
        with pyarrow.parquet.ParquetWriter(path, self.schema, compression=COMPRESSION) as writer:
            for batch in self.batches():
                kept = batch.filter(pc.less(batch.column(STAMP), len(stamps)))
                if not kept.num_rows:
                    continue
                stamped = numbers.take(kept.column(STAMP))
                arrays = [*kept.columns[:-1], stamped]
                writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self.schema))
                rows += kept.num_rows
                taken += pc.sum(pc.less(kept.column(COUNT), 0)).as_py()
                least = pc.min_max(stamped).as_py()
                lo, hi = Csn(min(lo, least["min"])), Csn(max(hi, least["max"]))
        for place in (path, folder, folder.parent):
            _to_disk(place)
        return WrittenStep(lo, hi, rows, taken, path.stat().st_size) if rows else None


def unwritable(error: OSError) -> WarehouseError:
    """The error for rows that cannot be put aside or written: above all, of a full disk."""
    return WarehouseError(
        "what was captured cannot be written", str(error),
        "free some space in the warehouse folder; nothing is lost, the server keeps its changes",
    )  # fmt: skip


class Misfit(SourceError):
    """A value that cannot be kept exactly; `row` counts the rows that were given."""

    def __init__(self, table: Table, place: int, row: int, texts: Texts, problem: str) -> None:
        column = table.columns[place]
        super().__init__(
            f'a value of table "{table.name}" cannot be kept: column "{column.name}", row {table.key_of(texts)}',
            f'"{str(texts[place])[:100]}": {problem}',
            f"mend the row, then rollview source resync {table.name.partition('.')[0]}",
        )
        self.row = row


def arrays(table: Table, rows: Sequence[Texts]) -> list[pa.Array]:
    """The rows as Arrow columns; the first value that cannot be kept is named with its row (B2)."""
    texts = zip(*rows, strict=True) if rows else ((),) * len(table.columns)
    return arrays_of(table, [pa.array(list(values), pa.string()) for values in texts])


def arrays_of(table: Table, texts: Sequence[pa.Array]) -> list[pa.Array]:
    """The same for rows that are columns of texts already."""
    columns = []
    for column, values in zip(table.columns, texts, strict=True):
        found = column_read(column.codec, values)
        if found is None:
            read, kind = reader(column.codec), arrow_type(column.codec)
            try:
                found = pa.array([None if v is None else read(v) for v in values.to_pylist()], kind)
            except (ValueError, pa.ArrowInvalid):
                rows = list(zip(*(t.to_pylist() for t in texts), strict=True))
                raise _misfit(table, rows) from None
        columns.append(found)
    return columns


def _misfit(table: Table, rows: Sequence[Texts]) -> Misfit:
    """The error that names the first row with a value that cannot be kept."""
    readers = [reader(c.codec) for c in table.columns]
    for number, row in enumerate(rows):
        for place, text in enumerate(row):
            try:
                if text is not None:
                    pa.scalar(readers[place](text), arrow_type(table.columns[place].codec))
            except (ValueError, pa.ArrowInvalid) as problem:
                return Misfit(table, place, number, row, str(problem))
    raise AssertionError("some value could not be kept")


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
