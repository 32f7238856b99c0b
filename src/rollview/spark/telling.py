"""Which columns tell the folded rows of a view apart: guessed from a sample, then proved by one query over all rows.

X4  What is said here is proved: as many different hashes of the columns as there are rows. Readers take rows away by
    these hashes alone (calculus/rolled.py, S4), so that a guess would not do.
Only for tables that are large enough for readers to notice; a table without such columns is read the longer way.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rollview.views.syntax import quoted

ENOUGH_ROWS = 100_000
"""Below it reading all rows twice takes a few hundredths of a second, less than the proof."""
SAMPLE_ROWS = 5_000
MOST_COLUMNS = 2


def telling_columns(rows: DataFrame, files: Sequence[Path], names: Sequence[str]) -> list[str]:
    """Some of the columns that differ in every row (X4); none if the sample shows none, or the proof fails."""
    guess = guessed(files[0], names) if files else []
    if not guess:
        return []
    hashes = F.xxhash64(*map(quoted, guess))
    told = rows.select(hashes.alias("h")).agg(F.count("h"), F.countDistinct("h")).first()
    assert told is not None, "an aggregate over everything has one row"
    return guess if told[0] == told[1] else []


def guessed(file: Path, names: Sequence[str]) -> list[str]:
    """The column, or the two, that differ most in the first rows of a file."""
    parquet = pq.ParquetFile(file)
    plain = [n for n in names if n in parquet.schema_arrow.names and _plain(parquet, n)]
    if not plain:
        return []
    sample = next(parquet.iter_batches(SAMPLE_ROWS, columns=plain), None)
    if sample is None:
        return []
    different = {n: len(pc.unique(sample.column(n))) for n in plain}
    best = sorted(plain, key=lambda n: -different[n])
    if different[best[0]] == sample.num_rows:
        return best[:1]
    return best[:MOST_COLUMNS] if different[best[0]] > sample.num_rows / 2 else []


def _plain(parquet: pq.ParquetFile, name: str) -> bool:
    """A column of one value a row, whose name is no path."""
    return "." not in name and not pa.types.is_nested(parquet.schema_arrow.field(name).type)
