"""Every technique's price in Spark jobs, written steps and Delta Lake commits: counted; and the rows are right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from oracle.lake import Lake
from oracle.oracles import Oracles
from pyspark.sql import SparkSession

import rollview

pytestmark = pytest.mark.spark

VIEWS = {
    "added": "SELECT id, amount FROM lake.sales WHERE amount > 1",
    "padded": "SELECT s.id, p.kind FROM lake.sales s LEFT JOIN lake.product p ON s.product = p.product",
    "without": "SELECT p.product FROM lake.product p WHERE NOT EXISTS "
    "(SELECT 1 FROM lake.sales s WHERE s.product = p.product)",
    "total": "SELECT product, COUNT(*) AS n, SUM(amount) AS total FROM lake.sales GROUP BY product",
    "distinct_rows": "SELECT DISTINCT product FROM lake.sales",
    "extremes": "SELECT product, MIN(amount) AS lo, COUNT(DISTINCT amount) AS n FROM lake.sales GROUP BY product",
    "ranked": "SELECT id, RANK() OVER (PARTITION BY product ORDER BY amount, id) AS place FROM lake.sales",
    "first_rows": "SELECT id, amount FROM lake.sales ORDER BY amount DESC, id LIMIT 5",
    "reached": "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION ALL "
    "SELECT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a) SELECT a, b FROM r",
}
PRICES = {
    "added": ("APPEND_ONLY", 0, 1),
    "padded": ("ROW_BASED", 2, 1),
    "without": ("ROW_BASED", 4, 2),
    "total": ("GROUP_AGGREGATE", 0, 1),
    "distinct_rows": ("GROUP_AGGREGATE", 0, 1),
    "extremes": ("GENERIC_AGGREGATE", 5, 1),
    "ranked": ("WINDOW_FUNCTION", 5, 1),
    "first_rows": ("WINDOW_FUNCTION", 4, 1),
    "reached": ("RECURSIVE", 17, 2),  # some for each of its levels
}
"""View -> technique, Spark jobs and written steps of a refresh after a few changes; none commits to Delta Lake."""
RECOMPUTED = (3, 1)
"""Jobs and commits of a full recompute of "total"."""


def counted(warehouse: rollview.Warehouse, what: str) -> int:
    return len(list(warehouse.path.glob(f"views/**/{what}")))


def test_every_technique_has_its_price(
    spark: SparkSession, tmp_path: Path, jobs: Callable[[], int]
) -> None:
    lake = Lake(spark, tmp_path / "lake")
    lake.create("sales", "id INT, product INT, amount INT", [(n, n % 7, n % 11) for n in range(60)])
    lake.create("product", "product INT, kind STRING", [(n, f"kind {n % 2}") for n in range(5)])
    lake.create("link", "a INT, b INT", [(n, n + 1) for n in range(8)])
    with rollview.open(tmp_path / "wh", spark) as warehouse:
        warehouse.add_source("lake", delta=lake.folder)
        lake.registered()
        for name, sql in VIEWS.items():
            warehouse.create(name, sql, policy="incremental")
        oracles = Oracles(lake, VIEWS)
        for turn in range(2):  # the first one fills what a process keeps
            lake.insert("sales", [(100 + turn, 3, 20 + turn), (200 + turn, 9, 5)])
            lake.insert("link", [(20 + turn, 3)])
            if turn:
                added = lake.csn
                before = jobs()
                report = warehouse.refresh("added", to=added)
                found = {"added": (report.technique, jobs() - before, report.steps)}
                oracles.hold(warehouse, [("added", added)])
            lake.delete("sales", id=4 + turn)
            lake.delete("link", a=1 + turn)
            for name in VIEWS:
                commits, steps, before = (
                    counted(warehouse, "_delta_log/*.json"),
                    counted(warehouse, "steps/*"),
                    jobs(),
                )
                report = warehouse.refresh(name)
                if turn and name != "added":
                    found[name] = (report.technique, jobs() - before, report.steps)
                    assert counted(warehouse, "steps/*") == steps + report.steps, name
                assert report.jobs == jobs() - before, name
                assert counted(warehouse, "_delta_log/*.json") == commits, name
            oracles.hold(warehouse, [(name, lake.csn) for name in VIEWS])
        assert found == PRICES

        lake.insert("sales", [(300, 3, 30)])
        commits, before = counted(warehouse, "_delta_log/*.json"), jobs()
        report = warehouse.refresh("total", full=True)
        assert (report.technique, report.jobs) == ("COMPLETE_RECOMPUTE", jobs() - before)
        assert (report.jobs, counted(warehouse, "_delta_log/*.json") - commits) == RECOMPUTED
        oracles.hold(warehouse, [("total", lake.csn)])
