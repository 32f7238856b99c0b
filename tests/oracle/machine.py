"""The random histories of test_machine.py: a warehouse over a small lake, and everything one can do with both.

Each rule does one thing (a commit, a step, a fold, a restart …); after each, every view at its view time and at
another readable time is what both oracles say. A rule's details come from a seed that Hypothesis draws, so that a
history is short to print and to repeat.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from oracle.lake import Lake, Row
from oracle.oracles import Oracles
from pyspark.sql import SparkSession

import rollview
from rollview.apply import fold_bucket
from rollview.calculus.rolling import high_water_mark
from rollview.changes import Csn
from rollview.propagate import plan_step, run_step
from rollview.views.blocks import inputs

JOINED = "FROM lake.sales s JOIN lake.cust c ON s.cust = c.cust"
VIEWS = {
    "pairs": f"SELECT s.id, s.amount, c.city {JOINED}",
    "twins": "SELECT a.id AS l, b.id AS r FROM lake.sales a JOIN lake.sales b "
    "ON a.cust = b.cust AND a.id <= b.id",
    "regions": f"SELECT s.id, c.city, r.region {JOINED} JOIN lake.city r ON c.city = r.city",
    "kinds": "SELECT cust AS k, 'sale' AS kind FROM lake.sales WHERE amount > 1 "
    "UNION ALL SELECT cust, city FROM lake.cust",
    "totals": "SELECT c.city, COUNT(*) AS n, COUNT(s.amount) AS amounts, SUM(s.amount) AS total, "
    f"AVG(s.weight) AS mean, SUM(s.weight) AS weight {JOINED} GROUP BY c.city",
    "cities": "SELECT DISTINCT city FROM lake.cust",
    "overall": "SELECT COUNT(*) AS n, SUM(amount) AS total, AVG(weight) AS mean FROM lake.sales",
    "busy": "SELECT t.city, t.n, r.region FROM totals t JOIN lake.city r ON t.city = r.city "
    "WHERE t.n > 1",
}
BUCKETS = {"pairs": 3, "totals": 2}
OWN_CHOICE = ("regions", "cities")
"""Views that may be recomputed in full when that seems cheaper; all others are incremental."""
KEY = {"sales": "id", "cust": "cust", "city": "city"}
TABLES = st.sampled_from(sorted(KEY))
SEEDS = st.integers(0, 2**32 - 1)


def random_row(table: str, random: Random) -> Row:
    """A row from few values, so that keys meet, rows repeat and NULLs are frequent."""
    cust, city = random.choice([None, 1, 2, 3]), random.choice([None, "a", "b", "c"])
    if table == "cust":
        return cust, city
    if table == "city":
        return city, random.choice(["x", "y", None])
    amount = random.choice([None, Decimal("0.50"), Decimal("1.25"), Decimal("-7.00")])
    return random.randrange(6), cust, amount, random.choice([None, 0.5, 0.1, -2.0, 1e9])


def committed(lake: Lake, table: str, kind: str, random: Random) -> None:
    """One random change of a table."""
    rows = [random_row(table, random) for _ in range(random.randint(1, 3))]
    key, position = KEY[table], lake.tables[table].position(KEY[table])
    there = [r[position] for r in lake.tables[table].rows] or [None]
    match kind:
        case "insert":
            lake.insert(table, rows)
        case "delete":
            lake.delete(table, **{key: random.choice(there)})
        case "update":
            column = lake.tables[table].schema.fieldNames()[-1 if random.random() < 0.6 else 0]
            value = rows[0][lake.tables[table].position(column)]
            lake.update(table, {column: value}, **{key: random.choice(there)})
        case "merge":
            lake.merge(table, key, list({r[position]: r for r in rows}.values()), there[:1])
        case "overwrite":
            lake.overwrite(table, rows)
        case "rewrite":
            lake.rewrite(table)
        case "clear":
            lake.delete(table)


class Template:
    """A lake with all views built, made once; every history starts from a copy of it in the same place."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self.saved = spark, folder / "now", folder / "saved"
        self.lake = Lake(spark, self.folder / "lake")
        random = Random(7)
        for table, columns in {
            "sales": "id BIGINT, cust BIGINT, amount DECIMAL(10,2), weight DOUBLE",
            "cust": "cust BIGINT, city STRING",
            "city": "city STRING, region STRING",
        }.items():
            rows = [random_row(table, random) for _ in range(4)]
            parts = ["region"] if table == "city" else []
            self.lake.create(table, columns, rows, vectors=table == "sales", partitioned=parts)
        with rollview.open(self.folder / "wh", spark) as warehouse:
            warehouse.add_source("lake", delta=self.folder / "lake")
            for name in VIEWS:
                create(warehouse, name)
        self.lake.registered()
        self.moment = self.lake.moment()
        shutil.copytree(self.folder, self.saved)

    def restored(self) -> Lake:
        """The lake as it was at first, on disk and in memory."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.saved, self.folder)
        self.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        self.lake.back_to(self.moment)
        return self.lake


def create(warehouse: Any, name: str) -> None:
    """Create one of the views."""
    options: dict[str, Any] = {"buckets": BUCKETS[name]} if name in BUCKETS else {}
    if name not in OWN_CHOICE:
        options["policy"] = "incremental"
    properties = ", ".join(f"'{k}' = '{v}'" for k, v in options.items())
    clause = f"TBLPROPERTIES ({properties}) " if properties else ""
    warehouse.sql(f"CREATE MATERIALIZED VIEW {name} {clause}AS {VIEWS[name]}")


class Machine(RuleBasedStateMachine):
    """One history. `template` is set by the test before it runs."""

    template: Callable[[], Template]
    compared = 0

    @initialize(seed=SEEDS)
    def start(self, seed: int) -> None:
        """A fresh copy of the lake and of the warehouse."""
        self.folder = type(self).template().folder
        self.lake = type(self).template().restored()
        self.spark = self.lake.spark
        self.warehouse = rollview.open(self.folder / "wh", self.spark)
        self.oracles = Oracles(self.lake, VIEWS)
        self.random = Random(seed)
        self.seen: dict[str, Any] = {}
        self.done: Counter[str] = Counter()

    def teardown(self) -> None:
        """Let the warehouse go; the next history opens its own."""
        if hasattr(self, "warehouse"):
            Machine.compared += self.oracles.checked
            self.warehouse.close()

    # --- where things stand

    def block(self, view: str) -> Any:
        """The ledger's row of a view's last block."""
        return self.warehouse.ledger.block(view)

    def readable(self, view: str) -> tuple[int, int]:
        """The oldest and the newest time at which a view can be read."""
        row = self.block(view)
        return int(row.oldest), int(high_water_mark(row.frontier))

    def captured(self) -> int:
        """The newest CSN that was captured."""
        return int(self.warehouse.ledger.newest_csn())

    def behind(self, now: int) -> list[str]:
        """The views that have not come as far as `now`."""
        return [name for name in VIEWS if self.readable(name)[1] < now]

    def movable(self) -> list[str]:
        """The views that can be read at more than one time."""
        return [name for name in VIEWS if len(set(self.readable(name))) > 1]

    def unfolded(self) -> list[str]:
        """The views whose log goes on after the stored rows."""
        return [n for n in VIEWS if min(self.block(n).fold_times) < self.readable(n)[1]]

    def once(self, what: str, times: int = 1) -> bool:
        """So often in a history is enough; and not before something was committed."""
        return self.lake.csn > 0 and self.done[what] < times

    # --- what can happen

    @precondition(lambda self: self.lake.csn - min(self.readable(n)[1] for n in VIEWS) < 5)
    @rule(table=TABLES, seed=SEEDS,
          kind=st.sampled_from(["insert", "insert", "delete", "update", "merge", "overwrite",
                                "rewrite", "clear"]))  # fmt: skip
    def commit(self, table: str, kind: str, seed: int) -> None:
        """Somebody changes a table."""
        committed(self.lake, table, kind, Random(seed))

    @precondition(lambda self: self.once("optimize"))
    @rule(table=TABLES)
    def commit_optimize(self, table: str) -> None:
        """Somebody compacts a table: other files, the same rows."""
        self.done["optimize"] += 1
        self.lake.optimize(table)

    @precondition(lambda self: self.captured() < self.lake.csn)
    @rule()
    def capture(self) -> None:
        """Nothing is lost, nothing is counted twice: the newest CSN is the number of commits."""
        assert self.warehouse.capture().csn == self.lake.csn

    @precondition(lambda self: self.behind(self.captured()))
    @rule(seed=SEEDS, width=st.sampled_from([1, 2, 5, 1000]))
    def propagate(self, seed: int, width: int) -> None:
        """A view delta grows up to a random captured time, in steps of random width."""
        random = Random(seed)
        view = random.choice(self.behind(self.captured()))
        self.warehouse.alter(view, {"step_rows": width})
        to = random.randint(self.readable(view)[1] + 1, self.captured())
        note(f"{view} to {to}")
        assert self.warehouse.propagate(view, to=to).reached >= to

    @precondition(lambda self: self.behind(self.captured()))
    @rule(seed=SEEDS)
    def propagate_one_input(self, seed: int) -> None:
        """One input alone advances, so that the inputs have different frontiers."""
        random = Random(seed)
        view = random.choice(self.behind(self.captured()))
        row, block = self.block(view), self.warehouse.view(view).definition.blocks[-1]
        position = random.randrange(len(row.frontier))
        limit = int(self.warehouse.relations(inputs(block)[position].relation).mark)
        targets = list(row.frontier)
        targets[position] = Csn(max(limit, targets[position]))
        plan = plan_step(self.warehouse.relations, view, block, targets, random.choice([1, 3, 99]))
        note(f"{view}: {row.frontier} -> {plan.frontier}")
        if plan.frontier != row.frontier:
            run_step(self.warehouse.relations, block, plan)

    @precondition(lambda self: self.movable())
    @rule(seed=SEEDS)
    def apply(self, seed: int) -> None:
        """A view rolls to a random time in its range, forward or back."""
        random = Random(seed)
        view = random.choice(self.movable())
        self.warehouse.apply(view, to=random.randint(*self.readable(view)))

    @precondition(lambda self: self.unfolded())
    @rule(seed=SEEDS)
    def fold(self, seed: int) -> None:
        """A log is worked into the stored rows, up to a random time; then the view rolls back before it."""
        random = Random(seed)
        view = random.choice(self.unfolded())
        oldest, mark = self.readable(view)
        to = random.randint(min(self.block(view).fold_times) + 1, mark)
        note(f"{view} to {to}")
        self.warehouse.fold(view, to=to)
        self.warehouse.apply(view, to=random.randint(oldest, to))

    @precondition(lambda self: set(self.unfolded()) & set(BUCKETS))
    @rule(seed=SEEDS)
    def fold_one_bucket(self, seed: int) -> None:
        """One bucket alone is folded, so that the buckets have different fold times."""
        random = Random(seed)
        view = random.choice(sorted(set(self.unfolded()) & set(BUCKETS)))
        times = self.block(view).fold_times
        bucket = times.index(min(times))
        to = Csn(random.randint(times[bucket] + 1, self.readable(view)[1]))
        note(f"{view}, bucket {bucket} to {to}")
        fold_bucket(self.warehouse.relations, view, bucket, to)

    @precondition(lambda self: self.behind(self.lake.csn))
    @rule(seed=SEEDS)
    def refresh(self, seed: int) -> None:
        """One view comes to now."""
        view = Random(seed).choice(self.behind(self.lake.csn))
        assert self.warehouse.refresh(view).view_time == self.lake.csn

    @precondition(lambda self: self.behind(self.lake.csn))
    @rule()
    def refresh_all(self) -> None:
        """All views come to one time."""
        reports = self.warehouse.refresh()
        assert {r.view_time for r in reports} == {self.lake.csn}

    @precondition(lambda self: self.once("recompute"))
    @rule(view=st.sampled_from(["regions", "cities", "totals"]))
    def recompute(self, view: str) -> None:
        """One view is recomputed in full; one that reads it must be, too, and then is."""
        self.done["recompute"] += 1
        assert self.warehouse.refresh(view, full=True).technique == "COMPLETE_RECOMPUTE"
        if view == "totals":
            self.warehouse.refresh("busy")

    @precondition(lambda self: self.once("restart", 2))
    @rule()
    def restart(self) -> None:
        """Everything in memory is gone."""
        self.done["restart"] += 1
        self.warehouse.close()
        self.warehouse = rollview.open(self.folder / "wh", self.spark)

    @precondition(lambda self: self.once("create"))
    @rule(view=st.sampled_from(sorted(set(VIEWS) - {"totals"})))
    def drop_and_create(self, view: str) -> None:
        """A view goes and comes again under the same name."""
        self.done["create"] += 1
        self.warehouse.drop(view)
        create(self.warehouse, view)

    # --- what must hold

    @invariant()
    def views_are_what_a_recompute_gives(self) -> None:
        """Every view that moved in any way, at its view time; one of them at another time, too."""
        ledger = self.warehouse.ledger
        now = {v.name: (v.view_time, ledger.block(v.name)) for v in ledger.views()}
        moved = [name for name in now if now[name] != self.seen.get(name)]
        self.seen = now
        wanted = [(name, int(now[name][0])) for name in moved]
        for name in self.random.sample(moved, min(1, len(moved))):
            wanted.append((name, self.random.randint(*self.readable(name))))
        self.oracles.hold(self.warehouse, wanted)
