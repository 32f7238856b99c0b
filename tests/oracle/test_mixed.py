"""Random histories over live PostgreSQL databases and a lake, against DuckDB on what each source showed.

`make test-all` runs a short one, the same each time, and 20 ROLLVIEW_EXAMPLES others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from oracle.mixed import VIEWS, Mixed, World
from pyspark.sql import SparkSession
from spark_session import interpreted

from rollview.sources.postgresql import live

pytest_plugins = ["servers"]
pytestmark = pytest.mark.spark

HISTORIES, STEPS = 1, 8
MANY_HISTORIES, MANY_STEPS = 20, 40


@pytest.fixture
def world(
    spark: SparkSession, tmp_path: Path, database: Callable[[], str]
) -> Iterator[Callable[[], World]]:
    with interpreted(spark):
        yield lambda: World(spark, tmp_path, database)


def run(world: Callable[[], World], histories: int, steps: int) -> None:
    machine = type("Mixed", (Mixed,), {"world": staticmethod(world)})
    wanted = settings(max_examples=histories, stateful_step_count=steps, phases=[Phase.generate])
    run_state_machine_as_test(machine, settings=wanted)


@pytest.mark.slow
def test_every_view_is_what_a_recompute_gives(world: Callable[[], World]) -> None:
    before = Mixed.compared
    run(world, HISTORIES, STEPS)
    assert Mixed.compared - before >= len(VIEWS) * HISTORIES


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
def test_many_histories(world: Callable[[], World]) -> None:
    run(world, MANY_HISTORIES * int(os.environ.get("ROLLVIEW_EXAMPLES", "1")), MANY_STEPS)


def directed(now: World) -> list[tuple[str, int]]:
    """A view is rolled to a time that the live server has left behind, one table after the other."""
    now.begin(Random(1))
    now.copy.transact(["INSERT INTO sales VALUES (4, 3, 5)"])
    now.warehouse.capture()
    first = int(now.warehouse.ledger.newest_csn())
    now.live.transact(["INSERT INTO cust VALUES (3, 'a')", "DELETE FROM cust WHERE cust = 2"])
    now.copy.transact(["UPDATE sales SET amount = 9 WHERE id = 1"])
    now.warehouse.capture()
    now.live.transact(["UPDATE cust SET city = 'b'"])  # shown by the server, and not captured
    newest = int(now.warehouse.ledger.newest_csn())
    for view in VIEWS:
        now.warehouse.propagate(view, to=first)
        now.warehouse.propagate(view, to=newest)
    return [(view, csn) for view in VIEWS for csn in range(newest + 1)]


@pytest.mark.slow
def test_nothing_is_reported_where_nothing_is_broken(world: Callable[[], World]) -> None:
    now = world()
    try:
        assert now.mismatches(*directed(now)) == {}
    finally:
        now.close()


@pytest.mark.slow
def test_without_patches_the_oracle_reports(
    world: Callable[[], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the server shows now is taken for the state at the time asked for."""
    now = world()
    try:
        monkeypatch.setattr(live, "patches", lambda *_: {})
        assert now.mismatches(*directed(now)) != {}
    finally:
        now.close()
