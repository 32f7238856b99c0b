"""The command line: finds the verb, runs it, and turns what goes wrong into words and an exit code.

B1  A verb's module is loaded when the verb is asked for; none of them loads pyspark when it is imported, so that
    help, status and history need neither pyspark nor Java.
B2  stdout carries the result and nothing else; progress, notes and errors go to stderr.
Exit codes: cli/failures.py. No verb has logic of its own that another face would need.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from rollview import __version__
from rollview.cli.failures import exit_code
from rollview.cli.place import Place, place_options

VERBS: dict[str, dict[str, str]] = {
    "Set up": {
        "demo": "rollview.cli.demo:demo",
        "init": "rollview.cli.init:init",
        "source": "rollview.cli.source:source",
        "sql": "rollview.cli.statements:sql",
        "drop": "rollview.cli.statements:drop",
    },
    "Keep views up to date": {
        "refresh": "rollview.cli.processes:refresh",
        "run": "rollview.cli.run:run",
        "capture": "rollview.cli.processes:capture",
        "propagate": "rollview.cli.processes:propagate",
        "apply": "rollview.cli.processes:apply",
        "fold": "rollview.cli.processes:fold",
    },
    "Read": {
        "show": "rollview.cli.reading:show",
        "query": "rollview.cli.reading:query",
        "changes": "rollview.cli.reading:changes",
    },
    "Look after": {
        "status": "rollview.cli.looking:status",
        "history": "rollview.cli.looking:history",
        "explain": "rollview.cli.looking:explain",
        "verify": "rollview.cli.reading:verify",
        "doctor": "rollview.cli.doctor:doctor",
    },
}


class Verbs(click.Group):
    """The verbs, each loaded when it is asked for (B1)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb, in the order of the help text."""
        return [name for verbs in VERBS.values() for name in verbs]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name."""
        for verbs in VERBS.values():
            if cmd_name in verbs:
                module, _, attribute = verbs[cmd_name].partition(":")
                command: click.Command = getattr(import_module(module), attribute)
                return command
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs, section by section."""
        for title, verbs in VERBS.items():
            rows = []
            for name in verbs:
                command = self.get_command(ctx, name)
                assert command is not None, "every verb has a command"
                rows.append((name, command.get_short_help_str(limit=90)))
            with formatter.section(title):
                formatter.write_dl(rows)


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="--project, --warehouse and --debug may stand before or after the verb."
    " `rollview VERB --help` shows examples.",
)
@click.version_option(__version__, prog_name="rollview")
@place_options(hidden=False)
def rollview() -> None:
    """Keep materialized views up to date incrementally, on Apache Spark.

    Captures what changes in Delta Lake and PostgreSQL tables, propagates it into each view, and rolls every view
    to any moment that is kept. A project is a folder with rollview.toml and views/*.sql.

    \b
    Example:
      rollview init shop --lake /data/lake
      cd shop
      rollview refresh          # creates the views of views/*.sql, then brings all to one time
      rollview status
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command line; its exit code."""
    place = Place(as_json="--json" in arguments)

    def call() -> Any:
        return rollview.main(
            list(arguments), prog_name="rollview", standalone_mode=False, obj=place
        )

    return exit_code(call, place)


if __name__ == "__main__":
    main()
