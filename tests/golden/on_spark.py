"""Views on Spark through one history of a small lake, against Spark's own recompute and DuckDB's.

Each view is refreshed to times of its own; it is compared, at a kept time, with the user's SQL over the versions that
the lake recorded (Spark) and over the recorded rows (DuckDB). Views share a lake: a commit costs as much as a view.
After the last refresh no stored count is below zero (stored.py).
Spark has no UNION in WITH RECURSIVE, and no ANY or ALL of a subquery: there DuckDB is asked alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import duckdb
from duck import duck_sql
from golden.case import Row, Schema, Transaction
from golden.stored import below_zero
from oracle.compare import Bag, collected, difference, text_of
from oracle.lake import Lake, Recorded
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import rollview
from rollview.spark import fetched

AT_ONCE = 12
"""Views compared by one Spark action."""
UNION = re.compile(r"\bUNION\b(?! ALL)")
QUANTIFIED = re.compile(r"[=<>] (ANY|SOME|ALL) \(SELECT")


@dataclass(frozen=True)
class Viewed:
    """A view under a name of its own; `views` are (name, SQL), it is the last one."""

    name: str
    views: tuple[tuple[str, str], ...]
    spark_only: bool = False

    @property
    def duckdb_only(self) -> bool:
        """Spark does not run the SQL itself."""
        texts = [sql for _, sql in self.views]
        unions = any("RECURSIVE" in sql and UNION.search(sql) for sql in texts)
        return unions or any(QUANTIFIED.search(sql) for sql in texts)


def viewed(name: str, views: Sequence[tuple[str, str]], spark_only: bool = False) -> Viewed:
    """The views with names that no other case uses."""
    renamed: dict[str, str] = {}
    found = []
    for view, sql in views:
        for old, own in renamed.items():
            sql = re.sub(rf"\b(FROM|JOIN) {old}\b", rf"\1 {own}", sql)
        renamed[view] = name if view == views[-1][0] else f"{name}_{view}"
        found.append((renamed[view], sql))
    return Viewed(name, tuple(found), spark_only)


class OnSpark:
    """A lake, a warehouse with the views, and both recomputes."""

    def __init__(self, spark: SparkSession, folder: Path, tables: Schema, seed: int) -> None:
        self.spark, self.tables, self.pick = spark, tables, Random(seed)
        self.lake = Lake(spark, folder / "lake")
        for name, columns in tables.items():
            self.lake.create(name.split(".")[1], ", ".join(f"{c} {kind}" for c, kind in columns))
        self.warehouse: Any = rollview.open(folder / "wh", spark)
        self.warehouse.add_source("lake", delta=folder / "lake")
        self.lake.registered()
        self.views: list[Viewed] = []
        self.compared = 0
        self._read: dict[tuple[str, int], DataFrame] = {}

    def commit(self, changes: Transaction) -> None:
        """A transaction, one Delta Lake commit a table."""
        for full, counted in changes.items():
            name = full.split(".")[1]
            old = list(self.lake.tables[name].rows)
            new = after(old, counted)
            if new == old:
                continue
            if new[: len(old)] == old:
                self.lake.insert(name, new[len(old) :])
            else:
                self._take(name, full, old, new)

    def _take(self, name: str, full: str, old: list[Row], new: list[Row]) -> None:
        """One row in all its copies is deleted by its values; else the table is written anew."""
        gone = [row for row in old if row not in new]
        plain = all(not isinstance(value, list) for row in gone for value in row)
        if gone and plain and len(new) + len(gone) == len(old) and gone == [gone[0]] * len(gone):
            names = (column for column, _ in self.tables[full])
            self.lake.delete(name, **dict(zip(names, gone[0], strict=True)))
        else:
            self.lake.overwrite(name, new)

    def create(self, views: Iterable[Viewed]) -> dict[str, str]:
        """Create the views; what went wrong, by name."""
        wrong = {}
        self.warehouse.capture()
        for view in views:
            try:
                for name, sql in view.views:
                    self.warehouse.create(name, sql, policy="incremental")
            except rollview.RollviewError as error:
                wrong[view.name] = f"{error.what}\n{error.detail}"
                continue
            self.views.append(view)
        return wrong

    def refresh(self, last: bool = False) -> dict[str, str]:
        """Every view to a time of its own (at last to now), and what differs at a kept time, by name."""
        now = self.warehouse.capture().csn
        assert now == self.lake.csn
        wanted, wrong = [], {}
        for view in self.views:
            mark = self.warehouse.status(view.name).high_water_mark
            to = now if last or self.pick.random() < 0.3 else self.pick.randint(mark, now)
            few = self.pick.choice([0, fetched.MOST_CHANGED])  # joined by Spark, or by the driver
            try:
                with patch.object(fetched, "MOST_CHANGED", few):
                    for name, _ in view.views:
                        shown = self.warehouse.status(name).view_time
                        self.warehouse.refresh(name, to=max(to, shown))
            except rollview.RollviewError as error:
                if self.fails(view, max(to, shown), error.detail):
                    self.compared += 1  # both say that there is no answer, and why
                else:
                    wrong[view.name] = f"{error.what}\n{error.detail}"
                continue
            status = self.warehouse.status(view.name)
            wanted.append((view, self.pick.choice([to, self.pick.randint(status.oldest, to)])))
        for start in range(0, len(wanted), AT_ONCE):
            wrong |= self.differences(wanted[start : start + AT_ONCE])
        return wrong | below_zero(self.warehouse) if last else wrong

    def differences(self, wanted: Sequence[tuple[Viewed, int]]) -> dict[str, str]:
        """What differs, by name."""
        frames: dict[tuple[str, str], DataFrame] = {}
        for view, csn in wanted:
            frames["view", view.name] = self.warehouse.table(view.name, as_of=csn)
            if not view.duckdb_only:
                frames["spark", view.name] = self.by_spark(view, csn)
        bags, wrong = collected(frames), {}
        for view, csn in wanted:
            have = bags["view", view.name]
            want = {} if view.duckdb_only else {"Spark": bags["spark", view.name]}
            if not view.spark_only:
                want["DuckDB"] = self.by_duckdb(view, csn)
            found = {engine: difference(have, bag) for engine, bag in want.items()}
            if told := [
                f"at {csn}, against {engine}: {what}" for engine, what in found.items() if what
            ]:
                wrong[view.name] = "\n".join([*told, view.views[-1][1]])
        self.compared += len(wanted)
        return wrong

    def by_spark(self, view: Viewed, csn: int) -> DataFrame:
        """The user's SQL over the versions of that time."""
        names = {}
        for table, recorded in self.lake.at(csn).items():
            names[f"lake.{table}"] = f"of_{table}"
            rows = self.read(recorded)
            # Columns of its own: Spark 4.2 loses those that LATERAL shares with other queries of one action.
            rows.toDF(*rows.columns).createOrReplaceTempView(f"of_{table}")
        for name, sql in view.views:
            answer = self.spark.sql(_over(sql, names))
            answer.createOrReplaceTempView(f"of_{name}")
            names[name] = f"of_{name}"
        return answer

    def fails(self, view: Viewed, csn: int, detail: str) -> bool:
        """Whether Spark fails on the user's SQL for the same reason: CORR divides by 0 where all values are one."""
        if view.duckdb_only:
            return False
        rows = self.by_spark(view, csn)  # what Spark cannot plan is an error here
        try:
            rows.collect()
        except PySparkException as error:
            condition = error.getCondition()
            return condition is not None and f"[{condition}]" in detail
        return False

    def read(self, recorded: Recorded) -> DataFrame:
        """A version as Delta Lake shows it, fetched once: many views ask for it, some of them several times."""
        key = recorded.table, recorded.version
        if key not in self._read:
            rows = self.lake.version(recorded)
            there = rows.toArrow().combine_chunks()  # Spark 4.2 stops at a piece without rows
            self._read[key] = self.spark.createDataFrame(there, rows.schema).coalesce(1)
        return self._read[key]

    def by_duckdb(self, view: Viewed, csn: int) -> Bag:
        """The user's SQL over the recorded rows."""
        with duckdb.connect() as connection:
            connection.execute("CREATE SCHEMA lake")
            for table, recorded in self.lake.at(csn).items():
                connection.register("arriving", self.lake.arrow(table, recorded.rows))
                connection.execute(f"CREATE TABLE lake.{table} AS FROM arriving")
            for name, sql in view.views[:-1]:
                connection.execute(f"CREATE VIEW {name} AS {duck_sql(sql)}")
            rows = connection.execute(duck_sql(view.views[-1][1])).fetchall()
        return Counter(tuple(text_of(value) for value in row) for row in rows)


def after(rows: list[Row], counted: Iterable[tuple[int, Row]]) -> list[Row]:
    """The rows after changes."""
    rows = list(rows)
    for count, row in counted:
        for _ in range(abs(count)):
            rows.append(row) if count > 0 else rows.remove(row)
    return rows


def _over(sql: str, names: dict[str, str]) -> str:
    for name, own in names.items():
        sql = re.sub(rf"(?<![\w.]){re.escape(name)}\b", own, sql)
    return sql
