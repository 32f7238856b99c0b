"""Columns that tell the rows of a view apart are found, proved and used; with duplicates there are none."""

import pytest
from oracle.lake import Lake
from oracle.oracles import Oracles

import rollview
from rollview.spark import rolled

pytestmark = pytest.mark.spark

VIEWS = {"v": "SELECT id, amount FROM lake.sales WHERE amount > 5"}


@pytest.fixture
def lake(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(rolled, "ENOUGH_ROWS", 1)
    made = Lake(spark, tmp_path / "lake")
    made.create("sales", "id INT, amount INT", [(n, 10 + n % 3) for n in range(20)])
    return made


@pytest.mark.parametrize("buckets", [1, 2])
def test_s4_rows_are_taken_by_the_columns_that_tell_them_apart(spark, lake, tmp_path, buckets):
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
