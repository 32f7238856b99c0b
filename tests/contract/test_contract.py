"""The Relation contract (P1-P3): one suite for every kind of relation, with duplicates and NULLs.

Relations are Delta Lake tables with and without deletion vectors, PostgreSQL tables copied and live, and views of each
kind of block. The oracle is what the source itself showed after each of its transactions: the server's own texts, or
what Spark reads or recomputes from the table.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg
import pytest
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from rollview.changes import COUNT, STAMP, Csn
from rollview.sources.relation import Relation
from rollview.spark.relations import Relations
from rollview.warehouse import Warehouse

pytest_plugins = ["servers"]
pytestmark = pytest.mark.spark

COLUMNS = {
    "i": "int", "b": "bigint", "n": "numeric(12,3)", "f": "double precision", "t": "text",
    "c": "char(4)", "o": "boolean", "d": "date", "w": "timestamp", "z": "timestamptz", "x": "bytea",
    "u": "uuid", "a": "int[]",
}  # fmt: skip
VALUES = {
    "i": ["1", "-2147483648", "NULL"], "b": ["9223372036854775807", "0", "NULL"],
    "n": ["123456789.125", "-0.001", "NULL"], "f": ["'NaN'", "'-Infinity'", "0.1", "NULL"],
    "t": ["''", "'it''s'", "E'a\\\\tb\\n\"{,}'", "'ünï'", "NULL"], "c": ["'ab'", "''", "NULL"],
    "o": ["true", "false", "NULL"], "d": ["'0001-01-01'", "'2026-11-16'", "NULL"],
    "w": ["'2026-11-16 01:02:03.000004'", "NULL"], "z": ["'2026-03-29 01:30:00+00'", "NULL"],
    "x": ["'\\x00ff'", "''", "NULL"], "u": ["'00000000-0000-0000-0000-00000000000a'", "NULL"],
    "a": ["'{1,NULL,3}'", "'{}'", "NULL"],
}  # fmt: skip


class Server:
    """A table on a PostgreSQL server, and every state it went through."""

    relation, columns = "s.many", ("k", *COLUMNS)

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True, options="-ctimezone=UTC")
        self.choose = random.Random(11)
        listed = ", ".join(f"{c} {kind}" for c, kind in COLUMNS.items())
        self.connection.execute(f"CREATE TABLE many (k int, {listed})")
        self.connection.execute("ALTER TABLE many REPLICA IDENTITY FULL")
        for _ in range(12):
            self.change()
        self.states = [self.state()]

    @property
    def url(self) -> str:
        info = self.connection.info
        return f"postgresql://{info.user}@/{info.dbname}?host={info.host}&port={info.port}"

    def change(self) -> None:
        key, values = self.choose.randint(1, 4), [self.choose.choice(v) for v in VALUES.values()]
        column = self.choose.choice(list(COLUMNS))
        self.connection.execute(self.choose.choice([
            f"INSERT INTO many VALUES ({key}, {', '.join(values)})",
            f"INSERT INTO many SELECT * FROM many WHERE k = {key} LIMIT 1",
            f"UPDATE many SET {column} = {self.choose.choice(VALUES[column])} WHERE k = {key}",
            f"DELETE FROM many WHERE k = {key} AND i IS NULL",
        ]))  # fmt: skip

    def transact(self) -> None:
        before = self.state()
        while self.state() == before:
            with self.connection.transaction():
                for _ in range(self.choose.randint(1, 3)):
                    self.change()
        self.states.append(self.state())

    def state(self) -> Counter:
        rows = self.connection.execute("SELECT * FROM many").fetchall()
        return Counter(tuple(map(plain, row)) for row in rows)


LAKE = {
    "k": "int",
    "t": "string",
    "n": "decimal(12,3)",
    "f": "double",
    "d": "date",
    "a": "array<int>",
}
VIEWS = {
    "rows": "SELECT k, t, n + 1 AS n, f FROM {t} WHERE k < 4",
    "sums": "SELECT k, COUNT(*) AS rows, SUM(n) AS n, COUNT(t) AS t FROM {t} GROUP BY k",
    "kinds": "SELECT DISTINCT t, d FROM {t}",
    "least": "SELECT k, MIN(d) AS least, COUNT(DISTINCT t) AS ts FROM {t} GROUP BY k",
    "places": "SELECT k, n, RANK() OVER (PARTITION BY k ORDER BY n DESC) AS place FROM {t}",
    "ways": "WITH RECURSIVE r(k, n) AS (SELECT k, 1 FROM {t} UNION ALL SELECT k, n + 1 FROM r WHERE n < k) "
    "SELECT k, n FROM r",
}
"""A view of each kind of block: union, Reduce, DISTINCT, general Reduce, windows, recursion."""


class Lake:
    """A Delta Lake table, and its version after each transaction."""

    def __init__(self, spark: SparkSession, path: Path, vectors: bool) -> None:
        self.spark, self.folder, self.choose = spark, path, random.Random(12)
        self.path = str(path / "many")
        made = self.rows(20).write.format("delta").option("delta.enableChangeDataFeed", "true")
        made.option("delta.enableDeletionVectors", str(vectors).lower()).save(self.path)
        self.versions = [0]

    def rows(self, number: int) -> DataFrame:
        casts = ", ".join(f"CAST({c} AS {kind}) AS {c}" for c, kind in LAKE.items())
        values = ", ".join(self.row() for _ in range(number))
        return self.spark.sql(f"SELECT {casts} FROM VALUES {values} AS v({', '.join(LAKE)})")

    def row(self) -> str:
        values = {
            "t": ["''", "'it\\'s'", "'ünï'", "NULL"], "n": ["123456789.125", "-0.001", "NULL"],
            "f": ["double('NaN')", "-0.0D", "0.1D", "NULL"], "d": ["date'0001-01-01'", "date'2026-11-16'", "NULL"],
            "a": ["array(1, NULL)", "array()", "NULL"],
        }  # fmt: skip
        chosen = ", ".join(self.choose.choice(some) for some in values.values())
        return f"({self.choose.randint(1, 4)}, {chosen})"

    def transact(self, kind: int) -> None:
        """Rows come, come again, are changed, or go."""
        k, table = self.choose.randint(1, 4), DeltaTable.forPath(self.spark, self.path)
        match kind:
            case 0:
                self.append(self.rows(2))
            case 1:
                self.append(table.toDF().where(f"k = {k}"))
            case 2:
                table.update(f"k <> {k} AND t IS NULL", {"t": "'new'", "k": "k % 4 + 1"})
            case _:
                table.delete(f"k <> {k} AND n IS NULL")
        newest = table.history(1).first()
        assert newest is not None
        self.versions.append(newest["version"])

    def append(self, rows: DataFrame) -> None:
        rows.write.format("delta").mode("append").save(self.path)

    def state(self, name: str, time: int) -> Counter:
        """What Spark computes from the table as it was."""
        reader = self.spark.read.format("delta").option("versionAsOf", self.versions[time])
        reader.load(self.path).createOrReplaceTempView("many")
        sql = VIEWS.get(name, "SELECT * FROM {t}").format(t="many")
        return Counter(tuple(map(plain, row)) for row in self.spark.sql(sql).collect())


def plain(value: object) -> object:
    """A value of the server or of Spark, comparable."""
    if isinstance(value, float):
        return repr(value + 0.0)  # -0.0 and 0.0 are one value: a row may come in either
    if isinstance(value, str):
        return value.rstrip(" ") if len(value) <= 4 else value  # char(4)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, list):
        return tuple(value)
    if hasattr(value, "tzinfo") and value.tzinfo is not None:
        return value.replace(tzinfo=None) - value.utcoffset()
    return str(value) if type(value).__name__ == "UUID" else value


def bag(rows) -> Counter:
    """Collected rows with counts, netted."""
    names = [n for n in rows.columns if n not in (COUNT, STAMP)]
    total: Counter = Counter()
    for row in rows.collect():
        total[tuple(plain(row[n]) for n in names)] += row[COUNT] if COUNT in rows.columns else 1
    assert all(n > 0 for n in total.values() if n) or STAMP in rows.columns
    return Counter({k: n for k, n in total.items() if n})


TIMES = (0, 3, 6)


def check(relation: Relation, states: Mapping[int, Counter], columns: Sequence[str]) -> None:
    """P1 to P3 for a relation whose transactions 1 to 6 were captured."""
    assert (relation.oldest, relation.mark) == (0, 6)
    for time in TIMES:
        assert bag(relation.at(Csn(time), columns)) == states[time], f"P2 at {time}"
        assert bag(relation.exact(Csn(time), columns)) == states[time], f"P3 at {time}"
    for lo, hi in ((0, 6), (0, 3), (3, 6), (3, 3)):
        after = Counter(states[lo])
        for row, n in bag(relation.changes(Csn(lo), Csn(hi), columns)).items():
            after[row] += n
        assert Counter({k: n for k, n in after.items() if n}) == states[hi], f"P1 ({lo}, {hi}]"
    some = [columns[1], columns[0]]
    assert bag(relation.at(Csn(3), some)) == narrowed(states[3], columns, some)


@pytest.mark.parametrize("mode", ["replica", "live"])
def test_a_postgresql_table(database, spark, tmp_path: Path, mode: str) -> None:
    table = Server(database())
    with Warehouse(tmp_path / "wh", spark) as wh:
        wh.add_source("s", postgres=table.url, tables=["many"], mode=mode)
        for _ in range(3):
            table.transact()
            table.transact()
            wh.capture()
        table.transact()  # not captured
        relation = Relations(spark, wh.ledger, wh.path)(table.relation)
        check(relation, dict(enumerate(table.states)), table.columns)
    table.connection.close()


@pytest.mark.parametrize("vectors", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_delta_lake_table_and_views_of_every_kind(spark, tmp_path: Path, vectors: bool) -> None:
    lake = Lake(spark, tmp_path / "lake", vectors)
    with Warehouse(tmp_path / "wh", spark) as wh:
        wh.add_source("lake", delta=lake.folder)
        for name, sql in VIEWS.items():
            wh.create(name, sql.format(t="lake.many"), policy="incremental_strict")
        for time in range(1, 7):
            lake.transact(time % 4)
            wh.capture()
            assert wh.ledger.newest_csn() == time, "one transaction, one CSN"
            if time % 2 == 0:
                wh.refresh()
        relations = Relations(spark, wh.ledger, wh.path)
        for name in ("lake.many", *VIEWS):
            states = {time: lake.state(name, time) for time in TIMES}
            assert states[0] != states[3] != states[6], name
            check(relations(name), states, [c for c, _ in relations.columns(name)])


def narrowed(state: Counter, columns: Sequence[str], wanted: Sequence[str]) -> Counter:
    total: Counter = Counter()
    for row, n in state.items():
        total[tuple(row[columns.index(c)] for c in wanted)] += n
    return total
