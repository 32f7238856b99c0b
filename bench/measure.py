"""The common runner: variants of the same work, alternating in one process, and what each run took.

M1  Variants alternate: each round runs every variant once, in an order that rotates, so that a JVM that gets warmer
    or a machine that gets busier touches all of them alike.
M2  Seconds are wall-clock time; a run also says how many Spark jobs it started, how many rows their tasks and the
    driver read from files and wrote to them, and what share of the cores other processes used meanwhile. Nothing is
    thrown away: the median, the extremes and the busiest run are all reported.
M3  Before a run the garbage of the runs before it is collected, what they wrote is brought to the disk (a commit would
    else wait for the gigabytes of a recompute), and the machine is given some time to become quiet.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from bench import arrow_rows
from rollview.spark.session import make_session

Work = Callable[[], Any]
QUIET = 0.2
"""Others use less than this share of the cores: the machine is quiet."""
PATIENCE_SECONDS = 30.0
"""How long a whole run of benchmarks waits for quiet, in sum."""


@dataclass(slots=True)
class Run:
    """One run of one piece of work; the seconds are known when it ended."""

    seconds: float = 0.0
    jobs: int = 0
    rows_read: int = 0
    rows_written: int = 0
    other_cpu: float = 0.0
    result: Any = None


@dataclass(slots=True)
class Samples:
    """The runs of one variant."""

    runs: list[Run] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median of the seconds."""
        return statistics.median(run.seconds for run in self.runs)

    def summary(self) -> dict[str, Any]:
        """What goes into the results."""
        seconds = [run.seconds for run in self.runs]
        return {
            "median": round(self.median, 4),
            "min": round(min(seconds), 4),
            "max": round(max(seconds), 4),
            "runs": len(seconds),
            **{
                name: round(statistics.median(getattr(run, name) for run in self.runs))
                for name in ("jobs", "rows_read", "rows_written")
            },
            "other_cpu": round(max(run.other_cpu for run in self.runs), 2),
        }


class Runner:
    """Measures work in one Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._scheduler = spark._jsc.sc().dagScheduler()
        self._arrow = arrow_rows.count()
        self.patience = PATIENCE_SECONDS

    def jobs(self) -> int:
        """How many Spark jobs the session has started so far."""
        return int(self._scheduler.numTotalJobs())

    @contextmanager
    def run(self) -> Iterator[Run]:
        """Measures what happens inside (M2)."""
        run, jobs, cpu = Run(), self.jobs(), cpu_seconds()
        stage = int(self._scheduler.nextStageId())
        near = replace(self._arrow)
        started = time.perf_counter()
        yield run
        run.seconds = time.perf_counter() - started
        busy, own = (now - then for now, then in zip(cpu_seconds(), cpu, strict=True))
        run.jobs = self.jobs() - jobs
        run.rows_read, run.rows_written = self._moved(stage)
        run.rows_read += self._arrow.read - near.read
        run.rows_written += self._arrow.written - near.written
        run.other_cpu = max(0.0, busy - own) / (run.seconds * (os.cpu_count() or 1))

    def _moved(self, first: int) -> tuple[int, int]:
        """The rows that the tasks of all stages from the first on read and wrote."""
        context = self.spark._jsc.sc()
        context.listenerBus().waitUntilEmpty()
        read = written = 0
        for stage in range(first, int(self._scheduler.nextStageId())):
            try:
                data = context.statusStore().lastStageAttempt(stage)
            except Py4JJavaError:  # a stage that was skipped
                continue
            read += data.inputRecords()
            written += data.outputRecords()
        return read, written

    def settle(self) -> None:
        """Wait while others use the cores, as long as there is patience left (M3)."""
        while self.patience > 0:
            began, cpu = time.perf_counter(), cpu_seconds()
            time.sleep(0.05)
            busy, own = (now - then for now, then in zip(cpu_seconds(), cpu, strict=True))
            seconds = time.perf_counter() - began
            if busy - own < QUIET * seconds * (os.cpu_count() or 1):
                return
            self.patience -= seconds

    def quieten(self) -> None:
        """No garbage, nothing to write, and others at rest (M3)."""
        self.spark._jvm.System.gc()
        os.sync()
        self.settle()

    def once(self, work: Work) -> Run:
        """One run of the work, with its result."""
        self.quieten()
        with self.run() as run:
            run.result = work()
        return run

    def round(self, number: int, variants: Mapping[str, Work]) -> dict[str, Run]:
        """Every variant once, in an order that rotates with the round (M1)."""
        return {name: self.once(variants[name]) for name in self._in_turn(number, variants)}

    @staticmethod
    def _in_turn(number: int, variants: Mapping[str, Work]) -> list[str]:
        names = list(variants)
        turn = number % len(names)
        return names[turn:] + names[:turn]

    def alternating(
        self, variants: Mapping[str, Work], rounds: int, warm: int = 1
    ) -> dict[str, Samples]:
        """`rounds` runs of every variant after `warm` unmeasured ones; for work that writes nothing.

        Garbage and other processes are waited for once, before the first run: they are what takes long here.
        """
        samples = {name: Samples() for name in variants}
        self.quieten()
        for number in range(warm + rounds):
            for name in self._in_turn(number, variants):
                with self.run() as run:
                    run.result = variants[name]()
                if number >= warm:
                    samples[name].runs.append(run)
        return samples


def cpu_seconds() -> tuple[float, float]:
    """CPU time used by the whole machine, and by this process and its children, so far."""
    ticks = os.sysconf("SC_CLK_TCK")
    first = Path("/proc/stat")
    if not first.exists():  # not Linux: nothing is known of the others
        return 0.0, 0.0
    user, nice, system, _, _, irq, softirq, *_ = map(
        int, first.read_text().split("\n")[0].split()[1:]
    )
    own = sum(_ticks(pid) for pid in _family(os.getpid()))
    return (user + nice + system + irq + softirq) / ticks, own / ticks


def _family(pid: int) -> list[int]:
    """A process and all that it started."""
    found = [pid]
    try:
        children = [task.read_text() for task in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:  # it has just ended
        return found
    for child in " ".join(children).split():
        found += _family(int(child))
    return found


def _ticks(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # it has just ended
        return 0
    return sum(map(int, text.rpartition(")")[2].split()[11:15]))


def fingerprint(rows: Any) -> tuple[int, str, str]:
    """A bag of rows as its size and two sums of row hashes: equal bags have equal fingerprints."""
    columns = ", ".join(f"`{name}`" for name in sorted(rows.columns))
    sums = [
        f"cast(sum(cast(xxhash64({seed}, {columns}) as decimal(38, 0))) as string)"
        for seed in (1, 2)
    ]
    count, *hashes = rows.selectExpr("count(*)", *sums).first()
    return count, *hashes


def session(jars: Sequence[Path] = ()) -> SparkSession:
    """rollview's own session on two cores, with memory for the largest table; `jars`: besides rollview's own."""
    return make_session(
        {"spark.driver.memory": "8g", "spark.jars": ",".join(map(str, jars))},
        master=f"local[{min(2, os.cpu_count() or 1)}]",
    )
