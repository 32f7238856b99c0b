"""Small steps become one, and every time reads as before: rows and changes, in a view and in a view that reads it."""

import pytest
from oracle.lake import Lake
from oracle.oracles import Oracles

import rollview
from rollview import gather

pytestmark = pytest.mark.spark

VIEWS = {
    "rows": "SELECT id, amount FROM lake.sales WHERE amount > 5",
    "sums": "SELECT amount, COUNT(*) AS n FROM rows GROUP BY amount",
}


def changes(warehouse, view):
    found = warehouse.changes(view, 0, warehouse.ledger.newest_csn()).collect()
    return sorted(tuple(row) for row in found)


def test_g4_every_time_reads_as_before(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(gather, "MANY", 3)
    lake = Lake(spark, tmp_path / "lake")
    lake.create("sales", "id INT, amount INT", [(1, 10), (2, 20)])
    with rollview.open(tmp_path / "wh", spark=spark) as warehouse:
        warehouse.add_source("lake", delta=str(lake.folder))
        lake.registered()
        for name, sql in VIEWS.items():
            warehouse.create(name, sql, policy="incremental")
        for n in range(4):
            lake.insert("sales", [(10 + n, 10 + n % 2)])
            lake.update("sales", {"amount": 3 + 9 * (n % 2)}, id=1)
            warehouse.refresh(list(VIEWS))
        before = {view: changes(warehouse, view) for view in VIEWS}
        steps = {view: len(warehouse.ledger.steps(view)) for view in VIEWS}
        warehouse.tidy("rows")
        assert len(warehouse.ledger.steps("rows")) == steps["rows"], (
            "what is pending waits for a fold"
        )

        for view in VIEWS:
            warehouse.fold(view, to=lake.csn - 1)
            assert len(warehouse.ledger.steps(view)) == steps[view] - 2, view
            told = warehouse.history(view, 1)[0]
            assert told.technique == "FOLD" and told.jobs and told.details["by_constants"]["fold"]
        assert {view: changes(warehouse, view) for view in VIEWS} == before
        Oracles(lake, VIEWS).hold(warehouse, [(v, t) for v in VIEWS for t in range(lake.csn + 1)])
