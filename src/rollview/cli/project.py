"""The project folder's own statements: views/*.sql and the sources of rollview.toml, made where they are missing.

T1  A file holds CREATE MATERIALIZED VIEW statements, or one SELECT whose view is called like the file.
T2  Views are created after those that they read. One that exists is left alone; if its file says something else now,
    that is an error, unless the file says CREATE OR REPLACE.
T3  Errors name the file, and the line within it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from rollview.config import Project
from rollview.errors import ConfigError, RollviewError
from rollview.reports import SourceReport
from rollview.views.names import view_name
from rollview.views.statements import CreateView, Select, parse_statement
from rollview.views.syntax import RollviewSpark, tokens_of
from rollview.warehouse import Warehouse

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ViewFile:
    """A view as its file has it: the statement, and the names that its query reads."""

    path: Path
    view: CreateView
    reads: frozenset[str]


@dataclass(slots=True)
class Prepared:
    """What was made before a refresh."""

    sources: list[SourceReport] = field(default_factory=list)
    created: list[str] = field(default_factory=list)


def prepare(wh: Warehouse, project: Project, names: Sequence[str], say: Say) -> Prepared:
    """Make the sources and views of the project that are missing; only `names`, if there are any."""
    done = Prepared()
    files = view_files(project)
    for name in project.sources:
        if wh.ledger.source(name) is None:
            report = wh.add_source(name, **source_options(project, name))
            say(f'source "{name}": {", ".join(report.added)}')
            done.sources.append(report)
    for file in _wanted(files, names):
        with _in_file(file.path):
            if _missing_or_replaced(wh, file):
                report = _created(wh, file.view)
                say(f'view "{file.view.name}" created at {report.view_time} from {file.path.name}')
                done.created.append(file.view.name)
    return done


def source_options(project: Project, name: str) -> dict[str, Any]:
    """The arguments of add_source for [source.NAME]; paths are relative to the project folder."""
    entry = project.sources.get(name)
    if entry is None:
        known = ", ".join(project.sources) or "none"
        raise ConfigError(f'rollview.toml has no source "{name}"', f"sources there: {known}",
                          f"say where it is: rollview source add {name} --delta FOLDER")  # fmt: skip
    delta = entry.get("delta")
    if isinstance(delta, Mapping):
        return {**entry, "delta": {t: _there(project, str(p)) for t, p in delta.items()}}
    return {**entry, "delta": _there(project, str(delta))} if delta is not None else dict(entry)


def _there(project: Project, place: str) -> str:
    """A path below the project folder where there is one; else as it is: a URL, or a name in a catalog."""
    below = project.folder / place
    return str(below) if "://" not in place and below.exists() else place


def view_files(project: Project) -> list[ViewFile]:
    """The views of views/*.sql, each after those that it reads (T2)."""
    files: dict[str, ViewFile] = {}
    for path in sorted((project.folder / "views").glob("*.sql")):
        with _in_file(path):
            for file in _views_in(path):
                if file.view.name in files:
                    other = files[file.view.name].path.name
                    raise ConfigError(f'view "{file.view.name}" is defined twice',
                                      f"the other definition is in {other}", "remove one of them")  # fmt: skip
                files[file.view.name] = file
    return _upstream_first(files)


def _views_in(path: Path) -> Iterator[ViewFile]:
    parts = statements_in(path.read_text(encoding="utf-8"))
    for text in parts:
        statement = parse_statement(text)
        if isinstance(statement, Select) and len(parts) == 1:
            query = statement.query.rstrip().removesuffix(";")
            statement = CreateView(view_name(path.stem), query)
        if not isinstance(statement, CreateView):
            raise ConfigError(
                f'"{path.name}" is not a view definition',
                hint="a file in views/ has CREATE MATERIALIZED VIEW statements, or one SELECT",
            )
        yield ViewFile(path, statement, _names_read(statement.query))


def statements_in(text: str) -> list[str]:
    """The statements of a text, each at its own line: what precedes it is blank."""
    try:
        tokens = RollviewSpark().tokenize(text)
    except SqlglotError:
        return [text]  # the statement's own parser says what is wrong, and where
    starts, parts = [0], []
    starts += [t.end + 1 for t in tokens if t.token_type == TokenType.SEMICOLON]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if any(start <= t.start < end and t.token_type != TokenType.SEMICOLON for t in tokens):
            blank = "".join(c if c in "\r\n\t" else " " for c in text[:start])
            parts.append(blank + text[start:end])
    return parts


def _names_read(query: str) -> frozenset[str]:
    try:
        tree = RollviewSpark().parse(query)[0]
    except SqlglotError:
        return frozenset()  # creating the view says what is wrong
    tables = tree.find_all(exp.Table) if tree else ()
    return frozenset(t.name.lower() for t in tables if not t.db)


def _upstream_first(files: Mapping[str, ViewFile]) -> list[ViewFile]:
    ordered: dict[str, ViewFile] = {}

    def visit(file: ViewFile, path: tuple[str, ...]) -> None:
        name = file.view.name
        if name in path:
            raise ConfigError(f'view "{name}" reads itself', " reads ".join((*path, name)),
                              "break the circle")  # fmt: skip
        for read in sorted(file.reads):
            if read in files and read not in ordered:
                visit(files[read], (*path, name))
        ordered.setdefault(name, file)

    for file in files.values():
        visit(file, ())
    return list(ordered.values())


def _wanted(files: Sequence[ViewFile], names: Sequence[str]) -> list[ViewFile]:
    """All files, or those of `names` and of what they read, in order."""
    if not names:
        return list(files)
    wanted = set(names)
    for file in reversed(files):
        if file.view.name in wanted:
            wanted |= file.reads
    return [f for f in files if f.view.name in wanted]


def _created(wh: Warehouse, view: CreateView) -> Any:
    if view.or_replace and wh.ledger.view(view.name) is not None:
        wh.drop(view.name)
    return wh.create(view.name, view.query, **view.properties)


def _missing_or_replaced(wh: Warehouse, file: ViewFile) -> bool:
    """Whether the view must be created; raises where file and view disagree (T2)."""
    view = wh.ledger.view(file.view.name)
    if view is None:
        return True
    name = view.name
    if _words(view.sql) != _words(file.view.query):
        if file.view.or_replace:
            return True
        raise ConfigError(
            f'view "{name}" is not what its file says now',
            "the file was changed after the view was created",
            f"rollview drop {name}, then rollview refresh; or write CREATE OR REPLACE in the file",
        )
    other = {k: v for k, v in file.view.properties.items() if str(view.options.get(k)) != v}
    if other:
        given = ", ".join(f"'{k}' = '{v}'" for k, v in other.items())
        raise ConfigError(
            f'view "{name}" has other options than its file says now',
            f"the file says {given}",
            f'rollview sql "ALTER MATERIALIZED VIEW {name} SET TBLPROPERTIES ({given})"',
        )
    return False


def _words(sql: str) -> list[str]:
    """The words of a query: spaces, comments and the case of names do not matter."""
    exact = (TokenType.STRING, TokenType.IDENTIFIER)
    tokens = tokens_of("the query", sql).tokens
    return [t.text if t.token_type in exact else t.text.upper() for t in tokens]


@contextmanager
def _in_file(path: Path) -> Iterator[None]:
    """Errors inside name the file (T3)."""
    try:
        yield
    except RollviewError as error:
        error.detail = "\n".join(filter(None, [error.detail, f"in {path.parent.name}/{path.name}"]))
        raise
