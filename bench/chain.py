"""The chain of six tables: R1 to R6 (a, b), 100,000 rows each, every row finds one partner on average.

The experiment of Liu, Rundensteiner and Finkel 2003, section 6: 10 to 2,000 changes, half inserts and half deletes,
spread over 1 to 6 of the tables; refresh against a full recompute that overwrites a stored table.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench import files, star
from bench.kept import Kept, built
from bench.measure import Runner

TABLES, ROWS = 6, 100_000
VIEW = (
    "SELECT " + ", ".join(f"t{n}.a AS a{n}" for n in range(1, TABLES + 1)) + f", t{TABLES}.b AS b FROM lake.r1 t1 "
    + " ".join(f"JOIN lake.r{n} t{n} ON t{n - 1}.b = t{n}.a" for n in range(2, TABLES + 1))
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cell:
    """So many changes over so many of the tables."""

    changes: int
    tables: int
    rounds: int = 5


SIZES = ((1_000, 6), (10, 1), (100, 6), (1_000, 3), (2_000, 6))
STANDARD = tuple(Cell(*size) for size in SIZES)
QUICK = (Cell(1_000, 6, 3),)


def measured(runner: Runner, work: Path, cells: tuple[Cell, ...]) -> list[dict[str, Any]]:
    """All cells, one after the other in one lake."""
    spark = runner.spark
    lake = files.Copy(_history(spark, cells), work / "lake")
    built(runner, work / "built", lake.path, {"chain": VIEW})
    one = Kept(spark, work, lake.path, "chain", VIEW)
    found = []
    for cell in cells:
        for number in range(1 + cell.rounds):
            lake.reveal()
            one.round(runner, number, with_others=True, measured=number > 0)
        one.check(cell)
        found.append(
            {"rows": ROWS, "changes": cell.changes, "tables": cell.tables, **one.summary(runner)}
        )
    one.close()
    return found


def _history(spark: SparkSession, cells: tuple[Cell, ...]) -> Path:
    def make(folder: Path) -> files.Marks:
        for n in range(1, TABLES + 1):
            star.write(_rows(spark, n, 0, ROWS).coalesce(1), folder / f"r{n}")
        marks, number = [files.versions(folder)], 0
        for cell in cells:
            for _ in range(1 + cell.rounds):
                number += 1
                for n in range(1, cell.tables + 1):
                    _change(spark, folder / f"r{n}", n, number, max(1, cell.changes // cell.tables // 2))  # fmt: skip
                marks.append(files.versions(folder))
        return marks

    return files.cached(f"chain-{sha256(repr(cells).encode()).hexdigest()[:8]}", make)


def _rows(spark: SparkSession, table: int, first: int, rows: int) -> DataFrame:
    keys = [F.pmod(F.xxhash64("id", F.lit(table), F.lit(place)), F.lit(ROWS)).alias(name)
            for place, name in enumerate("ab")]  # fmt: skip
    return spark.range(first, first + rows).select(*keys)


def _change(spark: SparkSession, path: Path, table: int, number: int, rows: int) -> None:
    """Append `rows` rows and delete about as many, found by a hash."""
    added = _rows(spark, table, number * ROWS, rows).coalesce(1)
    added.write.format("delta").mode("append").save(str(path))
    DeltaTable.forPath(spark, str(path)).delete(
        F.pmod(F.xxhash64("a", "b", F.lit(number)), F.lit(ROWS // rows)) == 0
    )
