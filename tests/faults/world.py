"""A small lake with a warehouse over it, made once and copied for each test, and what must hold of a copy.

The lake is ahead of the warehouse: LATER commits are there that nobody captured yet, so that a test needs no
writes of its own. Rows are compared with a recompute in plain Spark SQL on exact table versions; it shares no code
with the product.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from rollview.apply import sweep, sweep_folded
from rollview.calculus.rolling import high_water_mark
from rollview.ledger import lock
from rollview.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FEED = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
TABLES = (
    f"CREATE TABLE {{sales}} (id BIGINT, cust BIGINT, amount DECIMAL(10,2)) USING delta {FEED}",
    f"CREATE TABLE {{cust}} (cust BIGINT, name STRING) USING delta {FEED}",
    f"CREATE TABLE {{extra}} (x BIGINT) USING delta {FEED}",
    "INSERT INTO {cust} SELECT id, concat('c', id % 3) FROM range(0, 8, 1, 1)",
    "INSERT INTO {sales} SELECT id, id % 10, id * 1.5 FROM range(0, 30, 1, 1)",
)
FIRST = ("INSERT INTO {sales} VALUES (100, 3, 9.5), (100, 3, 9.5), (101, NULL, NULL)",)
LATER = (
    "UPDATE {cust} SET name = 'c9' WHERE cust IN (3, 4)",
    "DELETE FROM {sales} WHERE id IN (100, 13)",
    "UPDATE {sales} SET amount = amount + 1, cust = 2 WHERE id % 7 = 0",
    "INSERT INTO {cust} VALUES (8, NULL), (9, 'c1')",
)
DATA_VERSIONS = {"lake.sales": [2, 3, 4], "lake.cust": [2, 3]}
"""The versions of FIRST and LATER: each belongs into the timeline once."""

VIEWS = {
    "j": "SELECT s.id, c.name, s.amount FROM {sales} s JOIN {cust} c ON s.cust = c.cust WHERE s.amount > 3",
    "g": "SELECT c.name, count(*) AS n, sum(s.amount) AS total FROM {sales} s JOIN {cust} c"
    " ON s.cust = c.cust GROUP BY c.name",
    "n": "SELECT s.cust, s.amount FROM {sales} s WHERE s.id < 20",
    "h": "SELECT p.n, count(*) AS names FROM (SELECT c.name, count(*) AS n FROM {sales} s JOIN {cust} c"
    " ON s.cust = c.cust GROUP BY c.name) p GROUP BY p.n",
}
"""Two that are in every copy (j in two buckets), and two for tests that create some (h has two blocks)."""
OPTIONS = {
    "j": "'policy' = 'incremental', 'buckets' = '2'",
    "g": "'policy' = 'incremental'",
    "n": "'piece_rows' = '10', 'buckets' = '2'",
    "h": "'policy' = 'incremental'",
}


@dataclass(frozen=True)
class World:
    """The warehouse in `root`/wh, the tables below `lakes`; those of `origin` have the same rows."""

    root: Path
    spark: SparkSession
    lakes: Path
    origin: Path
    known: dict[tuple[object, ...], list[str]] = field(default_factory=dict, repr=False)

    @property
    def warehouse(self) -> Path:
        """The warehouse folder."""
        return self.root / "wh"

    def table(self, name: str) -> Path:
        """Where a table lies."""
        return self.lakes / ("more" if name == "extra" else "lake") / name

    def sql(self, *statements: str) -> None:
        """Run statements on tables, {sales} and the like, in a session that may name paths."""
        session = frugal(self.spark)
        session.conf.set("spark.sql.runSQLOnFiles", "true")
        named = {n: f"delta.`{self.table(n)}`" for n in ("sales", "cust", "extra")}
        for statement in statements:
            session.sql(statement.format(**named))

    def open(self) -> Warehouse:
        """The warehouse, as a process that has just started opens it."""
        return Warehouse(self.warehouse, self.spark)

    def copied(self, root: Path) -> World:
        """The same warehouse in another place, over the same tables: for tests that only read those."""
        shutil.copytree(self.warehouse, root / "wh")
        return replace(self, root=root)

    def copied_with_tables(self, root: Path) -> World:
        """The same in another place, with tables of its own."""
        for folder in ("lake", "more"):
            shutil.copytree(self.lakes / folder, root / folder)
        copy = replace(self.copied(root), lakes=root)
        with closing(sqlite3.connect(copy.warehouse / "ledger.db")) as ledger, ledger:
            for table, column in (("rv_relations", "location"), ("rv_sources", "config")):
                ledger.execute(
                    f"UPDATE {table} SET {column} = replace({column}, ?, ?)",
                    (f"{self.lakes}/", f"{root}/"),
                )
        return copy


def create_sql(view: str) -> str:
    """The statement that creates one of VIEWS."""
    query = VIEWS[view].format(sales="lake.sales", cust="lake.cust")
    return f"CREATE MATERIALIZED VIEW {view} TBLPROPERTIES ({OPTIONS[view]}) AS {query}"


def made(root: Path, spark: SparkSession) -> World:
    """The world from which copies are taken: views j and g at CSN 1, each with a step, and LATER to come."""
    world = World(root, frugal(spark), root, root)
    world.sql(*TABLES)
    with world.open() as wh:
        wh.add_source("lake", delta=root / "lake")
        wh.sql(create_sql("j"))
        wh.sql(create_sql("g"))
        world.sql(*FIRST)
        wh.refresh()
    world.sql(*LATER)
    return world


def frugal(spark: SparkSession) -> SparkSession:
    """A session for queries of a few rows, which cost less than the code that Spark would generate for them."""
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    session.conf.set("spark.sql.shuffle.partitions", "1")
    return session


def died(wh: Warehouse) -> None:
    """Let go of the warehouse as the death of its process does: nothing is written, nothing tidied up."""
    lock._close_in_child()
    wh.ledger.engine.dispose()


def recomputed(world: World, query: str, sales: int, cust: int) -> list[str]:
    """The rows of a query over exact table versions, by plain Spark SQL."""
    key = (query, sales, cust)
    if key not in world.known:
        session = frugal(world.spark)
        for name, version in (("sales", sales), ("cust", cust)):
            path = str(world.origin / "lake" / name)
            rows = session.read.format("delta").option("versionAsOf", version).load(path)
            rows.createOrReplaceTempView(name)
        rows = session.sql(query.format(sales="sales", cust="cust"))
        text = rows.select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("row"))
        world.known[key] = sorted(r.row for r in text.collect())
    return world.known[key]


def versions_at(wh: Warehouse, csn: int) -> dict[str, int]:
    """The version of each table that the timeline has for a CSN."""
    found = {}
    for name in ("lake.sales", "lake.cust"):
        changes = wh.ledger.changes_of(name, 0, csn)
        relation = wh.ledger.relation(name)
        assert relation is not None
        found[name.removeprefix("lake.")] = (
            changes[-1].position if changes else relation.base_position
        )
    return found


def check_rows(world: World, wh: Warehouse, ranges: dict[str, tuple[int, int]]) -> None:
    """Each view, at each time of its range, is what a recompute at that time gives.

    The first and the last time are read as such; from the first, the view's changes must lead through all others.
    """
    have = _rows_and_changes(wh, ranges)
    for view, (lo, hi) in ranges.items():
        state = have.get((view, lo, "state"), Counter())
        for csn in range(lo, hi + 1):
            state.update(have.get((view, csn, "change"), Counter()))
            want = Counter(recomputed(world, VIEWS[view], **versions_at(wh, csn)))
            assert +state == want and not -state, f"{view} at {csn}"
        assert have.get((view, hi, "state"), Counter()) == want, f"{view} at {hi}, read as such"


def _rows_and_changes(
    wh: Warehouse, ranges: dict[str, tuple[int, int]]
) -> dict[tuple[str, int, str], Counter[str]]:
    """By view, time and kind: the rows and their counts, by one Spark action for all."""
    parts = []
    for view, (lo, hi) in ranges.items():
        for csn in {lo, hi}:
            parts.append(_labelled(wh.table(view, as_of=csn), view, "state", F.lit(csn), F.lit(1)))
        if lo < hi:
            changes = wh.changes(view, lo, hi)
            parts.append(_labelled(changes, view, "change", F.col("_stamp"), F.col("_count")))
    united = parts[0]
    for part in parts[1:]:
        united = united.unionAll(part)
    have: dict[tuple[str, int, str], Counter[str]] = {}
    for found in united.collect():
        have.setdefault((found.view, found.csn, found.kind), Counter())[found.row] += found["count"]
    return have


def _labelled(rows: DataFrame, view: str, kind: str, csn: Column, count: Column) -> DataFrame:
    columns = [c for c in rows.columns if c not in ("_stamp", "_count")]
    return rows.select(
        F.lit(view).alias("view"),
        F.lit(kind).alias("kind"),
        csn.cast("bigint").alias("csn"),
        count.cast("bigint").alias("count"),
        F.to_json(F.struct(*columns), {"ignoreNullFields": "false"}).alias("row"),
    )


def check_timeline(wh: Warehouse) -> None:
    """The timeline has no gap, and each version of each table at most once, in order, none left out between."""
    newest = wh.ledger.newest_csn()
    assert [c.csn for c in wh.ledger.commits(0, newest)] == list(range(1, newest + 1))
    for name, versions in DATA_VERSIONS.items():
        captured = [c.position for c in wh.ledger.changes_of(name, 0, newest)]
        assert captured == versions[: len(captured)], name


def check_folders(wh: Warehouse) -> None:
    """Every step that is listed is there."""
    for view in wh.ledger.views():
        for block in wh.ledger.blocks(view.name):
            for step in wh.ledger.steps(block.name):
                assert list((wh.path / step.folder).glob("*.parquet")), step.folder


def unnamed_files(wh: Warehouse) -> list[str]:
    """Files below views/ that the ledger names neither as folded rows nor as a step."""
    named = set()
    for view in wh.ledger.views():
        for block in wh.ledger.blocks(view.name):
            named.add(f"{block.folder}/folded")
            named |= {step.folder for step in wh.ledger.steps(block.name)}
    files = (p.relative_to(wh.path) for p in (wh.path / "views").rglob("*") if p.is_file())
    return sorted(str(f) for f in files if not named & {str(parent) for parent in f.parents})


def check_shown(world: World, wh: Warehouse) -> None:
    """What a reader sees who comes right after a crash, before anybody has recovered."""
    check_timeline(wh)
    check_folders(wh)
    times = {v.name: v.view_time for v in wh.ledger.views() if v.view_time is not None}
    check_rows(world, wh, {view: (csn, csn) for view, csn in times.items()})


def check_whole(world: World, wh: Warehouse) -> None:
    """Nothing is open or left over, and every view is right at every time at which it can be read."""
    assert wh.ledger.intents() == []
    sweep(wh.ledger, wh.path, 0)
    assert wh.ledger.trash() == []
    assert unnamed_files(wh) == []
    check_timeline(wh)
    check_folders(wh)
    ranges = {}
    for view in wh.ledger.views():
        assert (view.state, view.reason) == ("ready", "")
        for block in wh.ledger.blocks(view.name):
            assert block.folded_version is not None
            sweep_folded(wh.path / block.folder / "folded", block.folded_version, 0)
        ranges[view.name] = (block.oldest, high_water_mark(block.frontier))
    check_rows(world, wh, ranges)


def check_finished(world: World, wh: Warehouse, views: Sequence[str]) -> None:
    """As check_whole, and `views` show the newest time, with everything captured."""
    newest = wh.ledger.newest_csn()
    assert newest == sum(map(len, DATA_VERSIONS.values()))
    assert {v: wh.view(v).view_time for v in views} == dict.fromkeys(views, newest)
    check_whole(world, wh)
