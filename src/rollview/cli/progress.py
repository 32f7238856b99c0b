"""Progress on stderr, only if somebody watches it on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rollview.cli.printing import stderr


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


@contextmanager
def starting_spark() -> Iterator[None]:
    """Says that Spark is being started, which takes some seconds."""
    console = stderr()
    if not console.is_terminal:
        yield
        return
    with console.status("starting Spark …"):
        yield
