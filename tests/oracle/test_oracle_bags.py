"""Aggregates, windows and top-N on Spark: beside both recomputes, with hidden keys, a resolution and a bad row."""

from __future__ import annotations

import pytest
from oracle.lake import Lake
from oracle.oracles import Oracles

import rollview
from rollview.errors import QueryFailed, TimeNotReached

pytestmark = pytest.mark.spark

VIEWS = {
    "lows": "SELECT region, MIN(amount) AS lo, COUNT(*) AS n FROM lake.sales GROUP BY region",
    "hidden": "SELECT MAX(amount) AS hi, COUNT(DISTINCT cust) AS c FROM lake.sales GROUP BY region",
    "whole": "SELECT MAX(amount) AS hi, COUNT(*) AS n FROM lake.sales WHERE amount > 5",
    "joined": "SELECT c.name, MIN(s.amount) AS lo FROM lake.sales s JOIN lake.customer c ON s.cust = c.cust "
    "GROUP BY c.name",
    "ranked": "SELECT id, RANK() OVER (PARTITION BY region ORDER BY amount NULLS FIRST) AS r FROM lake.sales",
    "top": "SELECT id, amount FROM lake.sales ORDER BY amount DESC NULLS LAST, id LIMIT 2",
    "per": "SELECT id, region FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY region ORDER BY amount NULLS FIRST, id) "
    "AS n FROM lake.sales) q WHERE n <= 2",
}
SALES = [(1, 1, 10, "n"), (1, 1, 10, "n"), (2, 2, 20, "s"), (3, None, 5, "n"), (4, 1, None, None)]


@pytest.fixture
def lake(spark, tmp_path):
    made = Lake(spark, tmp_path / "lake")
    made.create("sales", "id INT, cust INT, amount INT, region STRING", SALES)
    made.create("customer", "cust INT, name STRING", [(1, "ann"), (2, "bob"), (None, "nobody")])
    return made


def opened(lake, tmp_path):
    warehouse = rollview.open(tmp_path / "wh", spark=lake.spark)
    warehouse.add_source("lake", delta=str(lake.folder))
    lake.registered()
    return warehouse


@pytest.mark.slow  # on DuckDB the golden cases go through all of these in every run
def test_views_over_bags_are_what_both_recomputes_say(lake, tmp_path):
    with opened(lake, tmp_path) as warehouse:
        for name, sql in VIEWS.items():
            memory = "stored" if name == "joined" else "auto"
            warehouse.sql(
                f"CREATE MATERIALIZED VIEW {name} TBLPROPERTIES ('policy' = 'incremental', 'memory' = '{memory}') "
                f"AS {sql}"
            )
        oracles = Oracles(lake, VIEWS)
        lake.delete("sales", id=3)
        lake.insert("sales", [(5, 2, 1, "n"), (6, 2, 30, None), (6, 2, 30, None)])
        lake.update("customer", {"name": "eve"}, cust=1)
        lake.delete("sales", region="s")
        reports = [warehouse.refresh(name) for name in VIEWS]
        assert {r.technique for r in reports} == {"GENERIC_AGGREGATE", "WINDOW_FUNCTION"}
        oracles.hold(warehouse, [(v, t) for v in VIEWS for t in range(lake.csn + 1)])
        lake.overwrite("sales", [])
        for name in VIEWS:
            warehouse.refresh(name)
            warehouse.fold(name)
            assert warehouse.verify(name).ok, name
        oracles.hold(warehouse, [(v, t) for v in VIEWS for t in (lake.csn - 1, lake.csn)])
        assert "(stored)" in str(warehouse.explain("joined").blocks)


@pytest.mark.slow
def test_z2_a_resolution_rounds_times(lake, tmp_path):
    with opened(lake, tmp_path) as warehouse:
        warehouse.sql(
            "CREATE MATERIALIZED VIEW lows TBLPROPERTIES ('policy' = 'incremental', 'resolution' = '1 day') "
            f"AS {VIEWS['lows']}"
        )
        for n in range(4):
            lake.insert("sales", [(10 + n, 1, n, "n")])
        warehouse.refresh("lows")
        assert warehouse.status("lows").resolution == "1 day"
        Oracles(lake, VIEWS).hold(warehouse, [("lows", 0), ("lows", 4)])
        with pytest.raises(TimeNotReached, match="inside its resolution") as refused:
            warehouse.table("lows", as_of=2)
        assert "0 and 4" in refused.value.detail


@pytest.mark.slow
def test_a_row_that_fails_is_named_and_the_view_heals_when_it_goes(lake, tmp_path):
    with opened(lake, tmp_path) as warehouse:
        warehouse.sql(
            "CREATE MATERIALIZED VIEW inverse TBLPROPERTIES ('policy' = 'incremental') AS "
            "SELECT region, MAX(100 DIV amount) AS m FROM lake.sales GROUP BY region"
        )
        lake.insert("sales", [(n, 1, n, "n") for n in range(20, 30)])
        lake.insert("sales", [(7, 3, 0, "s"), (8, 3, 4, "s")])
        with pytest.raises(QueryFailed) as failed:
            warehouse.refresh("inverse")
        assert "amount = 0" in failed.value.detail and "transaction 2" in failed.value.detail
        assert warehouse.status("inverse").view_time == 0
        lake.delete("sales", id=7)
        warehouse.refresh("inverse")
        assert warehouse.verify("inverse").ok
