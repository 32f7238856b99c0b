"""A thousand random histories in one Spark batch, refreshed to random times, against two recomputes.

`make test-all` runs one batch, and 20 batches (times ROLLVIEW_EXAMPLES) with seeds of their own. A
failure names the seed and the first history that differs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from oracle.histories import KINDS, VIEWS, Histories
from pyspark.sql import SparkSession

import rollview

pytestmark = pytest.mark.spark

HISTORIES = 1000
BATCHES = 20


class Batch:
    """One warehouse over one lake of histories."""

    def __init__(self, spark: SparkSession, folder: Path, seed: int) -> None:
        self.seed, self.random = seed, Random(seed)
        self.histories = Histories(spark, folder / "lake", HISTORIES, seed)
        self.warehouse: Any = rollview.open(folder / "wh", spark)
        self.warehouse.add_source("lake", delta=folder / "lake")
        for name, sql in VIEWS.items():
            options = {"policy": "incremental", "step_rows": self.random.choice([400, 100_000])}
            buckets = {"buckets": 2} if name in ("pairs", "totals") else {}
            self.warehouse.create(name, sql, **options, **buckets)
        self.states = self.begun = 0

    def begin_again(self, seed: int) -> None:
        """New histories in the same tables: everything is replaced, and the views follow."""
        self.seed, self.random = seed, Random(seed)
        self.histories.random.seed(seed)
        for table in ("sales", "cust", "city"):
            self.histories.commit(table, "overwrite")
        self.warehouse.refresh()
        self.begun = self.histories.csn
        self.histories.forget(self.begun)

    def play(self, rounds: int) -> None:
        """Commits, refreshes of some views to random times, folds; then all views to now."""
        for _ in range(rounds):
            for _ in range(self.random.randint(1, 3)):
                self.histories.commit(
                    self.random.choice(["sales", "sales", "cust", "city"]),
                    self.random.choice(KINDS),
                )
            assert self.warehouse.capture().csn == self.histories.csn
            for view in self.random.sample(sorted(VIEWS), 3):
                mark = self.warehouse.status(view).high_water_mark
                to = self.random.randint(min(mark, self.histories.csn), self.histories.csn)
                self.warehouse.refresh(view, to=to)
                self.check(view, to)
            self.warehouse.fold(self.random.choice(sorted(VIEWS)))
        self.warehouse.refresh()
        for view in VIEWS:
            self.check(view, self.histories.csn)
            oldest = max(self.warehouse.status(view).oldest, self.begun)
            self.check(view, self.random.randint(oldest, self.histories.csn))

    def check(self, view: str, csn: int) -> None:
        """All histories of a view at a time."""
        have = self.warehouse.table(view, as_of=csn)
        wrong = self.histories.wrong(view, csn, have)
        assert wrong is None, f"seed {self.seed}: {wrong}"
        self.states += HISTORIES


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("histories")


@pytest.mark.slow
def test_a_thousand_histories(spark: SparkSession, folder: Path) -> None:
    batch = Batch(spark, folder, seed=1)
    batch.play(rounds=1)
    assert batch.states >= 10 * HISTORIES
    batch.warehouse.close()


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
def test_many_thousand_histories(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batches = BATCHES * int(os.environ.get("ROLLVIEW_EXAMPLES", "1"))
    first = int(os.environ.get("ROLLVIEW_SEED", "100"))
    batch = Batch(spark, folder, first)
    for number in range(batches):
        seed = first + number
        said(capsys, f"batch {number + 1} of {batches}, seed {seed}")
        if number:
            batch.begin_again(seed)
        batch.play(rounds=3)
    said(capsys, f"{batches * HISTORIES} histories, {batch.states} states compared, none differs")
    batch.warehouse.close()


def said(capsys: pytest.CaptureFixture[str], line: str) -> None:
    with capsys.disabled():
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
