"""Where a command works: the project folder, its warehouse, and the warehouse opened.

P1  --project names the folder; without it, the current folder or the nearest one above it that has a rollview.toml.
    --warehouse wins over the project's own, and needs no project.
P2  Reading commands make nothing: where there is no warehouse yet, they say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from rollview.cli.printing import note
from rollview.cli.progress import Bar, start_spark
from rollview.config import PROJECT_FILE, Project, project_folder, read_project
from rollview.errors import ConfigError
from rollview.warehouse import Warehouse

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(slots=True)
class Place:
    """What --project, --warehouse, --debug and --json said."""

    project: Path | None = None
    warehouse: Path | None = None
    debug: bool = False
    as_json: bool = False

    def note(self, text: str) -> None:
        """A remark for people; with --json there are none, so that an error is alone on stderr."""
        if not self.as_json:
            note(text)


pass_place = click.make_pass_decorator(Place, ensure=True)


def place_options(hidden: bool = True) -> Callable[[F], F]:
    """The options of every verb, also accepted before it."""

    def remember(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
        if value is not None and value is not False:
            setattr(ctx.ensure_object(Place), str(parameter.name), value)

    folder = click.Path(path_type=Path, file_okay=False)

    def decorate(command: F) -> F:
        for option in (
            click.option("--debug", is_flag=True, expose_value=False, hidden=hidden,
                         callback=remember, help="Show the traceback of an error."),
            click.option("--warehouse", type=folder, metavar="DIR", expose_value=False,
                         hidden=hidden, callback=remember,
                         help="The warehouse folder, instead of the project's."),
            click.option("--project", type=folder, metavar="DIR", expose_value=False, hidden=hidden,
                         callback=remember,
                         help=f"The project folder; else the nearest one with a {PROJECT_FILE}."),
        ):  # fmt: skip
            command = option(command)
        return command

    return decorate


def found_project(place: Place) -> Project:
    """The project that a command works in (P1)."""
    folder = place.project or (None if place.warehouse else project_folder(Path.cwd()))
    if folder is not None:
        project = read_project(folder)
        return replace(project, warehouse=place.warehouse) if place.warehouse else project
    if place.warehouse is not None:
        return Project(Path.cwd(), place.warehouse)
    raise ConfigError(
        "there is no rollview project here",
        f"neither {Path.cwd()} nor a folder above it has a {PROJECT_FILE}",
        "rollview init makes one; --project names one elsewhere, --warehouse a warehouse without one",
    )


@contextmanager
def opened(place: Place, *, create: bool = False, spark: bool = False) -> Iterator[Warehouse]:
    """The warehouse of the project, closed afterwards; with `spark`, a session is started at once."""
    project = found_project(place)
    if not create and not project.warehouse.exists():
        raise ConfigError(f'there is no warehouse in "{project.warehouse}" yet', "",
                          "rollview refresh makes it, with the sources and views of the project")  # fmt: skip
    bar = Bar()
    warehouse = Warehouse(project.warehouse, ledger_url=project.ledger_url, master=project.master,
                          settings=project.spark, create=create, progress=bar,
                          deterministic_functions=project.deterministic_functions)  # fmt: skip
    with warehouse, bar:
        if spark:
            start_spark(warehouse, place.debug)
        try:
            yield warehouse
        finally:
            for line in warehouse.recovered:
                place.note(f"recovered: {line}")
