"""How results are printed: plain data as JSON, tables and sentences for people.

N1  JSON keys are the fields of the reports; moments are ISO 8601, errors have error, what, detail and hint.
N2  Text of users is never read as markup. What is not a terminal gets lines as long as they are, unless COLUMNS says
    otherwise.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rollview.errors import RollviewError

F = TypeVar("F", bound=Callable[..., Any])
WIDEST = 10_000
GOOD, BAD, MIDDLING = "green", "red", "yellow"


def json_option(command: F) -> F:
    """--json, for verbs that print a result."""
    return click.option("--json", "as_json", is_flag=True,
                        help="Print the result as one JSON document.")(command)  # fmt: skip


def stdout() -> Console:
    """Where results go."""
    return _console(sys.stdout)


def stderr() -> Console:
    """Where everything else goes."""
    return _console(sys.stderr)


def _console(file: Any) -> Console:
    narrow = file.isatty() or "COLUMNS" in os.environ
    return Console(file=file, markup=False, highlight=False, width=None if narrow else WIDEST)


def say(text: str, style: str = "") -> None:
    """A sentence of the result."""
    stdout().print(Text(text, style))


def note(text: str) -> None:
    """A remark beside the result, for people."""
    stderr().print(Text(text, "dim"))


def print_json(result: object) -> None:
    """The result as one JSON document."""
    click.echo(as_json_text(plain(result)))


def as_json_text(document: object) -> str:
    """JSON, indented, with every letter as it is."""
    return json.dumps(document, indent=2, ensure_ascii=False, default=str)


def plain(value: Any) -> Any:
    """Reports as data that JSON knows (N1)."""
    if isinstance(value, RollviewError):
        return {"error": type(value).__name__, "what": value.what, "detail": value.detail,
                "hint": value.hint}  # fmt: skip
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    return str(value) if isinstance(value, Path) else value


def table(columns: Sequence[str], right: Sequence[str] = (), whole: Sequence[str] = ()) -> Table:
    """An empty table; the columns in `right` hold numbers, those in `whole` are not broken."""
    made = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        collapse_padding=True,
        header_style="bold",
    )
    for name in columns:
        made.add_column(Text(name), justify="right" if name in right else "left", overflow="fold",
                        no_wrap=name in whole)  # fmt: skip
    return made


def moment(at: datetime | None) -> str:
    """A moment in UTC, to the second."""
    return at.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S") if at else "-"


def duration(seconds: float) -> str:
    """About how long."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def counted(number: int, what: str) -> str:
    """1 row, 2 rows."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
