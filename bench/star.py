"""The star: sales (N rows), customer (100,000), product (10,000), made by a fixed formula.

Tables are Delta Lake with the change feed on and deletion vectors off, written through plain Spark. A batch of B
changes is 80 % inserts, 10 % updates of the amount and 10 % deletes of sales, as three commits.
"""

from __future__ import annotations

import random
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

CUSTOMERS, PRODUCTS, FILES = 100_000, 10_000, 8
FEED = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "false"}

SELECT_JOIN = """
SELECT s.sale_id, s.cust_id, s.prod_id, s.amount, c.state, c.segment, p.category, p.price
FROM lake.sales s JOIN lake.customer c ON s.cust_id = c.cust_id JOIN lake.product p ON s.prod_id = p.prod_id
WHERE p.price >= 50000"""
AGGREGATE = """
SELECT c.state, p.category, COUNT(*) AS n, SUM(s.amount) AS total
FROM lake.sales s JOIN lake.customer c ON s.cust_id = c.cust_id JOIN lake.product p ON s.prod_id = p.prod_id
GROUP BY c.state, p.category"""


def make(spark: SparkSession, lake: Path, rows: int) -> None:
    """Write the three tables."""
    _write(sales(spark, 0, rows).repartition(FILES), lake / "sales")
    ids = spark.range(CUSTOMERS)
    _write(ids.select(F.col("id").alias("cust_id"), (F.col("id") % 50).cast("int").alias("state"),
                      (F.hash("id") % 7).alias("segment")).repartition(1), lake / "customer")  # fmt: skip
    ids = spark.range(PRODUCTS)
    _write(ids.select(F.col("id").alias("prod_id"), (F.col("id") % 20).cast("int").alias("category"),
                      (F.pmod(F.hash("id"), F.lit(100_000))).alias("price")).repartition(1),
           lake / "product")  # fmt: skip


def sales(spark: SparkSession, first: int, rows: int) -> DataFrame:
    """Sales `first` to `first + rows`; keys are scattered by a hash."""
    return spark.range(first, first + rows).select(
        F.col("id").alias("sale_id"),
        F.pmod(F.xxhash64("id"), F.lit(CUSTOMERS)).alias("cust_id"),
        F.pmod(F.xxhash64("id", F.lit(1)), F.lit(PRODUCTS)).alias("prod_id"),
        F.pmod(F.xxhash64("id", F.lit(2)), F.lit(1_000_000)).alias("amount"),
    )


def _write(rows: DataFrame, path: Path) -> None:
    writer = rows.write.format("delta")
    for key, value in FEED.items():
        writer = writer.option(key, value)
    writer.save(str(path))


class Changes:
    """Batches of changes to the sales, each different and each repeatable."""

    def __init__(self, spark: SparkSession, lake: Path, rows: int) -> None:
        self.spark, self.rows, self.next, self.random = spark, rows, rows, random.Random(7)
        self.path = str(lake / "sales")

    def commit(self, batch: int) -> None:
        """One batch: an append, an UPDATE and a DELETE."""
        inserts, others = batch * 8 // 10, batch // 10
        sales(self.spark, self.next, inserts).coalesce(1).write.format("delta").mode("append").save(
            self.path
        )
        self.next += inserts
        keys = self.random.sample(range(self.rows), 2 * others)
        table = DeltaTable.forPath(self.spark, self.path)
        table.update(F.col("sale_id").isin(keys[:others]), {"amount": F.col("amount") + 1})
        table.delete(F.col("sale_id").isin(keys[others:]))
