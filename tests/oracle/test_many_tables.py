"""A view that joins twenty small tables pays no broadcast for each: its jobs are counted, and its rows are right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from oracle.lake import Lake
from oracle.oracles import Oracles
from pyspark.sql import SparkSession

import rollview
from rollview.spark import fetched

pytestmark = pytest.mark.spark

DIMENSIONS = 19
KEYS = [f"k{n}" for n in range(DIMENSIONS)]
VIEW = f"SELECT s.id, {', '.join(f'd{n}.name AS n{n}' for n in range(DIMENSIONS))} FROM lake.sales s " + " ".join(
    f"JOIN lake.d{n} d{n} ON s.k{n} = d{n}.id" for n in range(DIMENSIONS)
)  # fmt: skip


def sale(number: int) -> tuple[int, ...]:
    return number, *((number + n) % 4 for n in range(DIMENSIONS))


def test_a_view_that_joins_twenty_small_tables_pays_no_broadcast_for_each(
    spark: SparkSession, tmp_path: Path, jobs: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(spark, tmp_path / "lake")
    lake.create(
        "sales", f"id INT, {', '.join(f'{k} INT' for k in KEYS)}", [sale(n) for n in range(20)]
    )
    for n in range(DIMENSIONS):
        lake.create(f"d{n}", "id INT, name STRING", [(k, f"{n}-{k}") for k in range(4)])
    with rollview.open(tmp_path / "wh", spark) as warehouse:
        warehouse.add_source("lake", delta=str(lake.folder))
        lake.registered()
        warehouse.create("v", VIEW, policy="incremental")
        oracles = Oracles(lake, {"v": VIEW})

        def refreshed() -> int:
            before = jobs()
            report = warehouse.refresh("v")
            assert (report.technique, report.jobs) == ("ROW_BASED", jobs() - before)
            return report.jobs

        lake.insert("sales", [sale(n) for n in range(20, 30)])
        lake.delete("sales", id=3)
        assert refreshed() == 0
        lake.insert("sales", [sale(n) for n in range(30, 40)])
        for n in (0, 7):
            lake.update(f"d{n}", {"name": f"{n}-new"}, id=n % 4)
        assert refreshed() == 0
        oracles.hold(warehouse, [("v", t) for t in (lake.csn - 1, lake.csn)])

        monkeypatch.setattr(fetched, "MOST_CHANGED", 0)  # joined by Spark, all in one place
        lake.insert("sales", [sale(n) for n in range(40, 50)])
        lake.update("d5", {"name": "5-newer"}, id=2)
        assert refreshed() == 1
        oracles.hold(warehouse, [("v", lake.csn)])
