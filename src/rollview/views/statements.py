"""The statements of the SQL face: CREATE, REFRESH, DROP, ALTER MATERIALIZED VIEW, EXPLAIN CREATE, SELECT.

M1  A statement's query keeps its place: what precedes it is blanked out, so that every later refusal names
    the line and column of the text that the user wrote.
Reads the head of a statement, token by token; the query itself is read by views/parse.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from sqlglot.tokenizer_core import Token, TokenType

from rollview.errors import ConfigError
from rollview.views.names import view_name
from rollview.views.syntax import Text, quoted, tokens_of

UNDERSTOOD = (
    "CREATE, REFRESH, DROP or ALTER MATERIALIZED VIEW, EXPLAIN CREATE MATERIALIZED VIEW, or SELECT"
)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE MATERIALIZED VIEW; comment, policy and schedule are properties like any other."""

    name: str
    query: str
    properties: Mapping[str, str] = field(default_factory=dict)
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class RefreshViews:
    """REFRESH MATERIALIZED VIEW; `to` is a CSN, a time in ISO form, or None for now."""

    names: tuple[str, ...]
    full: bool = False
    to: int | str | None = None


@dataclass(frozen=True, slots=True)
class DropView:
    """DROP MATERIALIZED VIEW."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterView:
    """ALTER MATERIALIZED VIEW … SET TBLPROPERTIES."""

    name: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ExplainView:
    """EXPLAIN CREATE MATERIALIZED VIEW."""

    create: CreateView


@dataclass(frozen=True, slots=True)
class Select:
    """A query, to be answered now."""

    query: str


Statement = CreateView | RefreshViews | DropView | AlterView | ExplainView | Select


def parse_statement(sql: str) -> Statement:
    """The statement that the text consists of."""
    head = _Head(tokens_of("the statement cannot be understood", sql))
    match head.word():
        case "SELECT" | "WITH" | "FROM" | "(":
            return Select(sql)
        case "CREATE":
            return _create(head)
        case "EXPLAIN":
            head.take("EXPLAIN")
            return ExplainView(_create(head))
        case "REFRESH":
            return _refresh(head)
        case "DROP":
            return _drop(head)
        case "ALTER":
            return _alter(head)
        case word:
            raise head.error(f"statement {word}", f"rollview understands {UNDERSTOOD}")


@dataclass(slots=True)
class _Head:
    """Reads the words before the query."""

    text: Text
    at: int = 0

    def word(self) -> str:
        """The next word in upper case; empty at the end or where a literal comes."""
        token = self.token()
        if token is None or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            return ""
        return token.text.upper()

    def token(self) -> Token | None:
        tokens = self.text.tokens
        return tokens[self.at] if self.at < len(tokens) else None

    def skip(self, *words: str) -> bool:
        """Step over the words if they come next."""
        start = self.at
        for word in words:
            if self.word() != word:
                self.at = start
                return False
            self.at += 1
        return True

    def take(self, *words: str) -> None:
        """Step over the words, which must come next."""
        for word in words:
            if not self.skip(word):
                raise self.error(f"{word} expected", f"rollview understands {UNDERSTOOD}")

    def string(self, what: str) -> str:
        token = self.token()
        if token is None or token.token_type != TokenType.STRING:
            raise self.error(f"{what} expected", "write it in single quotes")
        self.at += 1
        return token.text

    def name(self) -> str:
        """A view name."""
        token = self.token()
        if token is None:
            raise self.error("view name expected", "for example: daily_sales")
        try:
            name = view_name(token.text)
        except ConfigError as error:
            raise self.error(error.what, error.hint) from None
        self.at += 1
        if self.word() == ".":
            raise self.error("a view name has one part", "leave out what is before the dot")
        return name

    def last(self, value: Value) -> Value:
        """The value, after which nothing may follow but a semicolon."""
        self.skip(";")
        if self.token() is not None:
            raise self.error("this is too much", "remove it, or give one statement at a time")
        return value

    def error(self, label: str, hint: str) -> ConfigError:
        """The error about the next token."""
        token = self.token() or self.text.tokens[-1]
        shown = self.text.refused((token.start, token.end + 1), label, hint)
        return ConfigError(shown.what, shown.detail, shown.hint)


def _create(head: _Head) -> CreateView:
    start = head.at
    head.take("CREATE")
    or_replace = head.skip("OR", "REPLACE")
    materialized = head.at
    head.take("MATERIALIZED", "VIEW")
    if_not_exists = head.skip("IF", "NOT", "EXISTS")
    name = head.name()
    columns = _columns(head) if head.word() == "(" else ()
    properties = _clauses(head)
    head.take("AS")
    if head.token() is None:
        raise head.error("query expected", "write a SELECT after AS")
    query = _query(head, name, columns, (start, materialized))
    return CreateView(name, query, properties, or_replace, if_not_exists)


def _columns(head: _Head) -> tuple[str, ...]:
    head.take("(")
    names = []
    while True:
        token = head.token()
        if token is None or head.word() in ("(", ")", ","):
            raise head.error("column name expected", "for example: (day, total)")
        names.append(token.text)
        head.at += 1
        if head.skip(")"):
            return tuple(names)
        if not head.skip(","):
            hint = "leave out types, comments and constraints"
            raise head.error("only column names can be given", hint)


def _clauses(head: _Head) -> dict[str, str]:
    properties: dict[str, str] = {}
    while True:
        if head.skip("COMMENT"):
            properties["comment"] = head.string("comment")
        elif head.skip("TBLPROPERTIES"):
            properties |= _properties(head)
        elif head.skip("REFRESH", "POLICY"):
            properties["policy"] = _policy(head)
        elif head.skip("SCHEDULE"):
            properties["schedule"] = _schedule(head)
        elif head.word() == "AS":
            return properties
        else:
            hint = "COMMENT, TBLPROPERTIES, SCHEDULE, REFRESH POLICY or AS SELECT may come here"
            raise head.error("clause not understood", hint)


def _properties(head: _Head) -> dict[str, str]:
    head.take("(")
    properties: dict[str, str] = {}
    while True:
        key = head.string("property")
        head.take("=")
        token = head.token()
        if token is None or token.token_type not in (TokenType.STRING, TokenType.NUMBER):
            raise head.error("value expected", "write it in single quotes")
        properties[key] = token.text
        head.at += 1
        if head.skip(")"):
            return properties
        head.take(",")


def _policy(head: _Head) -> str:
    if head.skip("INCREMENTAL", "STRICT"):
        return "incremental_strict"
    for word in ("AUTO", "INCREMENTAL", "FULL"):
        if head.skip(word):
            return word.lower()
    raise head.error("policy not known", "AUTO, INCREMENTAL, INCREMENTAL STRICT or FULL")


def _schedule(head: _Head) -> str:
    head.skip("REFRESH")
    words = []
    while (token := head.token()) is not None and head.word() not in (
        "AS", "COMMENT", "TBLPROPERTIES", "REFRESH",
    ):  # fmt: skip
        words.append(token.text)
        head.at += 1
    if not words:
        raise head.error("schedule expected", "for example: SCHEDULE EVERY 1 HOUR")
    return " ".join(words).lower()


def _query(head: _Head, name: str, columns: tuple[str, ...], marks: tuple[int, int]) -> str:
    """The query at its own place in the text; with column names, as `SELECT * FROM (…)` (M1)."""
    sql, tokens = head.text.sql, head.text.tokens
    start = tokens[head.at].start
    blank = "".join(c if c in "\r\n\t" else " " for c in sql[:start])
    end = tokens[-1].start if tokens[-1].token_type == TokenType.SEMICOLON else len(sql)
    if not columns:
        return blank + sql[start:end]
    for token, over in zip((tokens[m] for m in marks), ("SELECT", "* FROM ("), strict=True):
        blank = blank[: token.start] + over + blank[token.start + len(over) :]
    named = ", ".join(quoted(c) for c in columns)
    return f"{blank}{sql[start:end]}\n) AS {quoted(name)}({named})"


def _refresh(head: _Head) -> RefreshViews:
    head.take("REFRESH", "MATERIALIZED", "VIEW")
    names = [head.name()]
    while head.skip(","):
        names.append(head.name())
    full = head.skip("FULL")
    to: int | str | None = None
    if head.skip("TO", "VERSION"):
        token = head.token()
        if token is None or not token.text.isdigit():
            raise head.error("version expected", "a CSN, for example: TO VERSION 42")
        to, head.at = int(token.text), head.at + 1
    elif head.skip("TO"):
        head.take("TIMESTAMP")
        to = head.string("time")
    return head.last(RefreshViews(tuple(names), full, to))


def _drop(head: _Head) -> DropView:
    head.take("DROP", "MATERIALIZED", "VIEW")
    if_exists = head.skip("IF", "EXISTS")
    return DropView(head.last(head.name()), if_exists)


def _alter(head: _Head) -> AlterView:
    head.take("ALTER", "MATERIALIZED", "VIEW")
    name = head.name()
    head.take("SET", "TBLPROPERTIES")
    return AlterView(name, head.last(_properties(head)))
