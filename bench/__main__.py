"""`make bench`: the star, refresh against a full recompute, alternating in one run.

For each view and batch size: seconds of (a) a full recompute by Spark that overwrites a stored Delta Lake table and
(b) rollview's refresh, medians of alternating repetitions after a warm-up; (c) what a reader pays. Prints a table and
writes bench/results/star.json with the machine named. Sizes by --rows and --batches.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import rollview
from bench import star
from rollview.spark.session import make_session

VIEWS = {"select_join": star.SELECT_JOIN, "aggregate": star.AGGREGATE}


def seconds(work: Callable[[], Any]) -> float:
    """How long the work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def recompute(spark: SparkSession, lake: Path, sql: str, target: Path) -> None:
    """A full recompute as a user would write it."""
    for name in ("sales", "customer", "product"):
        spark.read.format("delta").load(str(lake / name)).createOrReplaceTempView(f"b_{name}")
    plain = sql.replace("lake.", "b_")
    spark.sql(plain).write.format("delta").mode("overwrite").save(str(target))


def measure(
    spark: SparkSession, rows: int, batches: list[int], repeat: int
) -> list[dict[str, Any]]:
    """All cells for one size of the star."""
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        lake, changes = Path(folder) / "lake", None
        star.make(spark, lake, rows)
        changes = star.Changes(spark, lake, rows)
        wh = rollview.open(Path(folder) / "warehouse", spark)
        wh.add_source("lake", delta=str(lake))
        for name, sql in VIEWS.items():
            wh.create(name, sql, policy="incremental")
        for batch in batches:
            times: dict[tuple[str, str], list[float]] = {}
            jobs: dict[str, int] = {}
            for turn in range(repeat + 1):
                changes.commit(batch)
                wh.capture()
                for name, sql in VIEWS.items():
                    full = seconds(
                        lambda s=sql, n=name: recompute(spark, lake, s, Path(folder) / n)
                    )
                    started = time.perf_counter()
                    jobs[name] = wh.refresh(name).jobs
                    incremental = time.perf_counter() - started
                    if turn:  # the first turn warms both up
                        times.setdefault((name, "full"), []).append(full)
                        times.setdefault((name, "refresh"), []).append(incremental)
            for name in VIEWS:
                full, refresh = (statistics.median(times[name, k]) for k in ("full", "refresh"))
                nothing = statistics.median(seconds(lambda n=name: wh.refresh(n)) for _ in range(3))
                cells.append({"rows": rows, "batch": batch, "view": name, "full": full,
                              "refresh": refresh, "ratio": full / refresh, "jobs": jobs[name],
                              "nothing_new": nothing, "right": wh.verify(name).ok})  # fmt: skip
        wh.close()
    return cells


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--batches", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--repeat", type=int, default=5)
    chosen = parser.parse_args()
    spark = make_session({"spark.driver.memory": "8g"})
    cells = [c for rows in chosen.rows for c in measure(spark, rows, chosen.batches, chosen.repeat)]
    table = Table(
        "rows", "batch", "view", "full s", "refresh s", "ratio", "jobs", "nothing new s", "right"
    )
    for c in cells:
        table.add_row(f"{c['rows']:,}", f"{c['batch']:,}", c["view"], f"{c['full']:.2f}",
                      f"{c['refresh']:.2f}", f"{c['ratio']:.1f}", str(c["jobs"]),
                      f"{c['nothing_new']:.3f}", "yes" if c["right"] else "NO")  # fmt: skip
    Console().print(table)
    machine = {"cores": os.cpu_count(), "processor": platform.machine(), "python": platform.python_version(),
               "spark": spark.version, "at": time.strftime("%Y-%m-%d")}  # fmt: skip
    target = Path(__file__).parent / "results" / "star.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps({"machine": machine, "cells": cells}, indent=1) + "\n")
    if not all(c["right"] for c in cells):
        raise SystemExit("a view differs from its recompute")


if __name__ == "__main__":
    main()
