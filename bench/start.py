"""Session start: from nothing to a refreshed view, in processes of their own.

What a command line pays before it does anything: loading rollview, starting Spark, and the first refresh in a cold JVM.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench import files, star
from bench.kept import built
from bench.measure import Run, Runner, Samples
from bench.star import Batch

COLD = """
import json, sys, time
t0 = time.perf_counter()
import rollview
t1 = time.perf_counter()
warehouse = rollview.open(sys.argv[1], master="local[2]")
status = warehouse.status()
t2 = time.perf_counter()
warehouse.spark
t3 = time.perf_counter()
report = warehouse.refresh("select_join")
t4 = time.perf_counter()
print(json.dumps([t1 - t0, t2 - t1, t3 - t2, t4 - t3]))
"""
PARTS = ("import", "open and status", "session", "first refresh")


def measured(runner: Runner, work: Path, rounds: int = 3) -> list[dict[str, Any]]:
    """Each round a fresh process refreshes a batch of 1,000 changes."""
    plan = [Batch(1_000)] * rounds
    lake = files.Copy(star.history(runner.spark, 1_000_000, False, plan), work / "lake")
    built(runner, work / "built", lake.path, star.VIEWS)
    samples = {part: Samples() for part in (*PARTS, "nothing new, whole process")}
    for _ in range(rounds):
        lake.reveal()
        for part, seconds in zip(PARTS, _cold(work / "built"), strict=True):
            samples[part].runs.append(Run(seconds))
        samples["nothing new, whole process"].runs.append(Run(sum(_cold(work / "built"))))
    return [{"case": part, "seconds": s.summary()} for part, s in samples.items()]


def _cold(warehouse: Path) -> list[float]:
    done = subprocess.run([sys.executable, "-c", COLD, str(warehouse)],
                          check=True, capture_output=True, text=True)  # fmt: skip
    return [float(s) for s in json.loads(done.stdout.splitlines()[-1])]
