"""One Spark session for the contract tests, made on first use, and a count of its jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """rollview's own session, small; it goes with the process, as other tests may share it."""
    from rollview.spark.session import make_session

    settings = {
        "spark.driver.memory": "2g",
        # A short run does not live to see the gain from the second compiler.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        # VACUUM and RESTORE start as many tasks; the default is 10,000.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark-warehouse")),
    }
    return make_session(settings, master="local[2]")


@pytest.fixture(scope="session")
def jobs(spark: SparkSession) -> Callable[[], int]:
    """How many Spark jobs the session has started so far, whoever asked for them."""
    scheduler = spark._jsc.sc().dagScheduler()
    return lambda: int(scheduler.numTotalJobs())
