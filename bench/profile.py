"""Where the time of one refresh goes: a timeline of rollview's parts, of calls into the JVM and of Spark jobs.

The parts are timed by wrapping the functions that do them; times of nested parts are also in their parents. Jobs
come from Spark's own status store, so that the gaps between them (planning, listing, committing) can be seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrameReader, SparkSession
from pyspark.sql.readwriter import DataFrameWriter
from rich.console import Group
from rich.table import Table

import rollview
from bench import files, star
from bench.kept import built
from bench.measure import Runner
from bench.star import Batch
from rollview import capture, propagate, refresh
from rollview.ledger import store
from rollview.sources.delta_lake import read
from rollview.spark import evaluate, rolled

PARTS: list[tuple[str, Any, str]] = [
    ("refresh", refresh, "_refresh"),
    ("estimate", refresh, "estimated"),
    ("targets", propagate, "_targets"),
    ("plan the step", propagate, "plan_step"),
    ("run the step", propagate, "run_step"),
    ("intent", store.Ledger, "begin"),
    ("write the tree", propagate, "step_query"),
    ("build DataFrames", propagate, "evaluated"),
    ("changes of a table", read, "changes"),
    ("table as of a time", read, "as_of"),
    ("Spark: analyse SQL", evaluate, "bound"),
    ("Spark: load", DataFrameReader, "load"),
    ("append", rolled.RolledTable, "append"),
    ("Spark: write Parquet", DataFrameWriter, "parquet"),
    ("measure the step", rolled, "measured"),
    ("history", store.Ledger, "add_refresh"),
]


@dataclass(slots=True)
class Span:
    """A part: when it began after the start, how long it took, and how deep it is nested."""

    what: str
    start: float
    seconds: float = 0.0
    depth: int = 0


@dataclass(slots=True)
class Timeline:
    """What was seen during one piece of work."""

    seconds: float = 0.0
    spans: list[Span] = field(default_factory=list)
    jobs: list[Span] = field(default_factory=list)
    calls: int = 0
    call_seconds: float = 0.0
    depth: int = 0


def profiled(spark: SparkSession, work: Callable[[], Any]) -> Timeline:
    """One run of the work, seen from inside."""
    line = Timeline()
    seen = {int(j.jobId()) for j in _jobs(spark)}
    with _wrapped(line, time.perf_counter()), _calls_counted(spark, line):
        wall, started = time.time(), time.perf_counter()
        work()
        line.seconds = time.perf_counter() - started
    time.sleep(0.5)  # the status store hears of the end of a job a little later
    for job in sorted(_jobs(spark), key=lambda j: int(j.jobId())):
        if int(job.jobId()) not in seen:
            begin, end = (
                t.get().getTime() / 1000 for t in (job.submissionTime(), job.completionTime())
            )
            line.jobs.append(
                Span(f"job {job.numTasks()} tasks: {job.name()}", begin - wall, end - begin)
            )
    return line


def _jobs(spark: SparkSession) -> list[Any]:
    found = spark._jsc.sc().statusStore().jobsList(None)
    return [found.apply(k) for k in range(found.size())]


@contextmanager
def _calls_counted(spark: SparkSession, line: Timeline) -> Iterator[None]:
    gateway: Any = spark.sparkContext._gateway
    client = gateway._gateway_client
    send = client.send_command

    def counted(*args: Any, **more: Any) -> Any:
        started = time.perf_counter()
        try:
            return send(*args, **more)
        finally:
            line.calls += 1
            line.call_seconds += time.perf_counter() - started

    client.send_command = counted
    try:
        yield
    finally:
        del client.send_command


@contextmanager
def _wrapped(line: Timeline, start: float) -> Iterator[None]:
    undo = []
    capture_parts: list[tuple[str, Any, str]] = [("capture", capture, "capture")]
    for what, place, name in [*capture_parts, *PARTS]:
        if not hasattr(place, name):
            continue  # the engine has changed: what is left is still true
        old = getattr(place, name)
        setattr(place, name, _timed(line, start, what, old))
        undo.append((place, name, old))
    try:
        yield
    finally:
        for place, name, old in undo:
            setattr(place, name, old)


def _timed(line: Timeline, start: float, what: str, old: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*args: Any, **more: Any) -> Any:
        span = Span(what, time.perf_counter() - start, depth=line.depth)
        line.spans.append(span)
        line.depth += 1
        try:
            return old(*args, **more)
        finally:
            line.depth -= 1
            span.seconds = time.perf_counter() - start - span.start

    return timed


def shown(cells: list[dict[str, Any]]) -> Group:
    """The timelines as tables."""
    tables = []
    for c in cells:
        title = (
            f"{c['view']}, {c['rows']:,} rows, {c['changes']:,} changes: {c['milliseconds']} ms, "
        )
        title += f"{c['calls']} calls into the JVM ({c['call_milliseconds']} ms)"
        tables.append(Table("at ms", "took ms", "what", title=title))
        for span in c["spans"]:
            tables[-1].add_row(
                str(span["at"]), str(span["took"]), "  " * span["depth"] + span["what"]
            )
    return Group(*tables)


def _plain(line: Timeline) -> dict[str, Any]:
    spans = sorted([*line.spans, *line.jobs], key=lambda s: s.start)
    return {
        "milliseconds": round(1000 * line.seconds),
        "calls": line.calls,
        "call_milliseconds": round(1000 * line.call_seconds),
        "spans": [{"at": round(1000 * s.start), "took": round(1000 * s.seconds), "depth": s.depth,
                   "what": s.what} for s in spans],
    }  # fmt: skip


def measured(
    runner: Runner, work: Path, rows: int, changes: int, customers: bool, vectors: bool
) -> list[dict[str, Any]]:
    """Warm both views of the star up, then one refresh of each with its timeline."""
    plan = [Batch(changes, customers)] * 12
    lake = files.Copy(star.history(runner.spark, rows, vectors, plan), work / "lake")
    built(runner, work / "built", lake.path, star.VIEWS)
    found = []
    with rollview.open(work / "built", runner.spark) as warehouse:
        for number in range(len(plan)):
            lake.reveal()
            for view in star.VIEWS:
                if number < len(plan) - 1:
                    warehouse.refresh(view)
                else:
                    line = profiled(runner.spark, partial(warehouse.refresh, view))
                    found.append({"rows": rows, "changes": changes, "customers": customers,
                                  "vectors": vectors, "view": view, **_plain(line)})  # fmt: skip
    return found
