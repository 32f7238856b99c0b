"""Recursive views on Spark: against a closure in plain Python, at every time; where they stop, and how they heal."""

from __future__ import annotations

import pytest
from oracle.lake import Lake

import rollview
from rollview.calculus import fixpoint
from rollview.errors import QueryFailed
from rollview.failpoints import Crash, Failpoint

pytestmark = pytest.mark.spark

CLOSURE = (
    "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION SELECT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a) "
    "SELECT a, b FROM r"
)
PATHS = (
    "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link WHERE a = 1 UNION ALL SELECT r.a, l.b FROM r "
    "JOIN lake.link l ON r.b = l.a) SELECT a, b FROM r"
)


def closure(links):
    """Every pair with a way between them."""
    found = set(links)
    while True:
        more = {(a, d) for a, b in found for c, d in links if b == c and b is not None} - found
        if not more:
            return sorted(found, key=str)
        found |= more


def paths(links, start=1):
    """One row for every way from the start; the links have no cycle."""
    level, found = [b for a, b in links if a == start], []
    while level:
        found += [(start, b) for b in level]
        level = [d for b in level for c, d in links if b == c and b is not None]
    return sorted(found, key=str)


def rows(warehouse, view, time=None):
    return sorted(map(tuple, warehouse.table(view, as_of=time).collect()), key=str)


@pytest.fixture
def lake(spark, tmp_path):
    made = Lake(spark, tmp_path / "lake")
    made.create("link", "a INT, b INT", [(1, 2), (2, 3), (3, 4), (1, 4), (None, 1), (4, None)])
    return made


def opened(lake, tmp_path):
    warehouse = rollview.open(tmp_path / "wh", spark=lake.spark)
    if not warehouse.sources():
        warehouse.add_source("lake", delta=str(lake.folder))
        lake.registered()
    return warehouse


def created(warehouse, name, sql):
    warehouse.sql(
        f"CREATE MATERIALIZED VIEW {name} TBLPROPERTIES ('policy' = 'incremental') AS {sql}"
    )


def test_a_closure_that_gains_a_cycle_and_loses_it(lake, tmp_path):
    with opened(lake, tmp_path) as warehouse:
        created(warehouse, "closure", CLOSURE)
        lake.insert("link", [(4, 2)])
        lake.delete("link", a=2, b=3)
        assert warehouse.refresh("closure").technique == "RECURSIVE"
        for time in (1, 2):
            assert rows(warehouse, "closure", time) == closure(lake.at(time)["link"].rows)


@pytest.mark.slow
def test_a_closure_with_cycles_is_exact_at_every_time(lake, tmp_path):
    with opened(lake, tmp_path) as warehouse:
        created(warehouse, "closure", CLOSURE)
        lake.insert("link", [(4, 2), (2, 3)])
        lake.delete("link", a=1, b=2)
        lake.delete("link", a=2, b=3)
        lake.insert("link", [(1, 2), (2, 2)])
        report = warehouse.refresh("closure")
        assert report.technique == "RECURSIVE"
        for time in range(lake.csn + 1):
            links = lake.at(time)["link"].rows
            assert rows(warehouse, "closure", time) == closure(links), f"at {time}"
        assert warehouse.verify("closure").ok
        assert warehouse.status("closure").resolution == ""
        warehouse.fold("closure")
        lake.delete("link", a=3, b=4)
        warehouse.capture()
        assert any(
            "changes of closure#0" in t for s in warehouse.explain("closure").steps for t in s.terms
        )
        warehouse.refresh("closure")
        assert rows(warehouse, "closure") == closure(lake.at(lake.csn)["link"].rows)


@pytest.mark.slow
def test_a_recursion_that_does_not_end_stops_the_view_until_it_does(lake, tmp_path, monkeypatch):
    monkeypatch.setattr(fixpoint, "MOST_LEVELS_OF_ALL", 6)
    with opened(lake, tmp_path) as warehouse:
        created(warehouse, "paths", PATHS)
        lake.insert("link", [(2, 4)])
        warehouse.refresh("paths")
        assert rows(warehouse, "paths") == paths(lake.at(lake.csn)["link"].rows)
        assert warehouse.verify("paths").ok
        good = warehouse.status("paths").view_time
        lake.insert("link", [(4, 2)])
        with pytest.raises(QueryFailed, match="does not end") as caught:
            warehouse.refresh("paths")
        assert "6 levels" in str(caught.value) and caught.value.hint
        assert warehouse.status("paths").view_time == good
        lake.delete("link", a=4, b=2)
        assert warehouse.refresh("paths").technique == "COMPLETE_RECOMPUTE"
        assert rows(warehouse, "paths") == paths(lake.at(lake.csn)["link"].rows)


@pytest.mark.slow
def test_a_step_that_dies_is_done_again_once(lake, tmp_path, monkeypatch):
    with opened(lake, tmp_path) as warehouse:
        created(warehouse, "closure", CLOSURE)
        lake.insert("link", [(4, 2)])
        monkeypatch.setenv("ROLLVIEW_FAILPOINTS", f"{Failpoint.STEP_AFTER_WRITE.value}=raise")
        with pytest.raises(Crash):
            warehouse.refresh("closure")
    monkeypatch.delenv("ROLLVIEW_FAILPOINTS")
    with opened(lake, tmp_path) as warehouse:
        warehouse.refresh("closure")
        assert rows(warehouse, "closure") == closure(lake.at(lake.csn)["link"].rows)
        assert {step.block for step in warehouse.ledger.steps("closure#0")} == {"closure#0"}
        assert len(warehouse.ledger.steps("closure#0")) == 1


@pytest.mark.slow
def test_as_many_levels_as_spark_has(lake, spark):
    """UNION ALL fails where Spark's own recursion fails: rows are on as many levels as the limit says, from 0 on."""

    def numbers(most):
        query = f"WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r WHERE n < {most}) SELECT * FROM r"
        return spark.sql(query).count()

    assert numbers(fixpoint.MOST_LEVELS_OF_ALL - 1) == fixpoint.MOST_LEVELS_OF_ALL
    with pytest.raises(Exception, match="RECURSION_LEVEL_LIMIT_EXCEEDED"):
        numbers(fixpoint.MOST_LEVELS_OF_ALL)
