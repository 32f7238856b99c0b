"""Columns that tell the rows of a view apart are found, proved and used; with duplicates there are none.

Readers who know them have the driver net the pending rows, if they are few (spark/pending.py).
"""

import pytest
from oracle.lake import Lake
from oracle.oracles import Oracles

import rollview
from rollview.changes import STAMP
from rollview.spark import pending, rolled
from rollview.spark.evaluate import jobs_of

pytestmark = pytest.mark.spark

VIEWS = {"v": "SELECT id, amount FROM lake.sales WHERE amount > 5"}


@pytest.fixture
def lake(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(rolled, "ENOUGH_ROWS", 1)
    made = Lake(spark, tmp_path / "lake")
    made.create("sales", "id INT, amount INT", [(n, 10 + n % 3) for n in range(20)])
    return made


FEW = pending.MOST_PENDING


@pytest.mark.parametrize(
    ("buckets", "few", "for_a_step"), [(1, 0, 0), (1, FEW, 50_000), (1, FEW, 0), (2, FEW, 0)]
)
def test_s4_rows_are_taken_by_the_columns_that_tell_them_apart(
    spark, lake, tmp_path, buckets, few, for_a_step, monkeypatch
):
    monkeypatch.setattr(pending, "MOST_PENDING", few)
    monkeypatch.setattr(rolled, "ROWS_FOR_A_STEP", for_a_step)
    with rollview.open(tmp_path / "wh", spark=spark) as warehouse:
        warehouse.add_source("lake", delta=str(lake.folder))
        lake.registered()
        warehouse.create("v", VIEWS["v"], policy="incremental", buckets=buckets)
        assert warehouse.ledger.block("v").telling == ("id",)
        oracles = Oracles(lake, VIEWS)
        lake.delete("sales", id=3)
        lake.update("sales", {"amount": 11}, id=4)
        lake.insert("sales", [(3, 12), (30, 12), (30, 12), (None, 7)])
        lake.delete("sales", id=30)
        warehouse.refresh("v")
        oracles.hold(warehouse, [("v", t) for t in range(lake.csn + 1)])

        warehouse.fold("v")
        assert warehouse.ledger.block("v").telling == ("id",)
        lake.insert("sales", [(3, 12), (5, 10)])
        warehouse.refresh("v")
        oracles.hold(warehouse, [("v", t) for t in range(lake.csn + 1)])

        warehouse.fold("v")
        assert warehouse.ledger.block("v").telling == (), "two rows are the same"
        lake.delete("sales", id=5)
        lake.update("sales", {"amount": 20}, id=3)
        warehouse.refresh("v")
        oracles.hold(warehouse, [("v", t) for t in range(lake.csn + 1)])


MANY_TYPES = """SELECT id, CAST(id AS DECIMAL(10, 2)) AS d, CAST(id AS STRING) AS s, DATE'2026-01-01' + id AS day,
    CAST(CASE WHEN amount > 10 THEN 'NaN' ELSE '0.5' END AS DOUBLE) AS f, amount > 10 AS b FROM lake.sales"""


@pytest.fixture(params=[50_000, 0], ids=["apart", "in one"])
def pending_rows(spark, lake, tmp_path, request, monkeypatch):
    """A warehouse whose view has pending rows: taken, added, both, and added to be taken again.

    The rows of the log are read beside the folded ones, or in one with them.
    """
    monkeypatch.setattr(rolled, "ROWS_FOR_A_STEP", request.param)
    with rollview.open(tmp_path / "wh", spark=spark) as warehouse:
        warehouse.add_source("lake", delta=str(lake.folder))
        lake.registered()
        warehouse.create("v", MANY_TYPES, policy="incremental")
        assert warehouse.ledger.block("v").telling == ("id",)
        lake.delete("sales", id=3)
        lake.insert("sales", [(30, 12), (31, 10), (32, 10), (None, None)])
        lake.update("sales", {"amount": 12}, id=4)
        lake.delete("sales", id=30)
        warehouse.refresh("v")
        yield warehouse


def test_z2_few_pending_rows_are_netted_on_the_driver(spark, lake, pending_rows):
    """Of many types, without a Spark job before the reader's own; the same rows as by Spark."""
    Oracles(lake, {"v": MANY_TYPES}).hold(pending_rows, [("v", t) for t in range(lake.csn + 1)])
    with jobs_of(spark) as jobs:
        rows = pending_rows.table("v")
        assert jobs() == 0
    plan = rows._jdf.queryExecution().executedPlan().toString()
    assert "LocalTableScan" in plan
    assert ("Union" in plan) == (rolled.ROWS_FOR_A_STEP > 0)


def test_z3_copies_are_netted_as_before(lake, pending_rows):
    lake.insert("sales", [(33, 10), (33, 10)])
    pending_rows.refresh("v")
    Oracles(lake, {"v": MANY_TYPES}).hold(pending_rows, [("v", t) for t in range(lake.csn + 1)])


def test_z3_rows_that_came_in_vain_are_seen_if_nobody_names_them(lake, pending_rows, monkeypatch):
    """Sabotage: it breaks the one way that asks, and no other."""

    def nothing(added, staying, names, telling):
        return added.select([*telling, STAMP]).slice(0, 0)

    monkeypatch.setattr(pending, "_in_vain", nothing)
    oracles = Oracles(lake, {"v": MANY_TYPES})
    if rolled.ROWS_FOR_A_STEP:
        oracles.hold(pending_rows, [("v", lake.csn)])
    else:
        with pytest.raises(AssertionError):
            oracles.hold(pending_rows, [("v", lake.csn)])


def test_z2_rows_of_other_times_are_seen(lake, pending_rows, monkeypatch):
    monkeypatch.setattr(pending, "within", lambda rows, lo, hi: rows)
    with pytest.raises(AssertionError):
        Oracles(lake, {"v": MANY_TYPES}).hold(pending_rows, [("v", t) for t in range(lake.csn)])
