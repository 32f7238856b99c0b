"""The star: sales (N rows), customer (100,000), product (10,000), made by a fixed formula, and batches of changes.

Tables are Delta Lake with the change feed on, with or without deletion vectors. A batch of B changes is 80 % inserts,
10 % updates of the amount and 10 % deletes of sales, scattered over the table, as three commits; `customers` adds
an update of B / 100 customers. Everything is a function of the sizes: the same run finds the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench import files

CUSTOMERS, PRODUCTS, FILES, STATES, CATEGORIES = 100_000, 10_000, 8, 50, 20
TABLES = ("sales", "customer", "product")

_FROM = """FROM lake.sales s JOIN lake.customer c ON s.cust_id = c.cust_id
JOIN lake.product p ON s.prod_id = p.prod_id"""
SELECT_JOIN = f"""SELECT s.sale_id, s.cust_id, s.prod_id, s.amount, c.state, c.segment, p.category, p.price
{_FROM} WHERE p.price >= 50000"""
AGGREGATE = f"""SELECT c.state, p.category, COUNT(*) AS n, SUM(s.amount) AS total
{_FROM} GROUP BY c.state, p.category"""
VIEWS = {"select_join": SELECT_JOIN, "aggregate": AGGREGATE}


@dataclass(frozen=True, slots=True)
class Batch:
    """So many changes of sales, and with `customers` of a hundredth as many customers."""

    changes: int
    customers: bool = False


def history(spark: SparkSession, rows: int, vectors: bool, plan: Sequence[Batch]) -> Path:
    """The cached lake with the batches of the plan."""
    base = files.cached(f"star-{rows}", lambda folder: _first(spark, folder, rows))
    told = sha256(repr(tuple(plan)).encode()).hexdigest()[:8]

    def make(folder: Path) -> files.Marks:
        for table in TABLES:
            files.linked(base / table, folder / table)
        if vectors:
            spark.conf.set("spark.sql.runSQLOnFiles", "true")  # rollview's sessions have it off
            for table in TABLES:
                spark.sql(f"ALTER TABLE delta.`{folder / table}` SET TBLPROPERTIES "
                          "('delta.enableDeletionVectors' = 'true')")  # fmt: skip
            spark.conf.set("spark.sql.runSQLOnFiles", "false")
        marks, changes = [files.versions(folder)], Changes(spark, folder, rows)
        for batch in plan:
            changes.commit(batch)
            marks.append(files.versions(folder))
        return marks

    return files.cached(f"star-{rows}-{'vectors' if vectors else 'plain'}-{told}", make)


def _first(spark: SparkSession, lake: Path, rows: int) -> files.Marks:
    """Write the three tables."""
    write(sales(spark, 0, rows).repartition(FILES, "sale_id"), lake / "sales")
    ids = spark.range(CUSTOMERS)
    write(ids.select(F.col("id").alias("cust_id"), (F.col("id") % STATES).cast("int").alias("state"),
                     F.pmod(F.hash("id"), F.lit(7)).alias("segment")).coalesce(1),
          lake / "customer")  # fmt: skip
    ids = spark.range(PRODUCTS)
    write(ids.select(F.col("id").alias("prod_id"),
                     (F.col("id") % CATEGORIES).cast("int").alias("category"),
                     F.pmod(F.hash("id"), F.lit(100_000)).alias("price")).coalesce(1),
          lake / "product")  # fmt: skip
    return [files.versions(lake)]


def sales(spark: SparkSession, first: int, rows: int) -> DataFrame:
    """Sales `first` to `first + rows`; customers and products are scattered by a hash."""
    return spark.range(first, first + rows).select(
        F.col("id").alias("sale_id"),
        F.pmod(F.xxhash64("id"), F.lit(CUSTOMERS)).alias("cust_id"),
        F.pmod(F.xxhash64("id", F.lit(1)), F.lit(PRODUCTS)).alias("prod_id"),
        (F.pmod(F.xxhash64("id", F.lit(2)), F.lit(1_000_000)) / 100)
        .cast("decimal(10,2)")
        .alias("amount"),
    )


def write(rows: DataFrame, path: Path) -> None:
    """A table with the change feed on and deletion vectors off."""
    rows.write.format("delta").option("delta.enableChangeDataFeed", "true").option(
        "delta.enableDeletionVectors", "false"
    ).save(str(path))


class Changes:
    """Batches of changes, each different and each repeatable."""

    def __init__(self, spark: SparkSession, lake: Path, rows: int) -> None:
        self.spark, self.lake, self.rows = spark, lake, rows
        self.next, self.number = rows, 0

    def commit(self, batch: Batch) -> None:
        """One batch: an append, an UPDATE and a DELETE, and with `customers` another UPDATE."""
        inserts, others = batch.changes * 8 // 10, batch.changes // 10
        self.number += 1
        path = str(self.lake / "sales")
        added = sales(self.spark, self.next, inserts).coalesce(1)
        added.write.format("delta").mode("append").save(path)
        self.next += inserts
        table = DeltaTable.forPath(self.spark, path)
        table.update(self._scattered(2 * self.number, others), {"amount": F.col("amount") + 1})
        table.delete(self._scattered(2 * self.number + 1, others))
        if batch.customers:
            every = CUSTOMERS // max(1, batch.changes // 100)
            DeltaTable.forPath(self.spark, str(self.lake / "customer")).update(
                F.col("cust_id") % every == self.number * 7 % every,
                {"state": (F.col("state") + 1) % STATES},
            )

    def _scattered(self, number: int, rows: int) -> str:
        """A condition that `rows` of the first sales meet, evenly spread; others for each number."""
        every = self.rows // rows
        return f"sale_id < {self.rows} AND sale_id % {every} = {number * 37 % every}"
