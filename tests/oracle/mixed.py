"""The random histories of test_mixed.py: views over a live PostgreSQL table, a copy of one, and a Delta Lake table.

Two databases and a lake are changed by plain writes; what each showed after each of its commits is read by plain SQL
and kept. Which commits a CSN stands for is taken from the timeline, once it is found to have every commit of every
source once, in its own order, under the server's own transaction id or the table's own version. DuckDB recomputes the
views from the states. A rule's details come from a seed that Hypothesis draws.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from oracle.compare import bag_of, collected, difference
from oracle.lake import Lake
from pyspark.sql import SparkSession

import rollview
from rollview.calculus.rolling import high_water_mark
from rollview.changes import Csn
from rollview.propagate import plan_step, run_step
from rollview.views.blocks import inputs

COLUMNS = {
    "sales": pa.schema([("id", pa.int32()), ("cust", pa.int32()), ("amount", pa.decimal128(9, 2))]),
    "cust": pa.schema([("cust", pa.int32()), ("city", pa.string())]),
    "city": pa.schema([("city", pa.string()), ("region", pa.string())]),
}
JOINED = "FROM copy.sales s JOIN live.cust c ON s.cust = c.cust JOIN lake.city r ON c.city = r.city"
VIEWS = {
    "regions": f"SELECT s.id, c.city, r.region {JOINED}",
    "totals": f"SELECT r.region, COUNT(*) AS n, SUM(s.amount) AS total {JOINED} GROUP BY r.region",
}
SEEDS = st.integers(0, 2**32 - 1)


@dataclass
class Database:
    """One table of a server: who writes to it, and what it showed after each transaction, by its id."""

    url: str
    table: str
    columns: str
    states: list[list[tuple[Any, ...]]] = field(default_factory=list)
    xids: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.connection = psycopg.connect(self.url, autocommit=True)
        self.connection.execute(f"CREATE TABLE {self.table} ({self.columns})")
        self.connection.execute(f"ALTER TABLE {self.table} REPLICA IDENTITY FULL")

    def rows(self) -> list[tuple[Any, ...]]:
        """What the table shows now, in some order that depends on the rows only."""
        return sorted(self.connection.execute(f"SELECT * FROM {self.table}").fetchall(), key=str)

    def registered(self) -> None:
        """From here on transactions have CSNs."""
        self.states, self.xids = [self.rows()], []

    def transact(self, statements: list[str]) -> None:
        """One transaction; one that leaves the state as it was is rolled back, and is none."""
        row = None
        with self.connection.transaction():
            for statement in statements:
                self.connection.execute(statement)
            if self.rows() == self.states[-1]:
                raise psycopg.Rollback
            row = self.connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()
        if row is not None:
            self.recorded(row[0])

    def recorded(self, xid: int) -> None:
        """A transaction has just committed."""
        self.states.append(self.rows())
        self.xids.append(xid)


def statements(table: str, random: Random) -> list[str]:
    """A few random changes, from few values, so that keys meet, rows repeat and NULLs are frequent."""
    chosen = []
    for _ in range(random.randint(1, 3)):
        cust, city = random.choice(["NULL", "1", "2", "3"]), random.choice(["NULL", "'a'", "'b'"])
        number, amount = random.randrange(5), random.choice(["NULL", "0.50", "-7.00"])
        chosen.append(
            random.choice(
                [
                    f"INSERT INTO cust VALUES ({cust}, {city})",
                    f"INSERT INTO cust VALUES ({cust}, {city})",
                    f"UPDATE cust SET city = {city} WHERE cust = {number}",
                    f"DELETE FROM cust WHERE cust = {number}",
                ]
                if table == "cust"
                else [
                    f"INSERT INTO sales VALUES ({number}, {cust}, {amount})",
                    f"INSERT INTO sales VALUES ({number}, {cust}, {amount})",
                    f"UPDATE sales SET cust = {cust}, amount = amount + 1 WHERE id = {number}",
                    f"DELETE FROM sales WHERE id = {number}",
                    "TRUNCATE sales",
                ]
            )
        )
    return chosen


DROP_SLOTS = """SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
WHERE database = current_database() AND active_pid IS NULL"""


class World:
    """Two databases, a lake, and a warehouse with the views over all three."""

    def __init__(self, spark: SparkSession, folder: Path, database: Callable[[], str]) -> None:
        self.spark, self.folder, self.checked = spark, folder / uuid.uuid4().hex[:8], 0
        self.live = Database(database(), "cust", "cust int, city text")
        self.copy = Database(database(), "sales", "id int, cust int, amount numeric(9,2)")
        self.live.connection.execute("INSERT INTO cust VALUES (1, 'a'), (2, 'b'), (2, 'b')")
        self.copy.connection.execute("INSERT INTO sales VALUES (1, 1, 1), (2, 2, NULL), (3, 2, 3)")
        self.lake = Lake(spark, self.folder / "lake")
        self.lake.create("city", "city STRING, region STRING", [("a", "x"), ("b", "y")])
        self.warehouse = rollview.open(self.folder / "wh", spark)
        self.open: list[psycopg.Connection[Any]] = []
        self.warehouse.add_source("lake", delta=self.folder / "lake")
        self.warehouse.add_source("live", postgres=self.live.url, tables=["cust"], mode="live")
        self.warehouse.add_source("copy", postgres=self.copy.url, tables=["sales"], mode="replica")
        self.lake.registered()
        for each in (self.live, self.copy):
            each.registered()
        for name, sql in VIEWS.items():
            self.warehouse.create(name, sql, policy="incremental")

    def close(self) -> None:
        """Let everything go."""
        with ExitStack() as stack:
            for connection in (*self.open, self.live.connection, self.copy.connection):
                stack.callback(connection.close)
            for database in (
                self.live,
                self.copy,
            ):  # a server has so many slots, and histories are many
                stack.callback(database.connection.execute, DROP_SLOTS)
            stack.callback(self.warehouse.close)

    @property
    def commits(self) -> int:
        """How many commits all sources have made."""
        return self.lake.csn + len(self.live.xids) + len(self.copy.xids)

    def begin(self, random: Random) -> None:
        """A transaction that writes, and stays open; it only inserts, so that nobody waits for it."""
        connection = psycopg.connect(self.live.url)
        connection.execute(
            "INSERT INTO cust VALUES (%s, %s)", [random.choice([1, 2, 3]), random.choice("ab")]
        )
        self.open.append(connection)

    def end(self, random: Random) -> None:
        """One of the open transactions commits, or rolls back."""
        connection = self.open.pop(random.randrange(len(self.open)))
        with connection:
            row = connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()
            if random.random() < 0.3:
                connection.rollback()
                return
        assert row is not None
        self.live.recorded(row[0])

    def restart(self) -> None:
        """Everything in memory is gone."""
        self.warehouse.close()
        self.warehouse = rollview.open(self.folder / "wh", self.spark)

    # --- the oracle

    def tables(self, csn: int) -> dict[str, pa.Table]:
        """Every table at a CSN, by the states that its source went through."""
        timeline = self.warehouse.ledger.commits(Csn(0), Csn(csn))
        assert [c.csn for c in timeline] == list(range(1, csn + 1))
        seen = Counter(c.source for c in timeline)
        for name, database in (("live", self.live), ("copy", self.copy)):
            assert [c.xid for c in timeline if c.source == name] == database.xids[: seen[name]]
        versions = [c.position for c in timeline if c.source == "lake"]
        assert versions == [c.version for c in self.lake.commits[: seen["lake"]]]
        rows = {
            "cust": self.live.states[seen["live"]], "sales": self.copy.states[seen["copy"]],
            "city": list(self.lake.at(seen["lake"])["city"].rows),
        }  # fmt: skip
        return {name: _arrow(name, rows[name]) for name in rows}

    def mismatches(self, *wanted: tuple[str, int]) -> dict[tuple[str, int], str]:
        """The views, each at a CSN, that are not what DuckDB makes of the states."""
        pairs = sorted(set(wanted))
        bags = collected({pair: self.warehouse.table(pair[0], as_of=pair[1]) for pair in pairs})
        found = {}
        for view, csn in pairs:
            with duckdb.connect() as connection:
                for name, table in self.tables(csn).items():
                    connection.register(name, table)
                sql = VIEWS[view]
                for source in ("live", "copy", "lake"):
                    sql = sql.replace(f" {source}.", " ")
                want = bag_of(connection.sql(sql).to_arrow_table())
            self.checked += 1
            what = difference(bags[view, csn], want)
            if what is not None:
                found[view, csn] = what
        return found


def _arrow(name: str, rows: list[tuple[Any, ...]]) -> pa.Table:
    schema = COLUMNS[name]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pa.Table.from_arrays(
        [pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)], schema=schema
    )


class Mixed(RuleBasedStateMachine):
    """One history. `world` is set by the test before it runs."""

    world: Callable[[], World]
    compared = 0

    @initialize(seed=SEEDS)
    def start(self, seed: int) -> None:
        """New databases, a new lake, a new warehouse."""
        self.now = type(self).world()
        self.random, self.restarts = Random(seed), 0
        self.seen: dict[str, Any] = {}

    def teardown(self) -> None:
        """Let them go."""
        if hasattr(self, "now"):
            Mixed.compared += self.now.checked
            self.now.close()

    def readable(self, view: str) -> tuple[int, int]:
        """The oldest and the newest time at which a view can be read."""
        row = self.now.warehouse.ledger.block(view)
        assert row is not None
        return int(row.oldest), int(high_water_mark(row.frontier))

    def captured(self) -> int:
        """The newest CSN that was captured."""
        return int(self.now.warehouse.ledger.newest_csn())

    def behind(self) -> list[str]:
        """The views that have not come as far as what was captured."""
        return [name for name in VIEWS if self.readable(name)[1] < self.captured()]

    # --- what can happen

    @precondition(lambda self: len(self.now.open) < 2)
    @rule(seed=SEEDS)
    def commit_live(self, seed: int) -> None:
        """Somebody changes the live table; and somebody else may have begun to."""
        random = Random(seed)
        if random.random() < 0.4:
            self.now.begin(random)
        self.now.live.transact(statements("cust", random))

    @rule(seed=SEEDS)
    def commit_copied(self, seed: int) -> None:
        """Somebody changes the table that is copied."""
        self.now.copy.transact(statements("sales", Random(seed)))

    @precondition(lambda self: self.now.lake.csn < 4)
    @rule(seed=SEEDS)
    def commit_lake(self, seed: int) -> None:
        """Somebody changes the table in the lake."""
        random = Random(seed)
        city, region = random.choice(["a", "b", None]), random.choice(["x", "y"])
        there = [r[0] for r in self.now.lake.tables["city"].rows]
        if city in there and random.random() < 0.6:
            self.now.lake.delete("city", city=city)
        else:
            self.now.lake.insert("city", [(city, region)])

    @precondition(lambda self: self.now.open)
    @rule(seed=SEEDS)
    def end(self, seed: int) -> None:
        """An open transaction ends: its id is older than those of others that ended before it."""
        self.now.end(Random(seed))

    @precondition(lambda self: self.captured() < self.now.commits)
    @rule()
    def capture(self) -> None:
        """Nothing is lost, nothing is counted twice."""
        self.now.warehouse.capture()
        assert self.now.warehouse.capture().csn == self.now.commits

    @precondition(lambda self: self.behind())
    @rule(seed=SEEDS, width=st.sampled_from([1, 3, 1000]))
    def propagate(self, seed: int, width: int) -> None:
        """A view delta grows up to a random captured time, in steps of random width."""
        random = Random(seed)
        view = random.choice(self.behind())
        self.now.warehouse.alter(view, {"step_rows": width})
        to = random.randint(self.readable(view)[1] + 1, self.captured())
        note(f"{view} to {to}")
        assert self.now.warehouse.propagate(view, to=to).reached >= to

    @precondition(lambda self: self.behind())
    @rule(seed=SEEDS)
    def propagate_one_input(self, seed: int) -> None:
        """One input alone advances, so that the inputs have different frontiers."""
        random, relations = Random(seed), self.now.warehouse.relations
        view = random.choice(self.behind())
        row, block = (
            relations.ledger.block(view),
            self.now.warehouse.view(view).definition.blocks[-1],
        )
        targets = list(row.frontier)
        position = random.randrange(len(targets))
        limit = int(relations(inputs(block)[position].relation).mark)
        targets[position] = Csn(max(random.randint(0, limit), targets[position]))
        plan = plan_step(relations, view, block, targets, random.choice([1, 99]))
        note(f"{view}: {row.frontier} -> {plan.frontier}")
        if plan.frontier != row.frontier:
            run_step(relations, block, plan)

    @precondition(lambda self: any(len(set(self.readable(v))) > 1 for v in VIEWS))
    @rule(seed=SEEDS)
    def apply(self, seed: int) -> None:
        """A view rolls to a random time in its range, forward or back."""
        random = Random(seed)
        view = random.choice([v for v in VIEWS if len(set(self.readable(v))) > 1])
        self.now.warehouse.apply(view, to=random.randint(*self.readable(view)))

    @precondition(lambda self: self.captured() < self.now.commits)
    @rule()
    def refresh(self) -> None:
        """All views come to one time: everything that was committed, if clocks agree on what came first."""
        reports = self.now.warehouse.refresh()
        assert len({r.view_time for r in reports}) == 1

    @precondition(lambda self: self.restarts < 2)
    @rule()
    def restart(self) -> None:
        """Everything in memory is gone."""
        self.restarts += 1
        self.now.restart()

    @precondition(lambda self: self.captured() > 0 and self.restarts > 0)
    @rule()
    def fold_the_copy(self) -> None:
        """The log of the copy is worked into its rows."""
        self.now.warehouse.fold("copy.sales")

    # --- what must hold

    @invariant()
    def views_are_what_a_recompute_gives(self) -> None:
        """Every view that moved in any way, at its view time and at another one."""
        ledger = self.now.warehouse.ledger
        now = {v.name: (v.view_time, ledger.block(v.name)) for v in ledger.views()}
        moved = [name for name in now if now[name] != self.seen.get(name)]
        self.seen = now
        wanted = [(name, int(now[name][0])) for name in moved]
        wanted += [(name, self.random.randint(*self.readable(name))) for name in moved]
        found = self.now.mismatches(*wanted)
        assert not found, "\n".join(f"{place}: {what}" for place, what in found.items())
