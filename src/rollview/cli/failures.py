"""What goes wrong, in words on stderr, and the exit codes.

F1  0 done · 1 unexpected, or a check that found something · 2 wrong usage, configuration or definition ·
    3 warehouse · 4 source · 5 refresh · 130 interrupted.
F2  With --json an error is one JSON object on stderr: error, what, detail, hint.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import click
from rich.text import Text

from rollview.cli.place import Place
from rollview.cli.printing import as_json_text, plain, stderr
from rollview.errors import (
    ConfigError,
    RefreshError,
    RollviewError,
    SourceError,
    ViewRefused,
    WarehouseError,
)

CODES: tuple[tuple[type[RollviewError], int], ...] = (
    (ConfigError, 2),
    (ViewRefused, 2),
    (WarehouseError, 3),
    (SourceError, 4),
    (RefreshError, 5),
)
INTERRUPTED = 130
LONGEST = 300
"""Characters that are shown of an unexpected error's message; Spark's can have pages."""


def exit_code(call: Callable[[], Any], place: Place) -> int:
    """Run `call` and say what went wrong, if something did."""
    try:
        result = call()
        return result if isinstance(result, int) else 0
    except click.Abort:
        shown = RollviewError(
            "interrupted",
            "what was committed stays; a step that was running is dropped, and each view stays at its time",
            "rollview refresh goes on from there, with a build that was interrupted too",
        )
        return _said(shown, "Interrupted", INTERRUPTED, place.as_json)
    except click.ClickException as error:
        return _misused(error, place.as_json)
    except RollviewError as error:
        _trace(place)
        return _said(error, type(error).__name__, code_of(error), place.as_json)
    except Exception as error:  # noqa: BLE001 (the last place where an error can be put into words)
        _trace(place)
        return _said(_unexpected(error, place), type(error).__name__, 1, place.as_json)


def code_of(error: RollviewError) -> int:
    """The exit code for an error (F1)."""
    return next((code for kind, code in CODES if isinstance(error, kind)), 1)


def _misused(error: click.ClickException, as_json: bool) -> int:
    if not as_json:
        error.show()
        return error.exit_code
    context = getattr(error, "ctx", None)
    hint = f"{context.command_path} --help" if context else "rollview --help"
    shown = RollviewError(error.format_message(), "", hint)
    return _said(shown, type(error).__name__, error.exit_code, as_json)


def _unexpected(error: Exception, place: Place) -> RollviewError:
    lines = str(error).strip().splitlines() or [""]
    short = lines[0] if len(lines[0]) <= LONGEST else lines[0][:LONGEST] + " …"
    hint = "" if place.debug else "run it again with --debug for the traceback"
    return RollviewError(f"unexpected {type(error).__name__}", short, hint)


def _trace(place: Place) -> None:
    if place.debug:
        click.echo(traceback.format_exc(), err=True)


def _said(error: RollviewError, name: str, code: int, as_json: bool) -> int:
    if as_json:
        click.echo(as_json_text({**plain(error), "error": name}), err=True)
        return code
    console = stderr()
    console.print(Text.assemble(("error: ", "bold red"), (error.what, "bold")), soft_wrap=True)
    for line in error.detail.splitlines():
        console.print(Text(f"  {line}"), soft_wrap=True)
    if error.hint:
        console.print(Text.assemble(("hint: ", "bold cyan"), error.hint), soft_wrap=True)
    return code
