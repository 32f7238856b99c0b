"""Progress on stderr, only if somebody watches it on a terminal; and Spark's start, without its chatter.

Z1  What the JVM writes to stderr goes to a file without a name, unless --debug asks for it; if Spark does not start,
    the file is shown. rollview's own errors say what went wrong later.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rollview.cli.printing import note, stderr
from rollview.warehouse import Warehouse


class Bar:
    """Progress of a build or refresh: callable with (done, total, what), as Warehouse wants it."""

    def __init__(self) -> None:
        console = stderr()
        self._bars = (
            Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
                     TimeElapsedColumn(), console=console, transient=True)
            if console.is_terminal else None
        )  # fmt: skip
        self._running = False

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def __call__(self, done: int, total: int, what: str) -> None:
        """Show that `done` of `total` pieces of `what` are there."""
        if self._bars is None:
            return
        task = next((t for t in self._bars.tasks if t.description == what), None)
        if task is None:
            self._bars.add_task(what, total=total, completed=done)
        else:
            self._bars.update(task.id, total=total, completed=done)
        if not self._running:
            self._bars.start()
            self._running = True
        if all(t.finished for t in self._bars.tasks):
            self._stop()

    def _stop(self) -> None:
        if self._bars is not None and self._running:
            self._bars.stop()
            for task in self._bars.task_ids:
                self._bars.remove_task(task)
            self._running = False


def start_spark(warehouse: Warehouse, debug: bool) -> None:
    """Start the warehouse's session, and say so where somebody watches (Z1)."""
    from pyspark import SparkContext

    from rollview.spark.jars import jar_paths

    jar_paths()  # says so if it has to fetch them
    if SparkContext._active_spark_context is not None:
        _ = warehouse.spark
        return
    if stderr().is_terminal:
        note("starting Spark …")
    with nullcontext() if debug else _quiet():
        _ = warehouse.spark
    # pyspark's own handler calls the JVM from inside the signal, which its socket does not bear;
    # the JVM ends with this process anyway.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _hush() -> None:
    """Turn off what pyspark logs about refused queries and interrupted calls: rollview's error says enough."""
    from pyspark.logger import PySparkLogger

    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(lambda record: "while sending command" not in record.getMessage())


@contextmanager
def _quiet() -> Iterator[None]:
    """Processes that are started inside write their stderr to a file, which is shown if this fails (Z1)."""
    _hush()
    sys.stderr.flush()
    shown = os.dup(2)
    with tempfile.TemporaryFile() as chatter:
        try:
            os.dup2(chatter.fileno(), 2)
            yield
        except Exception:
            os.dup2(shown, 2)
            chatter.seek(0)
            click.echo(chatter.read().decode(errors="replace"), err=True)
            raise
        finally:
            os.dup2(shown, 2)
            os.close(shown)
