"""rollview sql and rollview drop: statements that define views, change them and let them go."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from rollview.cli.looking import print_explanation
from rollview.cli.place import Place, found_project, opened, pass_place, place_options
from rollview.cli.printing import json_option, plain, print_json, say
from rollview.cli.processes import print_refreshes
from rollview.cli.project import statements_in
from rollview.cli.rows import print_rows, rows_json
from rollview.errors import ConfigError
from rollview.views.statements import parse_statement

ROWS = 100
"""Rows of a SELECT that are printed; `rollview query --limit` prints more."""


@click.command()
@click.argument("text", metavar="SQL", required=False)
@click.option("-f", "--file", "path", type=click.Path(path_type=Path, dir_okay=False, exists=True),
              help="Run the statements of a file, one after the other.")  # fmt: skip
@json_option
@place_options()
@pass_place
def sql(place: Place, text: str | None, path: Path | None, as_json: bool) -> None:
    """Run SQL statements: CREATE MATERIALIZED VIEW and its like, SELECT.

    CREATE, REFRESH, DROP and ALTER MATERIALIZED VIEW, EXPLAIN CREATE MATERIALIZED VIEW, SELECT.
    Statements are separated by semicolons; `-` reads them from stdin. The first one that fails ends the run. JSON: a
    list with `statement` and `result`.

    \b
    Example:
      rollview sql "CREATE MATERIALIZED VIEW totals AS
                    SELECT region, SUM(amount) AS total FROM lake.sales GROUP BY region"
      rollview sql -f views.sql
    """
    if (text is None) == (path is None):
        raise ConfigError("give the SQL text, or a file with -f, or - for stdin")
    if path is not None:
        text = path.read_text(encoding="utf-8")
    elif text == "-":
        text = sys.stdin.read()
    assert text is not None, "one of the two was given"
    results = []
    parts = statements_in(text)
    for part in parts:
        parse_statement(part)
    with opened(place, create=True, spark=True) as wh:
        for part in parts:
            words = part.split()
            name, result = words[0].upper(), wh.sql(part)
            if as_json:
                results.append({"statement": name, "result": _plain_result(result)})
            else:
                _print_result(name, result)
    if as_json:
        print_json(results)


def _is_rows(result: Any) -> bool:
    return hasattr(result, "toDF")


def _plain_result(result: Any) -> Any:
    return rows_json(result, ROWS) if _is_rows(result) else plain(result)


def _print_result(name: str, result: Any) -> None:
    if result is None:
        say(f"{name}: done")
    elif _is_rows(result):
        print_rows(result, ROWS)
    elif name == "EXPLAIN":
        print_explanation(result)
    else:
        print_refreshes(result if isinstance(result, list) else [result])


@click.command()
@click.argument("views", metavar="VIEW...", nargs=-1, required=True)
@place_options()
@pass_place
def drop(place: Place, views: tuple[str, ...]) -> None:
    """Forget views and their contents; the source tables are never touched.

    \b
    Example:
      rollview drop totals
    """
    with opened(place) as wh:
        for view in views:
            wh.drop(view)
            say(f'view "{view}" is dropped')
    project = found_project(place)
    for view in views:
        if (project.folder / "views" / f"{view}.sql").exists():
            say(f"views/{view}.sql is still there: rollview refresh would create the view again")
