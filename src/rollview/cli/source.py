"""rollview source: the places that tables come from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from rollview.cli.place import Place, found_project, opened, pass_place, place_options
from rollview.cli.printing import (
    BAD,
    GOOD,
    MIDDLING,
    counted,
    json_option,
    plain,
    print_json,
    say,
    stdout,
    table,
)
from rollview.cli.project import source_options
from rollview.cli.servers import roles
from rollview.errors import ConfigError, SourceError
from rollview.ledger.store import BaseRelation, Source
from rollview.warehouse import Warehouse

if TYPE_CHECKING:
    from rollview.sources.postgresql.checklist import Point


@click.group()
def source() -> None:
    """Add, list, check, resync and drop sources of tables.

    \b
    Example:
      rollview source add lake --delta /data/lake
      rollview source list
    """


@source.command()
@click.argument("name")
@click.option("--delta", metavar="FOLDER", help="Every Delta Lake table below this folder.")
@click.option("--path", "paths", metavar="TABLE=PATH", multiple=True,
              help="One Delta Lake table: its name and folder. May be repeated.")  # fmt: skip
@click.option(
    "--postgres", metavar="URL", help="A PostgreSQL database; the URL has no password in it."
)
@click.option("--mode", type=click.Choice(["live", "replica"]),
              help="PostgreSQL: ask the server, or keep an exact copy.")  # fmt: skip
@click.option("--hold", metavar="DURATION",
              help='PostgreSQL: how long a question may hold a snapshot, as in "30 seconds".')  # fmt: skip
@click.option("--table", "tables", multiple=True, help="Only this table. May be repeated.")
@json_option
@place_options()
@pass_place
def add(
    place: Place,
    name: str,
    delta: str | None,
    paths: tuple[str, ...],
    postgres: str | None,
    mode: str | None,
    hold: str | None,
    tables: tuple[str, ...],
    as_json: bool,
) -> None:
    """Register a source and its tables as of now; again: tables that are new.

    Without --delta, --path or --postgres, the source is taken from [source.NAME] of rollview.toml. Tables are
    registered as they are now: nothing older can be asked of them.

    \b
    Example:
      rollview source add lake --delta /data/lake
      rollview source add files --path sales=/data/sales --path customer=/other/customer
      rollview source add shop --postgres postgresql://reader@db/shop --table public.orders
    """
    if (delta is not None) + bool(paths) + (postgres is not None) > 1:
        raise ConfigError("only one of --delta, --path and --postgres can be given")
    options: dict[str, Any] = {"delta": delta or dict(_pair(p) for p in paths)}
    if postgres:
        options = {"postgres": postgres}
    elif not delta and not paths:
        options = source_options(found_project(place), name)
    options |= {k: v for k, v in (("mode", mode), ("hold", hold)) if v}
    if tables:
        options["tables"] = list(tables)
    with opened(place, create=True, spark=True) as wh:
        if "postgres" in options and not as_json and wh.ledger.source(name) is None:
            _print_checklist(wh, name, options)
        report = wh.add_source(name, **options)
    if as_json:
        print_json(report)
    elif report.added:
        say(
            f'source "{name}": {counted(len(report.added), "table")} added: {", ".join(report.added)}'
        )
    else:
        say(f'source "{name}": no new tables; it has {", ".join(report.tables)}')


def _print_checklist(wh: Warehouse, name: str, options: dict[str, Any]) -> None:
    """What the server has and lacks, before anything is made on it."""
    from rollview.cli.servers import print_points
    from rollview.sources.postgresql.registration import points_of

    mode = options.get("mode", "replica")
    print_points(points_of(wh.ledger, options["postgres"], name, options.get("tables"), mode))


def _pair(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise ConfigError(
            f'--path cannot be "{text}"', hint="for example: --path sales=/data/sales"
        )
    return name, path


@source.command("list")
@json_option
@place_options()
@pass_place
def list_(place: Place, as_json: bool) -> None:
    """List the sources and their tables, as far as they were captured. Needs no Spark.

    \b
    Example:
      rollview source list
    """
    with opened(place) as wh:
        sources, relations = wh.sources(), wh.ledger.relations()
    if as_json:
        print_json([
            {"name": s.name, "kind": s.kind, "added_at": s.added_at,
             "tables": [r for r in relations if r.source == s.name]}
            for s in sources
        ])  # fmt: skip
    elif not sources:
        say("There are no sources yet: rollview source add NAME --delta FOLDER")
    else:
        shown = table(
            ("table", "rows, about", "position", "state", "place"), ("rows, about", "position")
        )
        for r in relations:
            state = Text("stopped", BAD) if r.stopped else Text("ok", GOOD)
            shown.add_row(
                Text(r.name), f"{r.rows:,}", _position(r, sources), state, Text(r.location)
            )
        stdout().print(shown)
        for r in relations:
            if r.stopped:
                say(f"{r.name} stopped: {r.stopped}", BAD)


def _position(relation: BaseRelation, sources: list[Source]) -> str:
    """The table version, or the place in the server's log."""
    if not any(s.name == relation.source and s.kind == "postgresql" for s in sources):
        return str(relation.position)
    from rollview.sources.postgresql.slot import lsn

    return lsn(relation.position)


@dataclass(frozen=True, slots=True)
class TableCheck:
    """A table as it is now, against what was captured of it."""

    table: str
    version: int
    waiting_commits: int
    waiting_rows: int
    problem: SourceError | None


@source.command()
@click.argument("name", required=False)
@json_option
@place_options()
@click.pass_context
def check(ctx: click.Context, name: str | None, as_json: bool) -> None:
    """Look at every table without capturing.

    Is it there, does it still record its changes, what waits? Of PostgreSQL also the check-list of the server, with
    the SQL that mends each point. Exit code 1 if something is wrong.

    \b
    Example:
      rollview source check lake
    """
    with opened(ctx.ensure_object(Place)) as wh:
        checks = [_checked(r) for r in _relations(wh, name) if wh.ledger.stream(r.source) is None]
        for source_row in wh.sources():
            if name in (None, source_row.name) and wh.ledger.stream(source_row.name) is not None:
                checks += _checked_stream(wh, source_row)
        points = [] if as_json else _points(wh, name)
    if as_json:
        print_json([plain(c) for c in checks])
    else:
        _print_checks(checks)
    if any(c.problem for c in checks) or any(p.state == "bad" for p in points):
        ctx.exit(1)


def _points(wh: Warehouse, name: str | None) -> list[Point]:
    """The check-lists of the PostgreSQL servers, printed."""
    from rollview.cli.servers import print_points
    from rollview.sources.postgresql.registration import points_now

    found: list[Point] = []
    for source_row in wh.sources():
        if name in (None, source_row.name) and wh.ledger.stream(source_row.name) is not None:
            try:
                points = points_now(wh.ledger, source_row)
            except SourceError:
                continue  # the tables' own checks say that it cannot be reached
            say(f"the server of {source_row.name}", "bold")
            print_points(points)
            found += points
    return found


def _relations(wh: Warehouse, name: str | None) -> list[BaseRelation]:
    if name is not None and wh.ledger.source(name) is None:
        known = ", ".join(s.name for s in wh.sources()) or "none yet"
        raise ConfigError(f'there is no source "{name}"', f"sources: {known}")
    return wh.ledger.relations(name)


def _checked(relation: BaseRelation) -> TableCheck:
    from rollview.sources.delta_lake.capture import new_commits

    found = new_commits(relation)
    changed = [c for c in found.captured if c.data_changed]
    rows = sum(c.inserted + c.deleted for c in changed)
    version = found.captured[-1].version if found.captured else relation.position
    return TableCheck(relation.name, version, len(changed), rows, found.problem)


def _checked_stream(wh: Warehouse, source_row: Source) -> list[TableCheck]:
    """The tables of a PostgreSQL database, by a look at what its stream has next."""
    from rollview.sources.postgresql.capture import looked_at
    from rollview.sources.postgresql.copy import contents

    relations = wh.ledger.relations(source_row.name)
    stream = wh.ledger.stream(source_row.name)
    assert stream is not None, "the source has a stream"
    try:
        waiting = looked_at(source_row.config["postgres"], stream, relations, wh.path,
                            partial(contents, wh.ledger, wh.path),
                            partial(wh.ledger.commits_past, source_row.name))  # fmt: skip
    except SourceError as problem:
        return [TableCheck(r.name, r.position, 0, 0, problem) for r in relations]
    return [TableCheck(r.name, r.position, *waiting.get(r.name, (0, 0)), None) for r in relations]


def _print_checks(checks: list[TableCheck]) -> None:
    shown = table(("table", "position", "waiting", "state"), ("position",))
    for c in checks:
        waiting = (f"{counted(c.waiting_commits, 'commit')}, about {counted(c.waiting_rows, 'row')}"
                   if c.waiting_commits else "nothing")  # fmt: skip
        state = Text("problem", BAD) if c.problem else Text("ok", GOOD)
        shown.add_row(
            Text(c.table),
            str(c.version),
            Text(waiting, MIDDLING if c.waiting_commits else ""),
            state,
        )
    stdout().print(shown)
    for c in checks:
        if c.problem:
            say(str(c.problem), BAD)


@source.command()
@click.argument("name")
@place_options()
@pass_place
def drop(place: Place, name: str) -> None:
    """Forget a source that no view reads; its tables are never touched.

    \b
    Example:
      rollview source drop lake
    """
    with opened(place) as wh:
        wh.drop_source(name)
    say(f'source "{name}" is forgotten')


@source.command()
@click.argument("name")
@json_option
@place_options()
@pass_place
def resync(place: Place, name: str, as_json: bool) -> None:
    """Mend a source whose changes are lost.

    NAME is a Delta Lake table (lake.sales), or a source: then every table of it that has stopped is registered anew at
    its newest version, and the views that read it are recomputed by their next refresh, and say so. A PostgreSQL
    source is mended as a whole: its copies get what they lack, and views go on. Other views go on as they were.

    \b
    Example:
      rollview source resync lake.sales
    """
    with opened(place, spark=True) as wh:
        report = wh.resync(name)
    if as_json:
        print_json(report)
    elif report.kind == "postgresql":
        say(f"mended: {', '.join(report.added)}; capture goes on from here")
    elif report.added:
        say(f"registered anew: {', '.join(report.added)}; the next refresh recomputes their views")
    else:
        say(f'no table of source "{name}" has stopped: nothing to do')


source.add_command(roles)
