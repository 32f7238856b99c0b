"""The one place where a SparkSession is made, and the settings that rollview relies on.

Each setting has its reason beside it, with seconds where they were measured.
A user's own session is taken as it is, after a check that it can read Delta Lake and that what decides results
(time zone, ANSI mode) is as rollview needs it. A master URL and any Spark setting can come from rollview.toml.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from rollview.errors import ConfigError
from rollview.spark.jars import jar_paths

RESULTS = {
    "spark.sql.session.timeZone": "UTC",  # a timestamp means the same for every reader
    "spark.sql.ansi.enabled": "true",  # overflow and bad casts raise instead of becoming NULL
}
SAFETY = {
    "spark.sql.runSQLOnFiles": "false",  # no text.`/etc/passwd`
    "spark.sql.variable.substitute": "false",  # no ${env:SECRET} inside literals
}
DOORS = {
    "spark.ui.enabled": "false",  # the UI has no login
    "spark.driver.host": "127.0.0.1",  # loopback only
    "spark.driver.bindAddress": "127.0.0.1",
}
DELTA_LAKE = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",  # a read of a small log 0.68 -> 0.18 s
}
SPEED = {
    "spark.sql.shuffle.partitions": "2",  # a step is small; more partitions are more tasks
    "spark.sql.adaptive.enabled": "false",  # one job less per query, no measurable loss
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",  # list steps without a job
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.hadoop.parquet.enable.summary-metadata": "false",
    "spark.sql.parquet.filterPushdown": "true",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "4g",
}

COLLECTOR = "-XX:+UseParallelGC"
"""On two cores G1 works beside the tasks: a scan of 10 million rows 0.71 -> 0.59 s. Users may choose another."""


def make_session(
    settings: Mapping[str, str] | None = None, master: str | None = None
) -> SparkSession:
    """A session with rollview's settings; `settings` win over those for speed and for open doors."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return adopt_session(active)
    wanted = {**DELTA_LAKE, **SPEED, **DOORS, **(settings or {}), **RESULTS, **SAFETY}
    wanted["spark.jars"] = ",".join([*map(str, jar_paths()), *_extra_jars(settings)])
    # Executors load PostgreSQL tables in Python: by the one that has rollview, unless somebody chose another.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("rollview").master(master or _default_master())
    for key, value in wanted.items():
        builder = builder.config(key, value)
    quiet = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
    extra = wanted.get("spark.driver.extraJavaOptions", "")
    collector = "" if "-XX:+Use" in extra else COLLECTOR
    options = " ".join(part for part in (quiet, collector, extra) if part)
    builder = builder.config("spark.driver.extraJavaOptions", options)
    logging.getLogger("py4j").setLevel(logging.ERROR)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel(wanted["spark.log.level"])
    return session


def adopt_session(session: SparkSession) -> SparkSession:
    """The user's own session, if results computed in it are what rollview promises."""
    for key, value in RESULTS.items():
        if session.conf.get(key, "") != value:
            raise ConfigError(
                f'the Spark session has {key} = "{session.conf.get(key, "")}"',
                f'rollview keeps views exact under {key} = "{value}" only',
                f'spark.conf.set("{key}", "{value}"), or let rollview make the session',
            )
    if "DeltaSparkSessionExtension" not in (session.conf.get("spark.sql.extensions", "") or ""):
        raise ConfigError(
            "the Spark session cannot read Delta Lake",
            "spark.sql.extensions does not name io.delta.sql.DeltaSparkSessionExtension",
            "build it with delta.configure_spark_with_delta_pip, or let rollview make the session",
        )
    return session


def _extra_jars(settings: Mapping[str, str] | None) -> list[str]:
    return [jar for jar in (settings or {}).get("spark.jars", "").split(",") if jar]


def _default_master() -> str:
    return os.environ.get("ROLLVIEW_MASTER", "local[*]")
