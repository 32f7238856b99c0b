"""Random views on Spark: 300 of them, each refreshed six times to random times, against both recomputes.

They come in lakes of 30, each with a history of its own, so that processes can share the work (`make test-all`). A
failure names the seed of the lake and the view.
"""

from __future__ import annotations

import os
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


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("number", range(LAKES))
def test_random_views_on_spark(spark: SparkSession, tmp_path: Path, number: int) -> None:
    wrong: dict[str, str] = {}
    examples = int(os.environ.get("ROLLVIEW_EXAMPLES", "1"))
    for lake in range(number, LAKES * examples, LAKES):
        seed = int(os.environ.get("ROLLVIEW_SEED", "1")) + 1000 * lake
        found = played(spark, tmp_path / str(seed), seed)
        wrong |= {f"lake of seed {seed}, {name}": what for name, what in found.items()}
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
