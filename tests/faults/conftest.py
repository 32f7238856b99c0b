"""One Spark session, and one world that is copied for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import world as worlds
from spark_session import small_session

from rollview.ledger import lock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """rollview's own session, small; it goes with the process, as other tests may share it."""
    return small_session(tmp_path_factory.mktemp("spark-warehouse"))


@pytest.fixture(scope="session")
def origin(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> worlds.World:
    """The world from which copies are taken."""
    return worlds.made(tmp_path_factory.mktemp("origin"), spark)


@pytest.fixture
def world(origin: worlds.World, tmp_path: Path) -> Iterator[worlds.World]:
    """A copy of the world with tables of its own; whatever the test holds is let go at its end."""
    yield origin.copied_with_tables(tmp_path / "world")
    lock._close_in_child()
