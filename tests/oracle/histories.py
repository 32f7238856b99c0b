"""A thousand independent histories in one lake: their number `h` is part of every key and of every condition.

So one commit is a transaction of a thousand small databases, one refresh maintains a thousand views, and one
comparison checks a thousand states. What the tables hold at every CSN is kept in DuckDB by what each change means;
a view is recomputed from that and, by Spark, from the versions of the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
from delta.tables import DeltaTable
from oracle.lake import Lake
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

JOINED = "FROM lake.sales s JOIN lake.cust c ON s.h = c.h AND s.cust = c.cust"
VIEWS = {
    "pairs": f"SELECT s.h, s.id, s.amount, c.city {JOINED}",
    "twins": "SELECT a.h, a.id AS l, b.id AS r, b.weight FROM lake.sales a JOIN lake.sales b "
    "ON a.h = b.h AND a.cust = b.cust AND a.id <= b.id",
    "regions": f"SELECT s.h, s.id, c.city, r.region {JOINED} "
    "JOIN lake.city r ON r.h = c.h AND c.city = r.city",
    "kinds": "SELECT h, cust, 'sale' AS kind FROM lake.sales WHERE amount > 1 "
    "UNION ALL SELECT h, cust, city FROM lake.cust",
    "totals": "SELECT s.h, c.city, COUNT(*) AS n, COUNT(s.amount) AS amounts, SUM(s.amount) AS total,"
    f" AVG(s.weight) AS mean {JOINED} GROUP BY s.h, c.city",
    "cities": "SELECT DISTINCT h, city FROM lake.cust",
    "buyers": "SELECT h, cust, SUM(amount) AS total, SUM(weight) AS weight FROM lake.sales "
    "GROUP BY h, cust HAVING COUNT(*) > 1",
    "busy": "SELECT t.h, t.city, t.total, r.region FROM totals t JOIN lake.city r "
    "ON t.h = r.h AND t.city = r.city WHERE t.n > 1",
}
COLUMNS = {
    "sales": "h INT, id INT, cust INT, amount DECIMAL(10,2), weight DOUBLE",
    "cust": "h INT, cust INT, city STRING",
    "city": "h INT, city STRING, region STRING",
}
KEY = {"sales": "id", "cust": "cust", "city": "city"}
VALUES: dict[str, list[Any]] = {
    "id": [0, 1, 2, 3],
    "cust": [0, 1, 2, None],
    "city": ["a", "b", None],
    "region": ["x", "y"],
    "amount": [None, Decimal("0.50"), Decimal("1.25"), Decimal("-7.00"), Decimal("1.25")],
    "weight": [None, 0.5, 0.1, -2.25],
}
KINDS = ["append"] * 3 + ["merge"] * 4 + ["delete"] * 2 + ["update"] * 2 + ["overwrite", "optimize"]


class Histories:
    """`count` histories over three tables; commit n has the CSN n."""

    def __init__(self, spark: SparkSession, folder: Path, count: int, seed: int) -> None:
        self.spark, self.count, self.random = spark, count, Random(seed)
        self.lake = Lake(spark, folder)
        self.model = duckdb.connect()
        self.versions: list[dict[str, int]] = []
        for table, columns in COLUMNS.items():
            rows = self.rows(table, 3)
            self.lake.create(table, columns, rows, vectors=table == "cust")
            self.model.register("_put", self.lake.arrow(table, tuple(rows)))
            self.model.sql(f"CREATE TABLE {table} AS SELECT * FROM _put")
            self.model.unregister("_put")
        self._remember()

    @property
    def csn(self) -> int:
        """The newest CSN."""
        return len(self.versions) - 1

    # --- changes, each to Spark and to the model

    def rows(self, table: str, most: int, share: float = 1.0) -> list[tuple[Any, ...]]:
        """Up to `most` random rows for every history of the share."""
        names = self.names(table)[1:]
        return [
            (h, *(self.random.choice(VALUES[n]) for n in names))
            for h in range(self.count)
            if self.random.random() < share
            for _ in range(self.random.randint(1, most))
        ]

    def names(self, table: str) -> list[str]:
        """The columns of a table."""
        return [column.split(" ")[0] for column in COLUMNS[table].split(", ")]

    def commit(self, table: str, kind: str) -> None:
        """One commit that changes rows of many histories."""
        match kind:
            case "append" | "overwrite":
                self._write(table, kind, self.rows(table, 2, 0.5 if kind == "append" else 0.9))
            case "merge":
                self._merge(table)
            case "delete":
                condition = self._condition(table)
                self._delta(table).delete(condition)
                self.model.sql(f"DELETE FROM {table} WHERE {condition}")
            case "update":
                condition, column = self._condition(table), self.names(table)[-1]
                value = self._literal(self.random.choice(VALUES[column]))
                self._delta(table).update(condition, {column: value})
                self.model.sql(f"UPDATE {table} SET {column} = {value} WHERE {condition}")
            case "optimize":
                self._delta(table).optimize().executeCompaction()
        if kind != "optimize":
            self._remember()

    def _write(self, table: str, kind: str, rows: Sequence[tuple[Any, ...]]) -> None:
        frame = self.lake.frame(table, rows)
        frame.write.format("delta").mode(kind).save(str(self.lake.tables[table].path))
        if kind == "overwrite":
            self.model.sql(f"DELETE FROM {table}")
        self._insert(table, self.lake.arrow(table, tuple(rows)), "SELECT * FROM _put")

    def _merge(self, table: str) -> None:
        """MERGE of one row per history: it replaces what has its key, or goes, or comes new."""
        names, key = self.names(table), KEY[table]
        keys = [v for v in VALUES[key] if v is not None]
        rows = [
            (h, *(self.random.choice(keys if n == key else VALUES[n]) for n in names[1:]))
            for h in range(self.count)
            if self.random.random() < 0.7
        ]
        gone = [self.random.random() < 0.4 for _ in rows]
        put = self.lake.arrow(table, tuple(rows)).append_column("_gone", pa.array(gone))
        same = f"t.h = s.h AND t.{key} = s.{key}"
        values = {n: F.col(f"s.{n}") for n in names}
        source = self.spark.createDataFrame(put).coalesce(1)
        (
            self._delta(table).alias("t").merge(source.alias("s"), same)
            .whenMatchedDelete("s._gone").whenMatchedUpdate(set=values)
            .whenNotMatchedInsert("NOT s._gone", values).execute()
        )  # fmt: skip
        self.model.register("_put", put)
        self.model.sql(f"DELETE FROM {table} t USING _put s WHERE {same} AND s._gone")
        sets = ", ".join(f"{n} = s.{n}" for n in names)
        self.model.sql(f"UPDATE {table} t SET {sets} FROM _put s WHERE {same}")
        self._insert(table, put, f"SELECT {', '.join(names)} FROM _put s WHERE NOT s._gone AND "
                     f"NOT EXISTS (SELECT 1 FROM {table} t WHERE {same})")  # fmt: skip

    def _insert(self, table: str, put: pa.Table, rows: str) -> None:
        self.model.register("_put", put)
        self.model.sql(f"INSERT INTO {table} {rows}")
        self.model.unregister("_put")

    def _condition(self, table: str) -> str:
        """About a fifth of the histories, in them the rows with one value of one column; some row meets it.

        Delta Lake makes no commit, or one without changes, where no row does.
        """
        while True:
            column = self.random.choice(self.names(table)[1:-1])
            value = self.random.choice([v for v in VALUES[column] if v is not None])
            some = f"(h * {self.random.randint(1, 9)} + {self.random.randrange(5)}) % 5 = 0"
            condition = f"{some} AND {column} = {self._literal(value)}"
            if self.model.sql(f"SELECT 1 FROM {table} WHERE {condition} LIMIT 1").fetchall():
                return condition

    def _literal(self, value: Any) -> str:
        if value is None:
            return "NULL"
        return f"'{value}'" if isinstance(value, str) else str(value)

    def _delta(self, table: str) -> DeltaTable:
        return DeltaTable.forPath(self.spark, str(self.lake.tables[table].path))

    def _remember(self) -> None:
        """The tables as they are now get the next CSN, and keep it."""
        csn = len(self.versions)
        now = {}
        for table, known in self.lake.tables.items():
            log = known.path / "_delta_log"
            now[table] = max(int(p.stem) for p in log.glob("*.json") if p.stem.isdigit())
            self.model.sql(f"CREATE TABLE {table}_{csn} AS SELECT * FROM {table}")
        self.versions.append(now)

    def forget(self, before: int) -> None:
        """Drop the model's states that nobody will ask for again."""
        for csn in range(before):
            for table in COLUMNS:
                self.model.sql(f"DROP TABLE IF EXISTS {table}_{csn}")

    # --- the oracles

    def by_spark(self, view: str, csn: int) -> DataFrame:
        """Oracle A: plain SQL over Delta Lake's own time travel."""
        for table, version in self.versions[csn].items():
            reader = self.spark.read.format("delta").option("versionAsOf", version)
            reader.load(str(self.lake.tables[table].path)).createOrReplaceTempView(f"many_{table}")
        if view == "busy":
            totals = self.spark.sql(VIEWS["totals"].replace(" lake.", " many_"))
            totals.createOrReplaceTempView("many_totals")
        sql = VIEWS[view].replace(" lake.", " many_").replace(" totals t", " many_totals t")
        return self.spark.sql(sql)

    def by_duckdb(self, view: str, csn: int) -> str:
        """Oracle B: the query over the model's states."""
        sql = VIEWS[view].replace(" totals t", f" ({VIEWS['totals']}) t")
        for table in COLUMNS:
            sql = sql.replace(f" lake.{table}", f" {table}_{csn}")
        return sql

    def wrong(self, view: str, csn: int, have: DataFrame) -> str | None:
        """The first history whose view is not what both oracles say, and how; None if all are."""
        want = self.by_spark(view, csn)
        kinds = [(f.name, f.dataType.simpleString()) for f in want.schema]
        assert [(f.name, f.dataType.simpleString()) for f in have.schema] == kinds
        both = have.withColumn("_side", F.lit("view")).unionAll(
            want.withColumn("_side", F.lit("A"))
        )
        self.model.register("_both", both.toArrow())
        shown = ", ".join(
            f"printf('%.8e', {n} + 0.0) AS {n}" if kind in ("double", "float") else n
            for n, kind in kinds
        )
        names = ", ".join(n for n, _ in kinds)
        self.model.sql(
            f"CREATE OR REPLACE TEMP TABLE _sides AS SELECT {shown}, _side FROM _both UNION ALL "
            f"SELECT {shown}, 'B' FROM ({self.by_duckdb(view, csn)})"
        )
        self.model.unregister("_both")
        differing = self.model.sql(
            f"SELECT {names}, COUNT(*) FILTER (_side = 'view') AS have, "
            "COUNT(*) FILTER (_side = 'A') AS spark, COUNT(*) FILTER (_side = 'B') AS duckdb "
            f"FROM _sides GROUP BY {names} HAVING have <> spark OR have <> duckdb ORDER BY ALL LIMIT 9"
        ).fetchall()
        if not differing:
            return None
        lines = [
            f"history {differing[0][0]} of view {view} at {csn} differs; row, have, spark, duckdb:"
        ]
        return "\n".join([*lines, *map(str, differing)])
