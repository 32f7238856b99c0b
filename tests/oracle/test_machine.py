"""Random histories on Spark and Delta Lake: every view, after everything that can happen, against two oracles.

`make test` runs one short history, the same each time. ROLLVIEW_EXAMPLES=n with `-m slow` runs 20 n others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from oracle.machine import VIEWS, Machine, Template
from pyspark.sql import SparkSession
from spark_session import interpreted

pytestmark = pytest.mark.spark

HISTORIES, STEPS = 1, 4
MANY_HISTORIES, MANY_STEPS = 20, 40


@pytest.fixture(scope="module")
def machine(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[type[Machine]]:
    """The machine over a lake with all views built."""
    folder = tmp_path_factory.mktemp("machine")
    made = cache(lambda: Template(spark, folder))
    with interpreted(spark):
        yield type("Machine", (Machine,), {"template": staticmethod(made)})


def run(machine: type[Machine], histories: int, steps: int) -> None:
    """A history takes half a minute: nothing is made smaller when one fails, its rules are printed."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=histories, stateful_step_count=steps, phases=[Phase.generate]
        ),
    )


def test_every_view_is_what_both_recomputes_give(machine: type[Machine]) -> None:
    before = Machine.compared
    run(machine, HISTORIES, STEPS)
    assert Machine.compared - before >= len(VIEWS) * HISTORIES


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
def test_many_histories(machine: type[Machine]) -> None:
    run(machine, MANY_HISTORIES * int(os.environ.get("ROLLVIEW_EXAMPLES", "1")), MANY_STEPS)
