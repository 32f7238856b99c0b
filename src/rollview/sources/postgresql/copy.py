"""The copy of a table (mode replica) as capture reads it: from its files, without Spark.

Q1  The copy at the stream's position is its folded rows and every step since the fold, as a signed bag.
Folded rows lie in one bucket, so that the commit of the pinned version names all of their files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from rollview.changes import COUNT, STAMP, Csn
from rollview.ledger.store import Ledger
from rollview.sources.delta_lake.log import read_commit
from rollview.sources.postgresql.table import Table

ROWS = 50_000


def contents(ledger: Ledger, warehouse: Path, table: Table) -> Iterator[pa.RecordBatch]:
    """The rows of the copy with signed counts (Q1)."""
    row = ledger.block(table.name)
    assert row is not None and row.folded_version is not None, "a replica has folded rows"
    names = [c.name for c in table.columns]
    schema = pa.schema([f for f in table.schema if f.name != STAMP])
    folded = warehouse / row.folder / "folded"
    for file in read_commit(str(folded), row.folded_version).adds:
        for batch in _batches(folded / unquote(file.path), names):
            ones = pa.array([1], pa.int64()).take(pa.array([0] * batch.num_rows, pa.int64()))
            yield _shaped([*batch.columns, ones], schema)
    since = max(row.fold_times, default=Csn(0))
    for step in ledger.steps(table.name, since):
        for file_path in sorted((warehouse / step.folder).glob("*.parquet")):
            for batch in _batches(file_path, [*names, COUNT, STAMP]):
                later = batch.filter(pc.greater(batch.column(STAMP), since))
                yield _shaped(later.columns[:-1], schema)


def negated(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, taken away."""
    for batch in batches:
        counts = pc.negate(batch.column(COUNT))
        yield pa.RecordBatch.from_arrays([*batch.columns[:-1], counts], schema=batch.schema)


def _batches(path: Path, names: list[str]) -> Iterator[pa.RecordBatch]:
    with pyarrow.parquet.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        for batch in file.iter_batches(ROWS, columns=names):
            yield batch.select(names)


def _shaped(columns: list[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [array.cast(field.type) for array, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
