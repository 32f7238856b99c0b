"""A golden case: one small file that says what a construct is, through a history, and what must come out.

    -- LEFT JOIN on an equality                          the title
    -- construct: outer joins                            the line of docs/sql.md that it belongs to
    -- table lake.sales (id INT, cust INT)               one line a table
    SELECT …                                             the view; `-- view name` before each of several
    -- commits                                           one line a transaction: + inserted, - deleted rows
    --   1  + lake.sales (1, 10) (2, NULL)
    -- blocks / -- rows / -- refused                     written by `make golden-rewrite`; then read the diff

G1  What is written into a file is held against a recompute of the user's own SQL first (rewrite.py), and each time
    the case runs (test_golden.py): a rewrite cannot bless a wrong result.
`-- spark only: why` keeps a case from the DuckDB engine.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "cases"
WRITTEN = ("blocks", "rows", "refused")

Row = tuple[Any, ...]
Transaction = dict[str, list[tuple[int, Row]]]
"""(count, row) by table."""
Schema = dict[str, tuple[tuple[str, str], ...]]


@dataclass
class Case:
    """What a file says; `views` are (name, SQL), the last one is the view that is looked at."""

    name: str
    title: str
    construct: str
    tables: Schema
    views: list[tuple[str, str]]
    commits: list[Transaction]
    refused: bool = False
    spark_only: str = ""
    written: dict[str, list[str]] = field(default_factory=dict)

    @property
    def sql(self) -> str:
        """The SQL of the view that is looked at."""
        return self.views[-1][1]


def all_cases() -> list[Case]:
    """Every case, by name."""
    return [read(path) for path in sorted(FOLDER.glob("*.sql"))]


def read(path: Path) -> Case:
    """The case in a file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = Case(path.stem, lines[0].removeprefix("-- "), "", {}, [("v", "")], [])
    section = ""
    for line in lines[1:]:
        note = re.fullmatch(
            r"-- (construct|table|view|spark only|commits|blocks|rows|refused)\b:? ?(.*)", line
        )
        if note:
            section = note[1]
            _note(found, section, note[2])
        elif section in WRITTEN and line:
            found.written[section].append(line.removeprefix("--   "))
        elif section == "commits" and line:
            _commit(found, line.removeprefix("--   "))
        elif line:
            name, sql = found.views[-1]
            found.views[-1] = (name, f"{sql}\n{line}".strip())
    return found


def _note(case: Case, kind: str, rest: str) -> None:
    match kind:
        case "construct":
            case.construct = rest
        case "spark only":
            case.spark_only = rest
        case "table":
            name, columns = rest.split(" ", 1)
            case.tables[name] = tuple(_columns(columns.strip()[1:-1]))
        case "view":
            case.views = [v for v in case.views if v[1]] + [(rest, "")]
        case "refused":
            case.refused = True
    if kind in WRITTEN:
        case.written[kind] = []


def _columns(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r",\s*(?![^(<]*[)>])", text):
        name, kind = part.split(" ", 1)
        yield name, kind.lower()


# --- values


TOKEN = re.compile(
    r"\s*(?:(DATE )?'((?:[^']|'')*)'|(-?\d+\.\d+)|(-?\d+)|(NULL|TRUE|FALSE)|([\[\](),]))"
)


def _commit(case: Case, line: str) -> None:
    """A line of a transaction: a number begins the next one."""
    if line[0].isdigit():
        case.commits.append({})
    changes = case.commits[-1]
    rest = line.lstrip("0123456789 ")
    for sign, table, rows in re.findall(
        r"([+-]) (\S+)((?: \((?:'(?:[^']|'')*'|[^()'])*\))+)", rest
    ):
        for row in _rows(rows):
            changes.setdefault(table, []).append((1 if sign == "+" else -1, row))


def _rows(text: str) -> Iterator[Row]:
    stack: list[list[Any]] = [[]]
    for date, string, decimal, number, word, mark in TOKEN.findall(text):
        match mark:
            case "(" | "[":
                stack.append([])
            case ")":
                row = stack.pop()
                yield tuple(row)
            case "]":
                array = stack.pop()
                stack[-1].append(array)
            case ",":
                pass
            case _:
                stack[-1].append(_value(date, string, decimal, number, word))


def _value(date: str, string: str, decimal: str, number: str, word: str) -> Any:
    if date:
        return dt.date.fromisoformat(string)
    if decimal:
        return Decimal(decimal)
    if number:
        return int(number)
    if word:
        return {"NULL": None, "TRUE": True, "FALSE": False}[word]
    return string.replace("''", "'")


def shown(value: Any) -> str:
    """A value as files have it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case dt.date():
            return f"DATE '{value}'"
        case list():
            return f"[{', '.join(map(shown, value))}]"
        case float():
            return repr(float(f"{value:.6g}"))
        case Decimal():
            return f"{value:f}"
        case _:
            return str(value)


def shown_row(row: Row) -> str:
    return f"({', '.join(map(shown, row))})"


def shown_rows(rows: Iterable[Row]) -> str:
    """A bag on one line, sorted, with how often each row comes."""
    counted = Counter(shown_row(row) for row in rows)
    return (
        " ".join(row + (f" x{n}" if n > 1 else "") for row, n in sorted(counted.items()))
        or "nothing"
    )


def shown_transaction(number: int, changes: Transaction) -> list[str]:
    """The lines of a transaction, one a table."""
    lines = []
    for table, counted in changes.items():
        if counted:
            runs = (
                f"{sign} {table} {' '.join(map(shown_row, rows))}" for sign, rows in _runs(counted)
            )
            lines.append("  ".join(runs))
    first, *rest = lines or ["nothing"]
    return [f"{number}  {first}", *(f"   {line}" for line in rest)]


def _runs(counted: list[tuple[int, Row]]) -> Iterator[tuple[str, list[Row]]]:
    """Changes in their order, neighbours of one sign together; a count of two is two rows."""
    run: tuple[str, list[Row]] | None = None
    for count, row in counted:
        sign = "+" if count > 0 else "-"
        if run is None or run[0] != sign:
            if run:
                yield run
            run = (sign, [])
        run[1].extend([row] * abs(count))
    if run:
        yield run


# --- writing


def written(case: Case) -> str:
    """The case as a file."""
    lines = [f"-- {case.title}", f"-- construct: {case.construct}"]
    lines += [f"-- spark only: {case.spark_only}"] if case.spark_only else []
    lines += [
        f"-- table {name} ({', '.join(f'{c} {kind.upper()}' for c, kind in columns)})"
        for name, columns in case.tables.items()
    ]
    for name, sql in case.views:
        lines += [*([f"-- view {name}"] if len(case.views) > 1 else []), "", sql]
    lines.append("")
    if case.commits:
        lines.append("-- commits")
        lines += [
            f"--   {line}".rstrip()
            for n, t in enumerate(case.commits, 1)
            for line in shown_transaction(n, t)
        ]
    for section in WRITTEN:
        if section in case.written:
            lines += [f"-- {section}", *(f"--   {line}" for line in case.written[section])]
    return "\n".join(lines) + "\n"
