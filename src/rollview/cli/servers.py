"""PostgreSQL servers on the command line: their check-list, the SQL of the two roles, and what doctor says of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
from rich.text import Text

from rollview.cli.printing import BAD, GOOD, MIDDLING, say, stdout
from rollview.errors import RollviewError
from rollview.ledger.store import Ledger, Source

if TYPE_CHECKING:
    from rollview.sources.postgresql.checklist import Point

STYLES = {"ok": GOOD, "look": MIDDLING, "bad": BAD}


def print_points(points: Sequence[Point]) -> None:
    """A check-list, point by point, each with the SQL that mends it."""
    console = stdout()
    for p in points:
        mark = Text(f"{p.state:<5}", STYLES[p.state])
        console.print(Text.assemble(mark, (p.subject, "bold"), f": {p.text}"), soft_wrap=True)
        for line in p.mend.splitlines():
            console.print(Text.assemble("       ", (line, "cyan")), soft_wrap=True)


@click.command()
@click.argument("name")
@click.option("--database", required=True, help="The database that the tables are in.")
@click.option("--table", "tables", multiple=True, required=True,
              help="A table with its schema, as in public.orders. May be repeated.")  # fmt: skip
@click.option("--role", default="rollview", show_default=True, help="The role that rollview uses.")
def roles(name: str, database: str, tables: tuple[str, ...], role: str) -> None:
    """Print the SQL that prepares a PostgreSQL database for source NAME.

    Its owner runs it once; from then on rollview's own role reads the tables and their changes, and can write nothing.
    Connects to nothing.

    \b
    Example:
      rollview source roles shop --database shop --table public.orders | psql shop
    """
    from rollview.sources.postgresql import roles as scripts
    from rollview.sources.postgresql.registration import publication_name

    places = [
        (schema or "public", table) for schema, _, table in (t.rpartition(".") for t in tables)
    ]
    say(f"-- once, by the owner of the tables; then set a password: \\password {role}")
    for line in scripts.owner_sql(database, places, publication_name(name), role):
        say(line)


def server_points(ledger: Ledger) -> Iterator[Point | RollviewError]:
    """How the slots and publications of every PostgreSQL source are doing."""
    known: dict[str, list[Source]] = {}
    for source in ledger.sources():
        if ledger.stream(source.name) is not None:
            known.setdefault(source.config["postgres"], []).append(source)
    if not known:
        return
    from rollview.sources.postgresql.connect import connected, explained
    from rollview.sources.postgresql.health import health

    for where, sources in known.items():
        streams = [s for s in (ledger.stream(source.name) for source in sources) if s is not None]
        name = sources[0].name
        try:
            with connected(where, name) as connection, explained(name):
                yield from health(
                    connection, {s.slot for s in streams}, {s.publication for s in streams}
                )
        except RollviewError as error:
            yield error
