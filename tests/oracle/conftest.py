"""What the oracle suites share: one Spark session, a count of its jobs, and folders that are never reused."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from spark_session import small_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """rollview's own session, small; it goes with the process, as other tests may share it."""
    return small_session(tmp_path_factory.mktemp("spark-warehouse"))


@pytest.fixture(scope="session")
def jobs(spark: SparkSession) -> Callable[[], int]:
    """How many Spark jobs the session has started so far, whoever asked for them."""
    scheduler = spark._jsc.sc().dagScheduler()
    return lambda: int(scheduler.numTotalJobs())
