"""rollview run: round after round of capture, refresh, fold and clean-up, until it is told to stop.

Q1  A round brings every view to the newest transaction that was captured at its beginning: one time for all.
Q2  A view that fails does not stop the others; it is tried again later, each time after a longer wait.
Q3  SIGINT and SIGTERM end the run after the current round; a second one ends it at once.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import click

from rollview.changes import Csn
from rollview.cli.place import Place, found_project, opened, place_options
from rollview.cli.printing import counted, json_option, moment, note, plain, say
from rollview.config import seconds_of
from rollview.errors import ConfigError, RollviewError
from rollview.ledger.store import ViewRow
from rollview.warehouse import Warehouse

EVERY = "30 seconds"
LONGEST_WAIT = 3600.0


@dataclass(slots=True)
class Round:
    """What one round did."""

    started_at: datetime
    csn: Csn
    commits: int
    refreshed: list[Any] = field(default_factory=list)
    folded: list[str] = field(default_factory=list)
    problems: list[RollviewError] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    in_time: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(slots=True)
class Patience:
    """When a view that failed is tried again (Q2)."""

    every: float
    failures: dict[str, tuple[int, float]] = field(default_factory=dict)

    def due(self, view: str) -> bool:
        """Whether it may be tried now."""
        return time.monotonic() >= self.failures.get(view, (0, 0.0))[1]

    def failed(self, view: str) -> None:
        """Wait twice as long as the last time."""
        count = self.failures.get(view, (0, 0.0))[0] + 1
        wait = min(LONGEST_WAIT, self.every * 2**count)
        self.failures[view] = (count, time.monotonic() + wait)

    def worked(self, view: str) -> None:
        """Forget its failures."""
        self.failures.pop(view, None)


@click.command()
@click.option(
    "--every", metavar="DURATION", help='How often, such as "30 seconds"; else by rollview.toml.'
)
@click.option("--once", is_flag=True, help="One round, then stop; exit code 5 if a view failed.")
@json_option
@place_options()
@click.pass_context
def run(ctx: click.Context, every: str | None, once: bool, as_json: bool) -> None:
    """Keep every view up to date, round after round, until stopped.

    A round captures, refreshes, folds where that pays, and cleans up; it prints one line. A view with a target_lag
    waits for more changes as long as it is in time. Stops cleanly on Ctrl-C or SIGTERM. While it runs it is the one
    writer of the warehouse; reading goes on. JSON: one line for each round.

    \b
    Example:
      rollview run --every "5 minutes"
    """
    place = ctx.ensure_object(Place)
    pause = seconds_of(every or found_project(place).run.get("every", EVERY), "every")
    if pause <= 0:
        raise ConfigError(f'setting "every" cannot be "{every}"', hint="it must be above 0")
    patience = Patience(pause)
    with opened(place, create=True, spark=True) as wh, stopping(place) as stopped:
        wh.write()
        while True:
            done = one_round(wh, patience)
            _print_round(done, as_json)
            if once or stopped.wait(max(0.0, pause - done.seconds)):
                break
    if once and done.problems:
        ctx.exit(5)
    if not once:
        place.note("stopped; every view stays at its time")


def one_round(wh: Warehouse, patience: Patience) -> Round:
    """Capture, then refresh, fold and clean up each view (Q1, Q2)."""
    from rollview.rounds import may_wait, refresh_views
    from rollview.tables import tend

    clock = time.monotonic()
    captured = wh.capture()
    done = Round(datetime.now(timezone.utc), captured.csn, captured.commits)
    done.problems += captured.problems
    done.folded += tend(wh.ledger, lambda: wh.relations)
    due: list[str] = []
    for row in wh.ledger.views():
        (due if patience.due(row.name) else done.waiting).append(row.name)
    rows = [wh.view(name) for name in due]
    late = [r for r in rows if r.state != "ready" or r.view_time is None or r.view_time < done.csn]
    next_round = done.started_at + timedelta(seconds=patience.every)
    done.in_time = [r.name for r in late if may_wait(wh.relations, r, done.csn, next_round)]
    late = [r for r in late if r.name not in done.in_time]
    outcomes = refresh_views(wh.relations, late, done.csn, False, wh.progress) if late else {}
    for row in rows:
        try:
            outcome = outcomes.get(row.name)
            if isinstance(outcome, RollviewError):
                raise outcome
            done.refreshed += [outcome] if outcome else []
            _tend(wh, row, done)
            patience.worked(row.name)
        except RollviewError as error:
            done.problems.append(error)
            patience.failed(row.name)
    done.seconds = time.monotonic() - clock
    return done


def _tend(wh: Warehouse, row: ViewRow, done: Round) -> None:
    from rollview.apply import folds_pay

    if folds_pay(wh.ledger, row.name, wh.ledger.blocks(row.name)):
        wh.fold(row.name)
        done.folded.append(row.name)
    else:
        wh.tidy(row.name)


def _print_round(done: Round, as_json: bool) -> None:
    if as_json:
        import json

        click.echo(json.dumps(plain(done), ensure_ascii=False))
        return
    moved = [r for r in done.refreshed if r.technique != "NO_OP"]
    parts = [f"at {done.csn}", counted(done.commits, "new transaction")]
    if moved:
        rows = sum(r.rows for r in moved)
        parts.append(f"{counted(len(moved), 'view')} moved ({counted(rows, 'row')} written)")
    if done.folded:
        parts.append(f"folded {', '.join(done.folded)}")
    if done.in_time:
        parts.append(f"within their target_lag: {', '.join(done.in_time)}")
    if done.waiting:
        parts.append(f"tried again later: {', '.join(done.waiting)}")
    say(f"{moment(done.started_at)} UTC  {', '.join(parts)}, {done.seconds:.1f} s")
    for problem in done.problems:
        note(f"  {str(problem).replace(chr(10), chr(10) + '  ')}")


@dataclass(slots=True)
class Stop:
    """Whether the run was asked to stop. A plain flag: a signal may come while any lock is held."""

    asked: bool = False

    def wait(self, seconds: float) -> bool:
        """Wait that long, or until it was asked; whether it was."""
        end = time.monotonic() + seconds
        while not self.asked and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.2))
        return self.asked


@contextmanager
def stopping(place: Place) -> Iterator[Stop]:
    """What the first signal sets; the second one interrupts (Q3)."""
    stopped = Stop()

    def stop(number: int, frame: object) -> None:
        if stopped.asked:
            raise KeyboardInterrupt
        stopped.asked = True
        place.note("stopping after this round; once more stops at once")

    before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
