"""rollview init: a project folder with everything that a first refresh needs."""

from __future__ import annotations

from pathlib import Path

import click

from rollview.cli.place import Place, pass_place, place_options
from rollview.cli.printing import json_option, print_json, say
from rollview.config import PROJECT_FILE, read_project
from rollview.errors import ConfigError
from rollview.ledger.store import Ledger

SETTINGS = """\
# A rollview project. Paths are relative to this file.

# Where the views and everything that is known about them are kept.
warehouse = "warehouse"

[spark]
# master = "local[*]"             # or a cluster, such as spark://host:7077
# sql.shuffle.partitions = 2      # any Spark setting, without its leading "spark."

# Every Delta Lake table below the folder: lake.sales, lake.customer. The tables need
# delta.enableChangeDataFeed = true.
{lake}

[run]
every = "30 seconds"              # how often `rollview run` looks for changes
"""
LAKE = '[source.lake]\ndelta = "{folder}"'
NO_LAKE = '# [source.lake]\n# delta = "/data/lake"'
EXAMPLE = """\
-- One SELECT per file: the view is called like the file. Or CREATE MATERIALIZED VIEW statements,
-- which can set options. `rollview refresh` creates views that do not exist yet.
"""
COUNTED = "SELECT COUNT(*) AS row_count\nFROM lake.{table}\n"
COMMENTED = """\
-- SELECT c.region, COUNT(*) AS sales, SUM(s.amount) AS total
-- FROM lake.sales AS s JOIN lake.customer AS c ON c.id = s.customer_id
-- GROUP BY c.region
"""


@click.command()
@click.argument(
    "folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), default="."
)
@click.option("--lake", metavar="FOLDER", type=click.Path(path_type=Path),
              help="A folder with Delta Lake tables: becomes the source `lake`.")  # fmt: skip
@json_option
@place_options()
@pass_place
def init(place: Place, folder: Path, lake: Path | None, as_json: bool) -> None:
    """Make a project folder.

    Writes rollview.toml, views/example.sql and .gitignore, and makes the warehouse. A folder that is a project
    already is left as it is, except that a warehouse of an older rollview is brought up to date.

    \b
    Example:
      rollview init shop --lake /data/lake
    """
    if (folder / PROJECT_FILE).exists() or any((folder / "views").glob("*.sql")):
        raise _refused(folder)
    tables = _tables(lake)
    (folder / "views").mkdir(parents=True, exist_ok=True)
    example = EXAMPLE + (COUNTED.format(table=tables[0]) if tables else COMMENTED)
    (folder / "views" / "example.sql").write_text(example, encoding="utf-8")
    _ignore(folder / ".gitignore", "warehouse/")
    source = LAKE.format(folder=_quoted(lake.resolve())) if lake else NO_LAKE
    (folder / PROJECT_FILE).write_text(SETTINGS.format(lake=source), encoding="utf-8")
    Ledger.open(place.warehouse or read_project(folder).warehouse, create=True).close()
    if as_json:
        print_json({"project": folder.resolve(), "tables": tables})
        return
    say(f'Made the project "{folder}": {PROJECT_FILE}, views/example.sql, .gitignore, warehouse/.')
    if not lake:
        say(
            f"Next: name your Delta Lake folder in {folder / PROJECT_FILE}, write a view in views/, then:"
        )
    else:
        say(f"Found {len(tables)} tables: {', '.join(tables) or 'none yet'}. Next:")
    say("  rollview refresh" if folder == Path() else f"  cd {folder} && rollview refresh", "bold")


def _refused(folder: Path) -> ConfigError:
    if (folder / PROJECT_FILE).exists():
        project = read_project(folder)
        Ledger.open(project.warehouse, project.ledger_url, create=True).close()
    return ConfigError(
        f'"{folder}" is a rollview project already',
        "its files were left as they are; its warehouse is there and up to date",
        "rollview refresh creates its views; name another folder for another project",
    )


def _tables(lake: Path | None) -> list[str]:
    if lake is None:
        return []
    if not lake.is_dir():
        raise ConfigError(
            f'there is no folder "{lake}"', hint="name the folder that holds the tables"
        )
    from rollview.sources.delta_lake.tables import find_tables

    return sorted(find_tables(str(lake.resolve())))


def _quoted(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace('"', '\\"')


def _ignore(path: Path, line: str) -> None:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if line not in text.splitlines():
        joint = "" if not text or text.endswith("\n") else "\n"
        path.write_text(f"{text}{joint}{line}\n", encoding="utf-8")
