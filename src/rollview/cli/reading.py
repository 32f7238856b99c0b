"""Reading views: rows, answers, changes, and whether a view is right. Needs no lock, and makes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from rich.text import Text

from rollview.cli.place import Place, opened, pass_place, place_options
from rollview.cli.printing import (
    BAD,
    GOOD,
    counted,
    json_option,
    print_json,
    say,
    stdout,
    table,
)
from rollview.cli.processes import named, views_argument
from rollview.cli.rows import print_rows, rows_json
from rollview.warehouse import Warehouse

if TYPE_CHECKING:
    from rollview.spark.verify import VerifyReport

as_of_option = click.option("--as-of", metavar="TIME",
                            help='A CSN, or a moment such as "2026-11-15 17:00" (UTC).')  # fmt: skip
limit_option = click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True,
                            help="How many rows; 0 for all.")  # fmt: skip


@click.command()
@click.argument("view")
@as_of_option
@limit_option
@json_option
@place_options()
@pass_place
def show(place: Place, view: str, as_of: str | None, limit: int, as_json: bool) -> None:
    """Print rows of a view, as it is shown or as of another time.

    The view does not move. JSON: `columns`, `rows`, and `more` if --limit left some out. Decimals are strings.

    \b
    Example:
      rollview show totals --as-of 42 --limit 5
    """
    with opened(place, spark=True) as wh:
        frame = wh.table(view, as_of)
        if as_json:
            print_json({"view": view, **rows_json(frame, limit)})
        else:
            print_rows(frame, limit)


@click.command()
@click.argument("sql")
@as_of_option
@limit_option
@json_option
@place_options()
@pass_place
def query(place: Place, sql: str, as_of: str | None, limit: int, as_json: bool) -> None:
    """Answer a SELECT over views and tables, all of them read as of one time.

    The time is --as-of, or the earliest view time among the views that it names.

    \b
    Example:
      rollview query "SELECT region, total FROM totals WHERE total > 1000"
    """
    with opened(place, spark=True) as wh:
        frame = wh.query(sql, as_of)
        if as_json:
            print_json(rows_json(frame, limit))
        else:
            print_rows(frame, limit)


@click.command()
@click.argument("view")
@click.option("--from", "lo", metavar="TIME", help="After this time; else from the oldest kept on.")
@click.option(
    "--to", "hi", metavar="TIME", help="Up to and including this time; else all there is."
)
@limit_option
@json_option
@place_options()
@pass_place
def changes(
    place: Place, view: str, lo: str | None, hi: str | None, limit: int, as_json: bool
) -> None:
    """Print the changes of a view between two times.

    For those who keep a copy of their own: everything after --from, up to and including --to.
    _stamp is the CSN of the transaction that made the change; _count is +n for rows that came, -n for rows that
    went.

    \b
    Example:
      rollview changes totals --from 40 --to 42
    """
    with opened(place, spark=True) as wh:
        start = lo if lo is not None else _oldest(wh, view)
        frame = wh.changes(view, start, hi).orderBy("_stamp", "_count")
        if as_json:
            print_json({"view": view, **rows_json(frame, limit)})
        else:
            print_rows(frame, limit)


def _oldest(wh: Warehouse, view: str) -> int:
    status = wh.status(view)
    assert not isinstance(status, list), "one view was named"
    return status.oldest


@click.command()
@views_argument
@json_option
@place_options()
@click.pass_context
def verify(ctx: click.Context, views: tuple[str, ...], as_json: bool) -> None:
    """Compare views, as they are shown, with a recompute at the same time.

    As bags of rows, duplicates included. Exit code 1 if a view differs.

    \b
    Example:
      rollview verify
    """
    reports = []
    place = ctx.ensure_object(Place)
    with opened(place, spark=True) as wh:
        for view in named(wh, views):
            place.note(f"recomputing {view} …")
            reports.append(wh.verify(view))
    if as_json:
        print_json(reports)
    else:
        print_verified(reports)
    if not all(r.ok for r in reports):
        ctx.exit(1)


def print_verified(reports: Sequence[VerifyReport]) -> None:
    """Which views are right, and examples of rows where one is not."""
    shown = table(("view", "shows", "missing rows", "extra rows", "result"),
                  ("shows", "missing rows", "extra rows"))  # fmt: skip
    for r in reports:
        result = Text("equal to a recompute", GOOD) if r.ok else Text("DIFFERS", f"bold {BAD}")
        shown.add_row(Text(r.view), str(r.view_time), str(r.missing), str(r.extra), result)
    stdout().print(shown)
    for r in reports:
        for kind, row in r.examples:
            say(f"{r.view}, {kind}: {row}", BAD)
        if not r.ok:
            say(f"{r.view} differs in {counted(r.missing + r.extra, 'row')}; "
                f"rollview refresh --full {r.view} recomputes it. Please report this as a bug.")  # fmt: skip
