"""What a user would do instead: recompute in full, or MERGE by hand; nothing of rollview is used here.

The recompute overwrites a stored Delta Lake table. The MERGE is what a good engineer would write: it reads the
change feed since the last run, keeps the latest change of each sale (or signed sums for the aggregate), joins only
those with the broadcast dimensions, reads the sales of changed customers only if customers changed, and merges into a
table with deletion vectors.
"""

from __future__ import annotations

from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from bench import files, star

SIGNS = {"insert": 1, "update_postimage": 1, "update_preimage": -1, "delete": -1}


def load(spark: SparkSession, path: Path) -> DataFrame:
    """A Delta Lake table as it is now."""
    return spark.read.format("delta").load(str(path))


def recomputed(spark: SparkSession, lake: Path, sql: str) -> DataFrame:
    """The view's query over the tables as they are now."""
    for table in files.versions(lake):
        load(spark, lake / table).createOrReplaceTempView(f"b_{table}")
    return spark.sql(sql.replace("lake.", "b_"))


def overwrite(spark: SparkSession, lake: Path, sql: str, target: Path) -> None:
    """A full recompute."""
    recomputed(spark, lake, sql).write.format("delta").mode("overwrite").save(str(target))


class Merge:
    """A view of the star kept by hand."""

    def __init__(self, spark: SparkSession, lake: Path, view: str, target: Path) -> None:
        self.spark, self.lake, self.view, self.target = spark, lake, view, target
        self.done = files.versions(lake)
        rows = recomputed(spark, lake, star.VIEWS[view])
        rows.write.format("delta").option("delta.enableDeletionVectors", "true").save(str(target))

    def run(self) -> None:
        """Bring the table to now."""
        now = files.versions(self.lake)
        sales = self._feed("sales", now)
        customers = self._feed("customer", now)
        if self.view == "select_join":
            self._merge_rows(sales, customers)
        else:
            self._merge_sums(sales, customers)
        self.done = now

    def _feed(self, table: str, now: dict[str, int]) -> DataFrame | None:
        """What changed in a table since the last run, with a sign; None if nothing did."""
        if now[table] == self.done[table]:
            return None
        reader = self.spark.read.format("delta").option("readChangeFeed", "true")
        reader = reader.option("startingVersion", self.done[table] + 1)
        rows = reader.option("endingVersion", now[table]).load(str(self.lake / table))
        sign = F.lit(0)
        for kind, value in SIGNS.items():
            sign = F.when(F.col("_change_type") == kind, F.lit(value)).otherwise(sign)
        return rows.withColumn("sign", sign)

    def _table(self, name: str) -> DataFrame:
        return load(self.spark, self.lake / name)

    def _merge_rows(self, sales: DataFrame | None, customers: DataFrame | None) -> None:
        """Rows by their key: the latest change of each sale, and every sale of a changed customer."""
        columns = ["sale_id", "cust_id", "prod_id", "amount"]
        parts = []
        if sales is not None:
            latest = Window.partitionBy("sale_id").orderBy(
                F.desc("_commit_version"), F.desc("sign")
            )
            changed = sales.withColumn("place", F.row_number().over(latest)).where("place = 1")
            parts.append(changed.select(*columns, (F.col("sign") < 0).alias("gone")))
        if customers is not None:
            keys = F.broadcast(customers.select("cust_id").distinct())
            theirs = self._table("sales").join(keys, "cust_id", "left_semi")
            parts.append(theirs.select(*columns, F.lit(False).alias("gone")))
        united = (
            parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1]).dropDuplicates(["sale_id"])
        )
        source = (
            united.join(F.broadcast(self._table("customer")), "cust_id", "left")
            .join(F.broadcast(self._table("product")), "prod_id", "left")
            .withColumn("gone", F.expr("gone OR coalesce(price < 50000, true) OR state IS NULL"))
        )
        values: dict[str, str | Column] = {
            name: f"s.{name}" for name in (*columns, "state", "segment", "category", "price")
        }
        target = DeltaTable.forPath(self.spark, str(self.target)).alias("t")
        (
            target.merge(source.alias("s"), "t.sale_id = s.sale_id")
            .whenMatchedDelete("s.gone")
            .whenMatchedUpdate(set=values)
            .whenNotMatchedInsert("NOT s.gone", values)
            .execute()
        )

    def _merge_sums(self, sales: DataFrame | None, customers: DataFrame | None) -> None:
        """Signed sums by group: new sales with old customers, all sales with changed customers."""
        parts = []
        wanted = ("cust_id", "state", "sign")
        now = self._table("customer").withColumn("sign", F.lit(1)).select(*wanted)
        if customers is not None:
            changed = customers.select(*wanted)
            parts.append(self._signed(self._table("sales").withColumn("sign", F.lit(1)), changed))
            now = now.unionAll(changed.withColumn("sign", -F.col("sign")))
        if sales is not None:
            parts.append(self._signed(sales, now))
        rows = parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1])
        source = rows.groupBy("state", "category").agg(
            F.sum("sign").alias("n"), F.sum(F.col("sign") * F.col("amount")).alias("total")
        )
        target = DeltaTable.forPath(self.spark, str(self.target)).alias("t")
        (
            target.merge(source.alias("s"), "t.state = s.state AND t.category = s.category")
            .whenMatchedDelete("t.n + s.n = 0")
            .whenMatchedUpdate(set={"n": "t.n + s.n", "total": "t.total + s.total"})
            .whenNotMatchedInsert(values={c: f"s.{c}" for c in ("state", "category", "n", "total")})
            .execute()
        )

    def _signed(self, sales: DataFrame, customers: DataFrame) -> DataFrame:
        """Sales with their customer and product; signs multiply."""
        other = F.broadcast(customers.withColumnRenamed("sign", "other"))
        joined = sales.join(other, "cust_id").join(F.broadcast(self._table("product")), "prod_id")
        sign = F.col("sign") * F.col("other")
        return joined.select("state", "category", sign.alias("sign"), "amount")
