"""Random views on Spark: 300 of them, each refreshed six times to random times, against both recomputes.

They come in lakes of 30, each with a history of its own. A failure names the seed of the lake and the view.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random

import pytest
from golden.history import history
from golden.on_spark import OnSpark, viewed
from golden.play import defined
from golden.random_views import POOLS, TABLES, Generator, accepted
from pyspark.sql import SparkSession

from rollview.errors import ViewRefused

pytestmark = [pytest.mark.spark, pytest.mark.slow]

LAKES, VIEWS, REFRESHES = 10, 30, 6


def some_views(seed: int, count: int) -> dict[str, str]:
    """The first views from a seed on that are maintained."""
    features, found = accepted(), {}
    while len(found) < count:
        sql = Generator(Random(seed), features).view()
        try:
            defined(TABLES, [("v", sql)])
            found[f"v{seed}"] = sql
        except ViewRefused:
            pass
        seed += 1
    return found


@pytest.mark.timeout(6 * 3600)
def test_random_views_on_spark(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = int(os.environ.get("ROLLVIEW_SEED", "1"))
    wrong: dict[str, str] = {}
    for number in range(LAKES * int(os.environ.get("ROLLVIEW_EXAMPLES", "1"))):
        seed = first + 1000 * number
        with capsys.disabled():
            sys.stdout.write(f"lake {number + 1}, seed {seed}, {len(wrong)} wrong so far\n")
            sys.stdout.flush()
        wrong |= {
            f"lake of seed {seed}, {k}": v
            for k, v in played(spark, tmp_path / str(seed), seed).items()
        }
    assert not wrong, "\n\n".join(f"{name}: {what}" for name, what in wrong.items())


def played(spark: SparkSession, folder: Path, seed: int) -> dict[str, str]:
    """What is wrong in one lake."""
    views = some_views(seed, VIEWS)
    commits = history(Random(seed), TABLES, 2 * REFRESHES + 3, POOLS, most=6)
    place = OnSpark(spark, folder, TABLES, seed)
    for changes in commits[:3]:
        place.commit(changes)
    wrong = place.create(viewed(name, [("v", sql)]) for name, sql in views.items())
    for n in range(REFRESHES):
        for changes in commits[3 + 2 * n : 5 + 2 * n]:
            place.commit(changes)
        wrong |= place.refresh(last=n == REFRESHES - 1)
    place.warehouse.close()
    return wrong
