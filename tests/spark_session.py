"""The Spark session of the tests: rollview's own, small, and quick to warm up.

`make test` lets Spark interpret its plans: compiling them takes most of the time of so many small queries.
`make test-all` sets ROLLVIEW_COMPILED, and Spark compiles them, as it does for users; not for golden cases and random
views, of which there are so many. For those it sets ROLLVIEW_LONG: in an hour the JVM's second compiler pays off.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

# With the young generation that the JVM chooses, a seventh of the time of many small queries goes into collecting it.
COLLECTOR = "-XX:+UseSerialGC -Xmn600m"

# A short run does not live to see the gain from the second compiler; to check Spark's classes takes a fifth of a start.
# With one compiler the JVM keeps 48 MB for code, which Spark fills: it then sweeps and compiles again all the time.
START = (
    "-XX:ReservedCodeCacheSize=240m -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
# A lake of thirty views keeps a gigabyte alive: with 2 GB a third of a long run went into collecting the old ones.
LONG = {
    "spark.driver.memory": "6g",
    "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -Xmn2g -XX:MetaspaceSize=512m {START}",
}
SHORT = {"spark.driver.extraJavaOptions": f"{COLLECTOR} {START} -XX:TieredStopAtLevel=1"}


# By itself Spark takes pages of 32 or 64 MB, and clears them, for each aggregate, sort and broadcast of a few rows.
PAGE = "1m"


def small_session(folder: Path) -> SparkSession:
    """One for the whole run; it goes with the process."""
    from rollview.spark.session import make_session

    settings = {
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": COLLECTOR,
        "spark.buffer.pageSize": PAGE,
        # VACUUM and RESTORE start as many tasks; the default is 10,000.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
        "spark.sql.warehouse.dir": str(folder),
        **({} if "ROLLVIEW_COMPILED" in os.environ else _quick() | INTERPRETED),
    }
    return make_session(settings, master="local[2]")


def _quick() -> dict[str, str]:
    return LONG if "ROLLVIEW_LONG" in os.environ else SHORT


@contextmanager
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Queries that start inside are not compiled: for a few rows that takes longer than to run them."""
    before = {key: spark.conf.get(key) for key in INTERPRETED}
    try:
        for key, value in INTERPRETED.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, old in before.items():
            spark.conf.set(key, old)
