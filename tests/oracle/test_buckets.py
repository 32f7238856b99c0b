"""A fold cuts the stored rows into as many buckets as they need, and reads no bucket but the one that it folds."""

import pytest
from oracle.lake import Lake
from oracle.oracles import Oracles

import rollview
from rollview.calculus import cost
from rollview.failpoints import Crash, Failpoint

pytestmark = pytest.mark.spark

VIEWS = {
    "kept": "SELECT id, amount FROM lake.sales WHERE amount > 10",
    "sums": "SELECT id, COUNT(*) AS n, SUM(amount) AS total FROM lake.sales GROUP BY id",
}


@pytest.fixture
def lake(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(cost, "BUCKET_ROWS", 10)
    made = Lake(spark, tmp_path / "lake")
    made.create("sales", "id INT, amount INT", [(n, 10 + n % 3) for n in range(45)])
    return made


def change(lake: Lake, number: int) -> None:
    lake.delete("sales", id=number)
    lake.update("sales", {"amount": 20}, id=number + 1)
    lake.insert("sales", [(number, 12), (None, 30), (100 + number, 13), (100 + number, 13)])


def test_the_number_of_buckets_follows_the_rows(spark, lake, tmp_path, monkeypatch):
    with rollview.open(tmp_path / "wh", spark=spark) as warehouse:
        warehouse.add_source("lake", delta=str(lake.folder))
        lake.registered()
        for name, sql in VIEWS.items():
            warehouse.create(name, sql, policy="incremental")
        oracles = Oracles(lake, VIEWS)

        def folded(number: int) -> dict[str, tuple[int, int]]:
            """After a change: how many buckets each view has, and in how many commits they were folded."""
            change(lake, number)
            warehouse.refresh()
            found = {}
            for name in VIEWS:
                done = warehouse.fold(name).buckets
                found[name] = len(warehouse.ledger.block(name).fold_times), done
            oracles.hold(
                warehouse, [(v, t) for t in {lake.csn - number % 2, lake.csn} for v in VIEWS]
            )
            return found

        assert folded(1) == {"kept": (3, 1), "sums": (4, 1)}
        assert folded(2) == {"kept": (3, 3), "sums": (4, 4)}
        monkeypatch.setattr(cost, "BUCKET_ROWS", 1_000)
        assert folded(3) == {"kept": (1, 1), "sums": (1, 1)}
        warehouse.alter("kept", {"buckets": 2})
        assert folded(4)["kept"] == (2, 1)


def test_a_bucket_is_folded_without_reading_the_others(spark, lake, tmp_path):
    with rollview.open(tmp_path / "wh", spark=spark) as warehouse:
        warehouse.add_source("lake", delta=str(lake.folder))
        lake.registered()
        warehouse.create("kept", VIEWS["kept"], policy="incremental", buckets=4)
        change(lake, 1)
        warehouse.refresh("kept")
        rows = warehouse.relations.rolled("kept").state(warehouse.view("kept").view_time, 2)
        plan = rows._jdf.queryExecution().executedPlan().toString()
        scans = [line for line in plan.splitlines() if "DeltaFileIndex" in line]
        assert scans, plan
        for scan in scans:
            assert "_rv_bucket" in scan.partition("PartitionFilters: [")[2].partition("]")[0], scan


def test_a_fold_that_died_after_its_commit_is_taken_over_with_its_buckets(
    spark, lake, tmp_path, monkeypatch
):
    with rollview.open(tmp_path / "wh", spark=spark) as warehouse:
        warehouse.add_source("lake", delta=str(lake.folder))
        lake.registered()
        warehouse.create("kept", VIEWS["kept"], policy="incremental")
        change(lake, 1)
        warehouse.refresh("kept")
        monkeypatch.setenv(
            "ROLLVIEW_FAILPOINTS", f"{Failpoint.FOLD_AFTER_DELTA_COMMIT.value}=raise"
        )
        with pytest.raises(Crash):
            warehouse.fold("kept")
    monkeypatch.delenv("ROLLVIEW_FAILPOINTS")
    with rollview.open(tmp_path / "wh", spark=spark) as warehouse:
        change(lake, 2)
        warehouse.refresh("kept")
        assert len(warehouse.ledger.block("kept").fold_times) == 3
        oracles = Oracles(lake, {"kept": VIEWS["kept"]})
        oracles.hold(warehouse, [("kept", t) for t in (0, lake.csn - 3, lake.csn)])
