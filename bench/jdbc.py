"""What a user of Spark would do instead: read the tables by JDBC and recompute; nothing of rollview is used here.

The driver is fetched like the Delta Lake jars (rollview/spark/jars.py), checked against its sum, and kept in the cache
of the benchmarks. The large table is read in ranges of its key, by all cores, as a good engineer would.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from bench import files
from rollview.spark import jars

DRIVER = ("org.postgresql", "postgresql", "42.7.7")
SUM = "157963d60ae66d607e09466e8c0cdf8087e9cb20d0159899ffca96bca2528460"
PARTS, FETCH = 8, 10_000


def driver() -> Path:
    """The driver's jar; fetched once."""
    _, name, version = DRIVER
    jar = files.CACHE / f"{name}-{version}.jar"
    if jars.sha256(jar) != SUM:
        files.CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=files.CACHE) as scratch:
            report = jars.retrieve(Path(scratch), [DRIVER])
            if jars.sha256(Path(scratch) / jar.name) != SUM:
                raise SystemExit(f"the JDBC driver {version} cannot be fetched:\n{report}")
            os.replace(Path(scratch) / jar.name, jar)
    return jar


class Recompute:
    """A query over tables of a server, each time from nothing."""

    def __init__(self, spark: SparkSession, url: str, password: str, sql: str) -> None:
        self.spark, self.url, self.sql = spark, url, sql
        self.properties = {
            "user": "rv", "password": password, "driver": "org.postgresql.Driver", "fetchsize": str(FETCH),
        }  # fmt: skip

    def overwrite(self, ranges: dict[str, tuple[str, int]], target: Path) -> None:
        """Recompute and store; `ranges`: table -> its key and about how far that goes (0: read in one piece)."""
        for table, (key, largest) in ranges.items():
            self._read(table, key, largest).createOrReplaceTempView(f"j_{table}")
        rows = self.spark.sql(self.sql.replace("shop.", "j_"))
        rows.write.format("delta").mode("overwrite").save(str(target))

    def _read(self, table: str, key: str, largest: int) -> DataFrame:
        if not largest:
            return self.spark.read.jdbc(self.url, table, properties=self.properties)
        return self.spark.read.jdbc(
            self.url, table, column=key, lowerBound=1, upperBound=largest, numPartitions=PARTS,
            properties=self.properties,
        )  # fmt: skip
