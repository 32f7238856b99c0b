"""Looking at views without moving them: status, history, explain. The first two need no Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.syntax import Syntax
from rich.text import Text

from rollview.cli.place import Place, opened, pass_place, place_options
from rollview.cli.printing import (
    BAD,
    GOOD,
    MIDDLING,
    counted,
    duration,
    json_option,
    moment,
    note,
    print_json,
    say,
    stdout,
    table,
)
from rollview.ledger.store import Refresh
from rollview.reports import ViewStatus

if TYPE_CHECKING:
    from rollview.explain import Explanation

STATES = {"ready": GOOD, "building": MIDDLING, "stopped": BAD}


@click.command()
@click.argument("view", required=False)
@json_option
@place_options()
@pass_place
def status(place: Place, view: str | None, as_json: bool) -> None:
    """Where each view stands. Needs neither Spark nor the lock.

    JSON: a list with one object for each view. `lag` counts transactions that were captured and are not shown,
    `lag_seconds` is the age of the oldest of them.

    \b
    Example:
      rollview status
      rollview status totals --json
    """
    with opened(place) as wh:
        found = wh.status(view)
        rows = found if isinstance(found, list) else [found]
        tables = wh.ledger.relations()
    if as_json:
        print_json(rows)
        return
    if not rows:
        say("There are no views yet: write one in views/*.sql and run rollview refresh.")
    elif view:
        _print_one(rows[0])
    else:
        _print_status(rows)
    for r in tables:
        if r.stopped:
            say(f"table {r.name} stopped: {r.stopped}", BAD)


def _shown_time(s: ViewStatus) -> str:
    return "-" if s.view_time is None else f"{s.view_time}  {moment(s.view_time_at)}"


def _lag(s: ViewStatus) -> Text:
    if not s.lag:
        return Text("none", GOOD)
    return Text(f"{s.lag} behind, {duration(s.lag_seconds)}", MIDDLING)


def _pending(s: ViewStatus) -> str:
    if not s.pending_steps:
        return "none"
    return f"{counted(s.pending_rows, 'row')}, {counted(s.pending_steps, 'step')}"


def _print_status(rows: list[ViewStatus]) -> None:
    shown = table(("view", "state", "view time (UTC)", "high-water mark", "lag", "to fold", "policy"),
                  ("high-water mark",), ("view time (UTC)",))  # fmt: skip
    for s in rows:
        shown.add_row(Text(s.name), Text(s.state, STATES.get(s.state, "")), _shown_time(s),
                      str(s.high_water_mark), _lag(s), counted(s.pending_rows, "row"), Text(s.policy))  # fmt: skip
    stdout().print(shown)
    note(f"the newest captured transaction is {rows[0].newest}; rollview capture looks for more")
    for s in rows:
        if s.reason:
            say(f"{s.name} is {s.state}: {s.reason}", STATES.get(s.state, ""))


def _print_one(s: ViewStatus) -> None:
    shown = table(("view", s.name))
    for name, value in (
        ("state", Text(s.state, STATES.get(s.state, ""))),
        ("reason", Text(s.reason)),
        ("view time", Text(f"{_shown_time(s)} UTC" if s.view_time else "-")),
        ("readable", Text(f"{s.oldest} to {s.high_water_mark}")),
        ("newest captured", Text(str(s.newest))),
        ("lag", _lag(s)),
        ("frontier", Text(", ".join(f"{name.partition(':')[2]} at {at}" for name, at in s.frontier.items()))),
        ("stored rows", Text(f"{s.rows:,} as of {s.fold_time}")),
        ("pending fold", Text(_pending(s))),
        ("policy", Text(s.policy)),
        ("resolution", Text(s.resolution or "every transaction")),
    ):  # fmt: skip
        if value.plain:
            shown.add_row(name, value)
    stdout().print(shown)


@click.command()
@click.argument("view", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True,
              help="How many refreshes.")  # fmt: skip
@json_option
@place_options()
@pass_place
def history(place: Place, view: str | None, limit: int, as_json: bool) -> None:
    """The latest refreshes, newest first: how, why, and what each took.

    Needs neither Spark nor the lock.

    \b
    Example:
      rollview history totals --limit 5
    """
    with opened(place) as wh:
        if view is not None and not wh.history(view, 1):
            wh.view(view)
        rows = wh.history(view, limit)
    if as_json:
        print_json(rows)
    elif not rows:
        say("Nothing was refreshed yet.")
    else:
        _print_history(rows)


def _print_history(rows: list[Refresh]) -> None:
    shown = table(("started (UTC)", "view", "how, and why", "from", "to", "rows", "jobs", "seconds"),
                  ("from", "to", "rows", "jobs", "seconds"), ("started (UTC)", "view"))  # fmt: skip
    for r in rows:
        how, why = (
            (Text("failed", BAD), r.error.partition("\n")[0])
            if r.state == "failed"
            else (Text(r.technique), r.reason)
        )
        shown.add_row(moment(r.started_at), Text(r.view), Text.assemble(how, "\n", (why, "dim")),
                      _csn(r.from_csn), _csn(r.to_csn), f"{r.rows:,}", str(r.jobs),
                      f"{r.seconds:.2f}")  # fmt: skip
    stdout().print(shown)


def _csn(time: int | None) -> str:
    return "-" if time is None else str(time)


@click.command()
@click.argument("view")
@json_option
@place_options()
@pass_place
def explain(place: Place, view: str, as_json: bool) -> None:
    """What the next refresh of a view would run.

    Its technique, the estimate, the terms in words, the SQL, and the time plane. By what was captured so far: run
    `rollview capture` first to include what is new.

    \b
    Example:
      rollview explain totals
    """
    with opened(place, spark=True) as wh:
        explanation = wh.explain(view)
    if as_json:
        print_json(explanation)
    else:
        print_explanation(explanation)


def print_explanation(e: Explanation) -> None:
    """The explanation of a view, for people."""
    console = stdout()
    console.print(Text.assemble((e.view, "bold"), ": ", (e.technique, "bold"), f", {e.reason}"))
    _print_costs(e)
    for block in e.blocks:
        keys = f" by {', '.join(block['keys'])}" if block["keys"] else ""
        kept = block["remembers"]
        named = block["kind"] == "BagReduce"
        held = ", ".join(kept) if named else counted(len(kept), "sum")
        memory = f", remembers {held}" if kept else ""
        say(
            f"block {block['block']}: {block['kind']} of {', '.join(block['inputs'])}{keys}{memory}"
        )
    for step in e.steps:
        say("")
        say(f"next step of {step.block}", "bold")
        for move in step.advances:
            say(f"  {move['input']}: from {move['from']} to {move['to']}")
        for number, term in enumerate(step.terms):
            say(f"  {'+' if number else '='} {term}")
        for line in step.asked:
            say(f"  {line}")
        for database, trips in step.round_trips.items():
            say(f"  {database}: {counted(trips, 'round trip')}")
        say("")
        console.print(Syntax("", "sql", theme="ansi_dark").highlight(step.sql), end="")
    if e.plane:
        say("")
        console.print(Text(e.plane), soft_wrap=True)


def _print_costs(e: Explanation) -> None:
    """What the next refresh and the next fold cost, and what that was learned from."""
    if e.estimate:
        incremental, full = e.estimate["incremental"], e.estimate["full"]
        say(f"estimate: {incremental:.1f} s incrementally, {full:.1f} s recomputed")
        if e.learned:
            once, again, fold = (e.learned[way] for way in ("incremental", "full", "fold"))
            say(f"learned from its history: {once:.1f} and {again:.1f} times the constants, "
                f"a fold {fold:.1f} times")  # fmt: skip
    for f in e.folding:
        if f.steps:
            say(f"fold of {f.block}: {counted(f.steps, 'step')} with {counted(f.rows, 'row')} pending; readers have "
                f"paid about {f.paid:.1f} s for them, a fold costs {f.cost:.1f} s")  # fmt: skip
        if f.waits:
            left, most = (f"{number / 2**20:,.0f} MiB" for number in (f.replaced, f.room))
            say(f"a fold of {f.block} waits: those of the last day have left {left} for who may still read them, "
                f"{most} is the most; rollview fold {e.view} does it now")  # fmt: skip
