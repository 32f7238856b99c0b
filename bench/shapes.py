"""What SQL has besides select-joins and sums, each over a table of a million rows with 1,000 changes.

The sales of the star, with its batches; for the closure, half a million ways of two links, of which a batch cuts 100
and mends 100, and adds 400 new ways of two. Refresh against a full recompute that overwrites a stored table; rows that
Spark read and wrote are those of its tasks, for each row that changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench import files, star
from bench.kept import Kept, built
from bench.measure import Runner
from bench.star import Batch

ROWS, CHANGES = 1_000_000, 1_000
SALES = {
    "outer join": "SELECT s.sale_id, s.amount, p.category FROM lake.sales s "
    "LEFT JOIN lake.product p ON s.prod_id = p.prod_id AND p.price >= 50000",
    "DISTINCT": "SELECT DISTINCT cust_id, prod_id FROM lake.sales",
    "MIN and MAX": "SELECT cust_id, MIN(amount) AS least, MAX(amount) AS most FROM lake.sales GROUP BY cust_id",
    "COUNT(DISTINCT)": "SELECT cust_id, COUNT(DISTINCT prod_id) AS products FROM lake.sales GROUP BY cust_id",
    "window": "SELECT sale_id, cust_id, amount, ROW_NUMBER() OVER (PARTITION BY cust_id ORDER BY amount DESC, sale_id)"
    " AS place FROM lake.sales",
    "top 100": "SELECT sale_id, amount FROM lake.sales ORDER BY amount DESC, sale_id LIMIT 100",
}
CLOSURE = {
    "closure": "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION ALL "
    "SELECT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a) SELECT a, b FROM r"
}
ROUNDS = 5


def measured(
    runner: Runner, work: Path, rows: int = ROWS, rounds: int = ROUNDS
) -> list[dict[str, Any]]:
    """Every shape; those over the sales share a lake, the closure has its own."""
    runner.spark.conf.set(
        "spark.sql.cteRecursionRowLimit", "-1"
    )  # a million, and the closure has more
    plan = [Batch(CHANGES)] * (1 + rounds)
    sales = star.history(runner.spark, rows, False, plan)
    links = _links(runner.spark, rows, rounds)
    return [
        *_shapes(runner, work / "sales", sales, SALES, rows, rounds),
        *_shapes(runner, work / "links", links, CLOSURE, rows, rounds),
    ]


def _shapes(
    runner: Runner, work: Path, lake: Path, views: Mapping[str, str], rows: int, rounds: int
) -> list[dict[str, Any]]:
    copy = files.Copy(lake, work / "lake")
    named = {_name(shape): sql for shape, sql in views.items()}
    seconds = built(runner, work / "built", copy.path, named)
    kept = [Kept(runner.spark, work, copy.path, view, sql) for view, sql in named.items()]
    for number in range(1 + rounds):
        copy.reveal()
        for one in kept:
            one.round(runner, number, with_others=True, measured=number > 0)
    found = []
    for shape, one in zip(views, kept, strict=True):
        one.check(shape)
        found.append({"rows": rows, "changes": CHANGES, "case": shape, **one.summary(runner),
                      "build_seconds": seconds[one.view]})  # fmt: skip
        one.close()
    return found


def _name(shape: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in shape.lower())


def _links(spark: SparkSession, rows: int, rounds: int) -> Path:
    """Ways of two links each, 3 n to 3 n + 1 to 3 n + 2, and batches of changes."""

    def make(folder: Path) -> files.Marks:
        path = folder / "link"
        star.write(_ways(spark, 0, rows // 2).repartition(star.FILES, "a"), path)
        marks = [files.versions(folder)]
        for number in range(1 + rounds):
            _change(spark, path, rows // 2, number)
            marks.append(files.versions(folder))
        return marks

    return files.cached(f"links-{rows}-{rounds}", make)


def _ways(spark: SparkSession, first: int, ways: int) -> DataFrame:
    links = spark.range(2 * first, 2 * (first + ways))
    start = 3 * F.floor(F.col("id") / 2) + F.col("id") % 2
    return links.select(start.alias("a"), (start + 1).alias("b"))


def _change(spark: SparkSession, path: Path, ways: int, number: int) -> None:
    """800 links come, 100 are turned elsewhere and 100 go, scattered over the table."""
    added = _ways(spark, ways + 400 * number, 400).coalesce(1)
    added.write.format("delta").mode("append").save(str(path))
    table, every = DeltaTable.forPath(spark, str(path)), 3 * ways // 100
    old = F.col("a") < 3 * ways
    table.update(old & (F.col("a") % every == 3 * number), {"b": F.col("b") + 3 * ways + 3000})
    table.delete(old & (F.col("a") % every == 3 * number + 300))
