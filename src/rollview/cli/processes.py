"""The processes by hand: capture, propagate, apply, fold, and refresh, which is one round of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from rollview.cli.place import Place, found_project, opened, pass_place, place_options
from rollview.cli.printing import (
    BAD,
    MIDDLING,
    counted,
    json_option,
    plain,
    print_json,
    say,
    stdout,
    table,
)
from rollview.cli.project import prepare
from rollview.warehouse import Warehouse

if TYPE_CHECKING:
    from rollview.refresh import RefreshReport

views_argument = click.argument("views", metavar="[VIEW]...", nargs=-1)
to_option = click.option("--to", metavar="TIME",
                         help='A CSN, or a moment such as "2026-11-15 17:00" (UTC); else now.')  # fmt: skip


def named(wh: Warehouse, views: Sequence[str]) -> list[str]:
    """The views that were named, or all of them."""
    return [wh.view(v).name for v in views] or [v.name for v in wh.ledger.views()]


@click.command()
@json_option
@place_options()
@click.pass_context
def capture(ctx: click.Context, as_json: bool) -> None:
    """Read what the sources committed since the last time. Runs no Spark job.

    Exit code 4 if a table cannot be captured any further; the others are.

    \b
    Example:
      rollview capture
    """
    with opened(ctx.ensure_object(Place), create=True) as wh:
        report = wh.capture()
    if as_json:
        print_json(report)
    else:
        say(f"{counted(report.commits, 'new transaction')}; the newest is {report.csn}")
        for problem in report.problems:
            say(f"stopped: {problem}", BAD)
    if report.problems:
        ctx.exit(4)


@click.command()
@views_argument
@to_option
@json_option
@place_options()
@pass_place
def propagate(place: Place, views: tuple[str, ...], to: str | None, as_json: bool) -> None:
    """Extend view deltas up to a time; what the views show stays as it is.

    \b
    Example:
      rollview propagate totals
    """
    reports = []
    with opened(place, spark=True) as wh:
        for view in named(wh, views):
            report = wh.propagate(view, to)
            reports.append({"view": view, **plain(report)})
            if not as_json:
                rows = sum(s.rows for s in report.steps)
                say(f"{view}: high-water mark {report.reached}; {counted(len(report.steps), 'step')}, "
                    f"{counted(rows, 'row')} written")  # fmt: skip
    if as_json:
        print_json(reports)


@click.command()
@views_argument
@to_option
@json_option
@place_options()
@pass_place
def apply(place: Place, views: tuple[str, ...], to: str | None, as_json: bool) -> None:
    """Roll views to any time that is kept, forward or back.

    Without --to, each to its high-water mark. Several views are rolled together: all of them, or none.

    \b
    Example:
      rollview apply totals --to 42
      rollview apply totals --to "2026-11-15 17:00"
    """
    with opened(place) as wh:
        wh.write()
        with wh.ledger.atomic():
            reports = [wh.apply(view, to) for view in named(wh, views)]
    if as_json:
        print_json(reports)
        return
    for report in reports:
        before = "" if report.before in (None, report.view_time) else f" (before: {report.before})"
        say(f"{report.view} shows {report.view_time}{before}")


@click.command()
@views_argument
@to_option
@json_option
@place_options()
@pass_place
def fold(place: Place, views: tuple[str, ...], to: str | None, as_json: bool) -> None:
    """Work the log of changes into the stored rows, and clean up.

    History past a view's `keep` goes. Never needed for a right answer; it makes reading cheaper. `rollview run` does
    it when it pays.

    \b
    Example:
      rollview fold totals
    """
    reports = []
    with opened(place, spark=True) as wh:
        for view in named(wh, views):
            reports.append(wh.fold(view, to))
            if not as_json:
                done = reports[-1]
                say(f"{view}: {counted(done.buckets, 'bucket')} folded up to {done.to}"
                    if done.buckets else f"{view}: nothing to fold")  # fmt: skip
    if as_json:
        print_json(reports)


@click.command()
@views_argument
@to_option
@click.option("--full", is_flag=True, help="Recompute instead of working in the changes.")
@json_option
@place_options()
@pass_place
def refresh(
    place: Place, views: tuple[str, ...], to: str | None, full: bool, as_json: bool
) -> None:
    """Bring all views, or those named, up to date, at one common time.

    First creates the sources of rollview.toml and the views of views/*.sql that do not exist yet. JSON: `sources`
    and `created`, what was made; `views`, one report for each view.

    \b
    Example:
      rollview refresh
      rollview refresh totals --to "2026-11-15 17:00"
    """
    with opened(place, create=True, spark=True) as wh:
        made = prepare(wh, found_project(place), views, place.note)
        reports: list[Any] = wh.refresh(list(views) or None, to=to, full=full)
    if as_json:
        print_json({"sources": made.sources, "created": made.created, "views": reports})
    elif not reports:
        say('There are no views yet: write one in views/*.sql, or rollview sql "CREATE …"')
    else:
        print_refreshes(reports)


def print_refreshes(reports: Sequence[RefreshReport]) -> None:
    """What refreshes did, view by view."""
    numbers = ("shows", "rows", "jobs", "seconds")
    shown = table(("view", "how, and why", *numbers), numbers, ("view",))
    for r in reports:
        how = Text(r.technique, MIDDLING if r.technique == "COMPLETE_RECOMPUTE" else "")
        shown.add_row(Text(r.view), Text.assemble(how, "\n", (r.reason, "dim")), str(r.view_time),
                      f"{r.rows:,}", str(r.jobs), f"{r.seconds:.2f}")  # fmt: skip
    stdout().print(shown)
