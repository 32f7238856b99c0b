"""What a refresh costs, in Spark jobs, written steps and commits; counted, not timed.

The numbers are exact: one more job per refresh is a regression that a user pays on every refresh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from oracle.lake import Lake
from oracle.oracles import Oracles
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame
from sqlalchemy import event

import rollview
from rollview.spark import fetched, kept
from rollview.spark.verify import EXAMPLES

pytestmark = pytest.mark.spark

STAR = (
    "FROM lake.sales s JOIN lake.product p ON s.product = p.product "
    "JOIN lake.shop h ON s.shop = h.shop"
)
VIEWS = {
    "one_join": "SELECT s.id, p.kind, s.amount FROM lake.sales s "
    "JOIN lake.product p ON s.product = p.product",
    "star": f"SELECT s.id, p.kind, h.town, s.amount {STAR}",
    "totals": f"SELECT p.kind, h.town, COUNT(*) AS n, SUM(s.amount) AS total {STAR} "
    "GROUP BY p.kind, h.town",
}
JOINED_BY_SPARK = {"one_join": 2, "star": 3, "totals": 3}
"""One job writes the step, and one broadcasts each table that the changes are joined with, from memory."""

READING = ("collect", "count", "take", "head", "first", "tail", "isEmpty", "toPandas", "toArrow",
           "toLocalIterator", "foreach", "foreachPartition", "show", "checkpoint", "localCheckpoint")  # fmt: skip
"""What would bring rows to the driver, or run a query for its own sake."""
STEP_ROWS = 12
"""The most that one `sell` makes of a view: ten sales, and one that is taken back."""


@dataclass
class Shop:
    """A lake with a fact table, two dimensions and a table that no view reads."""

    lake: Lake
    oracles: Oracles
    warehouse: Any
    next: int = 100

    def sell(self) -> None:
        """Ten more sales, and a few that are taken back."""
        self.next += 10
        self.lake.insert("sales", [sale(n) for n in range(self.next, self.next + 10)])
        self.lake.delete("sales", id=self.next - 10)

    def delta_commits(self) -> int:
        """Delta Lake commits in the warehouse, of all views."""
        return len(list(self.warehouse.path.glob("views/**/_delta_log/*.json")))

    def steps(self) -> int:
        """Written steps of all views, seen or not."""
        return len(list(self.warehouse.path.glob("views/*/*/steps/*")))

    def current(self) -> None:
        """All views are at now."""
        self.warehouse.refresh()


def sale(number: int) -> tuple[Any, ...]:
    return number, number % 5, number % 3, Decimal(number) / 4


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("costs")
    lake = Lake(spark, folder / "lake")
    columns = "id BIGINT, product BIGINT, shop BIGINT, amount DECIMAL(10,2)"
    lake.create("sales", columns, [sale(n) for n in range(100)])
    lake.create("product", "product BIGINT, kind STRING", [(n, f"kind {n % 2}") for n in range(5)])
    lake.create("shop", "shop BIGINT, town STRING", [(n, f"town {n}") for n in range(3)])
    lake.create("other", "x BIGINT", [(1,)])
    with rollview.open(folder / "wh", spark) as warehouse:
        warehouse.add_source("lake", delta=folder / "lake")
        for name, sql in VIEWS.items():
            warehouse.create(name, sql, policy="incremental")
        lake.registered()
        made = Shop(lake, Oracles(lake, VIEWS), warehouse)
        made.sell()
        made.current()
        yield made


@contextmanager
def only(jobs: Callable[[], int], expected: int) -> Iterator[None]:
    """Exactly so many Spark jobs run inside."""
    before = jobs()
    yield
    assert jobs() - before == expected


def few_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, whoever brings rows to the driver fails, but for the few of a step that is written there."""
    bring = DataFrame.collect
    unread(monkeypatch)

    def few(rows: DataFrame) -> Any:
        found = bring(rows)
        assert 0 < len(found) <= STEP_ROWS
        return found

    monkeypatch.setattr(DataFrame, "collect", few)


def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, whoever brings rows to the driver fails."""
    for name in READING:

        def refused(*_: Any, verb: str = name, **__: Any) -> None:
            raise AssertionError(f"a refresh must not call {verb}")

        monkeypatch.setattr(DataFrame, name, refused)


def test_nothing_new_costs_no_job(shop: Shop, jobs: Callable[[], int]) -> None:
    shop.current()
    written = shop.steps()
    with only(jobs, 0):
        reports = shop.warehouse.refresh()
    assert {(r.technique, r.jobs, r.steps) for r in reports} == {("NO_OP", 0, 0)}
    assert shop.steps() == written


def test_changes_that_no_view_reads_cost_no_job(shop: Shop, jobs: Callable[[], int]) -> None:
    shop.current()
    shop.lake.insert("other", [(2,)])
    shop.lake.optimize("sales")
    written = shop.steps()
    with only(jobs, 0):
        reports = shop.warehouse.refresh()
    assert {(r.technique, r.jobs, r.steps) for r in reports} == {("NO_OP", 0, 0)}
    assert {r.view_time for r in reports} == {shop.lake.csn}
    assert shop.steps() == written


def test_capture_costs_no_job(shop: Shop, jobs: Callable[[], int]) -> None:
    shop.sell()
    with only(jobs, 0):
        assert shop.warehouse.capture().commits == 2


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_a_small_refresh_is_no_job_one_step_and_no_commit_to_delta_lake(
    view: str, shop: Shop, jobs: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.current()
    shop.sell()
    steps, commits = shop.steps(), shop.delta_commits()
    with monkeypatch.context() as patched:
        few_read(patched)
        with only(jobs, 0):
            report = shop.warehouse.refresh(view)
    assert (report.jobs, report.steps, report.view_time) == (0, 1, shop.lake.csn)
    assert report.technique == ("GROUP_AGGREGATE" if view == "totals" else "ROW_BASED")
    assert (shop.steps(), shop.delta_commits()) == (steps + 1, commits)


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_a_larger_refresh_is_one_query_one_step_and_no_commit_to_delta_lake(
    view: str, shop: Shop, jobs: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.current()
    shop.sell()
    steps, commits = shop.steps(), shop.delta_commits()
    monkeypatch.setattr(fetched, "MOST_CHANGED", STEP_ROWS - 2)
    with monkeypatch.context() as patched:
        unread(patched)
        with only(jobs, JOINED_BY_SPARK[view]):
            report = shop.warehouse.refresh(view)
    assert (report.jobs, report.steps) == (JOINED_BY_SPARK[view], 1)
    assert report.technique == ("GROUP_AGGREGATE" if view == "totals" else "ROW_BASED")
    assert (shop.steps(), shop.delta_commits()) == (steps + 1, commits)


@pytest.mark.parametrize("most", [fetched.MOST_CHANGED, 0])
def test_u4_a_join_that_two_views_have_in_common_is_made_once(
    most: int, shop: Shop, jobs: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the driver: then they take no job. By Spark they took 3 each alone, two of which broadcast the tables."""
    monkeypatch.setattr(fetched, "MOST_CHANGED", most)
    shop.current()
    shop.sell()
    with only(jobs, 0 if most else 4):
        reports = shop.warehouse.refresh(["star", "totals"])
    assert {(r.technique, r.steps) for r in reports} == {("ROW_BASED", 1), ("GROUP_AGGREGATE", 1)}
    shop.oracles.hold(shop.warehouse, [(view, shop.lake.csn) for view in ("star", "totals")])


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_the_first_refresh_of_a_process_reads_the_small_tables(
    view: str, shop: Shop, jobs: Callable[[], int]
) -> None:
    """Their files are found in their logs without a job."""
    shop.current()
    shop.sell()
    shop.warehouse.relations.kept.clear()
    with only(jobs, 0):
        shop.warehouse.refresh(view)


@pytest.mark.slow
def test_a_small_table_that_changes_is_kept_and_patched(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes of a dimension read the fact table; the other dimension and the old rows are in memory."""
    shop.current()
    shop.sell()
    shop.lake.update("product", {"kind": "kind 7"}, product=1)
    shop.sell()
    shop.lake.delete("shop", shop=0)
    shop.current()
    shop.oracles.hold(shop.warehouse, [(v, shop.lake.csn) for v in VIEWS])
    monkeypatch.setattr(kept, "PATCH_COMMITS", 0)  # too far away: the newest version is kept anew
    shop.lake.insert("product", [(100, "kind 8")])
    shop.sell()
    shop.current()
    shop.oracles.hold(shop.warehouse, [(v, shop.lake.csn) for v in VIEWS])


def test_one_ledger_commit_moves_everything(shop: Shop) -> None:
    """Frontier, view time and the new step become visible together."""
    shop.current()
    shop.sell()
    seen = []
    engine = shop.warehouse.ledger.engine

    def looked(connection: Any) -> None:
        query = (
            "SELECT b.frontier, v.view_time, (SELECT COUNT(*) FROM rv_steps WHERE block = 'star') "
            "FROM rv_blocks b JOIN rv_views v ON v.name = b.name WHERE b.name = 'star'"
        )
        seen.append(tuple(connection.exec_driver_sql(query).one()))

    event.listen(engine, "commit", looked)
    try:
        shop.warehouse.refresh("star")
    finally:
        event.remove(engine, "commit", looked)
    before, after = list(dict.fromkeys(seen))
    assert before[1] < after[1] == shop.lake.csn
    assert (before[0] != after[0], after[2]) == (True, before[2] + 1)


def test_reading_costs_no_job_until_rows_are_asked_for(
    shop: Shop, jobs: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.current()
    oldest = shop.warehouse.status("totals").oldest
    unread(monkeypatch)
    with only(jobs, 0):
        for view in VIEWS:
            shop.warehouse.table(view)
            shop.warehouse.table(view, as_of=oldest)
            shop.warehouse.changes(view, oldest, shop.lake.csn)
            shop.warehouse.status(view)


def test_rolling_costs_no_job(shop: Shop, jobs: Callable[[], int]) -> None:
    shop.current()
    with only(jobs, 0):
        shop.warehouse.apply("totals", to=shop.warehouse.status("totals").oldest)
        shop.warehouse.apply("totals", to=shop.lake.csn)


@pytest.mark.slow
def test_verify_brings_few_rows_to_the_driver(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten examples of each kind at most, however much is wrong."""
    shop.sell()
    shop.lake.update("sales", {"amount": Decimal("9.99")}, product=1)
    shop.current()
    ledger = shop.warehouse.ledger
    lost = [s for s in ledger.steps("one_join") if s.hi == shop.lake.csn]
    brought = []
    collect = DataFrame.collect

    def counted(self: DataFrame) -> Any:
        rows = collect(self)
        brought.append(len(rows))
        return rows

    monkeypatch.setattr(DataFrame, "collect", counted)
    for name in ("toPandas", "toArrow", "toLocalIterator"):
        monkeypatch.setattr(DataFrame, name, None)
    assert shop.warehouse.verify("one_join").ok
    ledger.drop_steps([s.id for s in lost])
    report = shop.warehouse.verify("one_join")
    monkeypatch.undo()
    assert not report.ok
    assert min(report.missing, report.extra) > EXAMPLES
    assert len(report.examples) == 2 * EXAMPLES
    assert sum(brought) <= 2 * EXAMPLES + 2
    with ledger.atomic():
        for step in lost:
            ledger.add_step(step)


def test_what_was_counted_was_right(shop: Shop) -> None:
    """Few jobs are no merit where the answer is wrong."""
    shop.current()
    shop.oracles.hold(shop.warehouse, [(v, shop.lake.csn) for v in VIEWS])
