"""What most of these tests start from: a shop on a server, a warehouse that captures it, and one Spark session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from shop import Shop
from spark_session import small_session

from rollview.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """rollview's own session, small; it goes with the process, as other tests may share it."""
    return small_session(tmp_path_factory.mktemp("spark-warehouse"))


@pytest.fixture
def shop(database):
    with Shop(database()) as shop:
        yield shop


@pytest.fixture
def wh(shop, tmp_path: Path):
    with Warehouse(tmp_path / "wh") as wh:
        wh.add_source("shop", postgres=shop.url, mode="live")
        yield wh
