"""The oracles can fail: each test breaks the product in one place, and both oracles must report it.

One lake with a directed history, one warehouse with its views built before it; every test works on a copy of that
warehouse. What the oracles find where is asserted, so that a difference by accident does not count.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from oracle.lake import Lake
from oracle.oracles import Oracles
from pyspark.sql import SparkSession
from sqlglot import exp

import rollview
from rollview import apply as applying
from rollview import capture as capturing
from rollview.calculus import queries, rolled, rolling, steps
from rollview.calculus.terms import AsOf, Changes, Term
from rollview.changes import COUNT, Csn
from rollview.sources.delta_lake import direct
from rollview.sources.delta_lake.capture import CaptureResult
from rollview.sources.delta_lake.relation import DeltaLakeTable
from rollview.spark import fetched

pytestmark = pytest.mark.spark

VIEWS = {
    "plain": "SELECT id, cust, amount FROM lake.sales",
    "pairs": "SELECT s.id, s.amount, c.city FROM lake.sales s JOIN lake.cust c ON s.cust = c.cust",
    "totals": "SELECT c.city, COUNT(*) AS n, SUM(s.amount) AS total "
    "FROM lake.sales s JOIN lake.cust c ON s.cust = c.cust GROUP BY c.city",
}
ONE, TWO = Decimal("1.00"), Decimal("2.50")


@dataclass
class Played:
    """The lake after its history, the oracles, and the warehouse as it was before."""

    lake: Lake
    oracles: Oracles
    built: Path


@pytest.fixture(scope="module")
def played(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("sabotage")
    lake = Lake(spark, folder / "lake")
    lake.create("sales", "id BIGINT, cust BIGINT, amount DECIMAL(10,2)",
                [(1, 1, ONE), (2, 1, TWO), (3, 2, ONE), (4, None, ONE)])  # fmt: skip
    lake.create("cust", "cust BIGINT, city STRING", [(1, "a"), (2, "b"), (2, "b")])
    with rollview.open(folder / "wh", spark) as warehouse:
        warehouse.add_source("lake", delta=folder / "lake")
        for name, sql in VIEWS.items():
            warehouse.create(name, sql, policy="incremental")
    lake.registered()
    lake.insert("cust", [(3, "c")])  # 1: meets what comes only at 2
    lake.insert("sales", [(5, 3, ONE), (1, 1, ONE)])  # 2: the second row is there already
    lake.update("cust", {"city": "z"}, cust=1)  # 3
    lake.delete("sales", id=2)  # 4
    lake.overwrite("cust", [(1, "q"), (3, "c")])  # 5: whole files go
    lake.delete("sales", cust=None)  # 6: a row with NULL goes
    return Played(lake, Oracles(lake, VIEWS), folder / "wh")


@pytest.fixture
def warehouse(played: Played, spark: SparkSession, tmp_path: Path) -> Iterator[Any]:
    """A copy of the warehouse, opened: its views are at 0, nothing is captured."""
    shutil.copytree(played.built, tmp_path / "wh")
    with rollview.open(tmp_path / "wh", spark) as opened:
        yield opened


def found(played: Played, warehouse: Any, *wanted: tuple[str, int]) -> set[tuple[str, int, str]]:
    """What the oracles report: (view, csn, oracle)."""
    return {(m.view, m.csn, m.oracle) for m in played.oracles.mismatches(warehouse, wanted)}


def both(*places: tuple[str, int]) -> set[tuple[str, int, str]]:
    """Both oracles report exactly these places."""
    return {(view, csn, oracle) for view, csn in places for oracle in "AB"}


def test_nothing_is_reported_where_nothing_is_broken(played: Played, warehouse: Any) -> None:
    warehouse.refresh()
    assert played.lake.csn == 6
    assert found(played, warehouse, *((view, csn) for view in VIEWS for csn in (1, 3))) == set()
    for view in VIEWS:
        warehouse.fold(view, to=4)
    assert found(played, warehouse, *((view, csn) for view in VIEWS for csn in (3, 6))) == set()


def test_a_dropped_compensation(
    played: Played, warehouse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inputs that are ahead are read without their stamps, as if they had always been so."""

    def uncompensated(frontier: tuple[Csn, ...], relation: int, to: Csn) -> Term:
        lo = frontier[relation]
        return tuple(
            Changes(j, lo, to) if j == relation else AsOf(j, at) for j, at in enumerate(frontier)
        )

    monkeypatch.setattr(rolling, "forward_term", uncompensated)
    warehouse.refresh(["pairs", "totals"])
    places = [(v, t) for v in ("pairs", "totals") for t in (0, 1, 6)]
    assert found(played, warehouse, *places) == both(("pairs", 1), ("totals", 1))


def test_a_flipped_sign(played: Played, warehouse: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is worked in with the wrong sign."""
    right = rolled.moved

    def flipped(block: Any, span: rolled.Window) -> exp.Select:
        parts = tuple((buckets, lo, hi, -sign) for buckets, lo, hi, sign in span.parts)
        return right(block, replace(span, parts=parts))

    monkeypatch.setattr(rolled, "moved", flipped)
    warehouse.refresh("totals")
    places = [("totals", 0), ("totals", 1), ("totals", 2)]
    assert found(played, warehouse, *places) == both(("totals", 2))


def test_stamps_of_the_step_instead_of_the_change(
    played: Played, warehouse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row of a step appears at the step's end: right at the end, wrong on the way."""

    def late(join: Any, term: Term, leaf_name: queries.LeafName) -> exp.Select:
        end = max(f.hi for f in term if isinstance(f, Changes))
        return queries._product(join, term, leaf_name, queries.bigint(end))

    monkeypatch.setattr(steps, "term_query", late)
    for view in ("plain", "pairs"):  # not in one round, where texts serve again that were right
        warehouse.refresh(view)
    places = [(v, t) for v in ("plain", "pairs") for t in (0, 2, 4, 6)]
    expected = both(("plain", 2), ("plain", 4), ("pairs", 2), ("pairs", 4))
    assert found(played, warehouse, *places) == expected


@pytest.mark.slow
def test_a_commit_captured_twice(
    played: Played, warehouse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first commit of every table gets two CSNs."""
    right = capturing.new_commits

    def doubled(relation: Any) -> CaptureResult:
        result = right(relation)
        return replace(result, captured=(*result.captured[:1], *result.captured))

    monkeypatch.setattr(capturing, "new_commits", doubled)
    assert warehouse.capture().csn == played.lake.csn + 2
    warehouse.refresh("plain")
    assert found(played, warehouse, ("plain", 6)) == both(("plain", 6))


@pytest.mark.slow
def test_changes_read_twice(
    played: Played, warehouse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interval includes its beginning, so that two steps both read the commit between them."""
    right = DeltaLakeTable.changes

    def closed(self: DeltaLakeTable, lo: Csn, hi: Csn, columns: Any) -> Any:
        return right(self, Csn(max(0, lo - 1)), hi, columns)

    monkeypatch.setattr(DeltaLakeTable, "changes", closed)
    monkeypatch.setattr(
        fetched, "MOST_CHANGED", 0
    )  # by Spark; the driver's way: test_fetched_spark.py
    warehouse.capture()
    warehouse.propagate("plain", to=2)
    warehouse.propagate("plain", to=4)
    assert found(played, warehouse, ("plain", 1), ("plain", 4)) == both(("plain", 4))


@pytest.mark.slow
def test_the_count_of_a_duplicate_ignored(
    played: Played, warehouse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that comes twice is shown once."""

    def once(block: Any, rows: exp.Query) -> exp.Select:
        names = [queries.column(c.name) for c in block.columns]
        return exp.select(*names).from_(queries.subquery(rows, "_rv_r")).where(f"{COUNT} > 0")

    monkeypatch.setattr(rolled, "repeated", once)
    warehouse.refresh("pairs")
    assert found(played, warehouse, ("pairs", 1), ("pairs", 3)) == both(("pairs", 3))


@pytest.mark.slow
def test_removed_files_not_read(
    played: Played, warehouse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a commit that replaces files, only the new ones are seen."""
    monkeypatch.setattr(direct, "FILE_COUNTS", {"added": 1})
    warehouse.refresh("pairs")
    assert found(played, warehouse, ("pairs", 4), ("pairs", 5)) == both(("pairs", 5))


@pytest.mark.slow
def test_null_compared_by_equality(
    played: Played, warehouse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row with NULL in it is not found again when it is to go."""

    def equal(keys: Any, left: str, right: str) -> exp.Expr:
        pairs = [(queries.column(k.name, left), queries.column(k.name, right)) for k in keys]
        return queries.every(exp.EQ(this=a, expression=b) for a, b in pairs)

    monkeypatch.setattr(rolled, "alike", equal)
    warehouse.refresh("plain")
    assert found(played, warehouse, ("plain", 5), ("plain", 6)) == both(("plain", 6))


def test_a_fold_that_does_not_move_its_time(
    played: Played, warehouse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stored rows are folded, and the log is added to them once more."""
    right = applying._commit_fold

    def unmoved(ledger: Any, intent: Any) -> None:
        times = ledger.block(intent.subject).fold_times
        right(ledger, intent)
        ledger.set_block(intent.subject, fold_times=times)

    monkeypatch.setattr(applying, "_commit_fold", unmoved)
    warehouse.refresh("totals")
    before = found(played, warehouse, ("totals", 6))
    warehouse.fold("totals")
    assert before == set()
    assert found(played, warehouse, ("totals", 6)) == both(("totals", 6))


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda lake: lake.commits.pop(), id="a commit forgotten by the record"),
        pytest.param(lambda lake: lake.commits.reverse(), id="commits in another order"),
    ],
)
def test_the_record_itself_is_checked(
    played: Played, warehouse: Any, broken: Callable[[Lake], object]
) -> None:
    """A record that is not what happened does not pass either."""
    warehouse.refresh("plain")
    lake = Lake(played.lake.spark, played.lake.folder)
    lake.back_to(played.lake.moment())
    broken(lake)
    places = [("plain", csn) for csn in (2, 6)]
    assert Oracles(lake, VIEWS).mismatches(warehouse, places)
