"""SQL text to tree and back, and the place in the text that an error is about.

X1  Function calls stay calls: the tree keeps the name and arguments as written, so that what is generated
    means to Spark what the user's text meant; sqlglot's own rewriting of functions is switched off.
X2  Generated text quotes every identifier, carries no comments and never contains a `${` that Spark would
    substitute.
X3  Every refusal names the line and underlines the part.
Knows the grammar only: what is allowed is limits.py. Words: docs/glossary.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from rollview.errors import ConfigError, ViewRefused

LONGEST_SQL = 64 * 1024
DEEPEST_NESTING = 100
WIDEST_LINE = 120
FIRST_WORDS = ("SELECT", "WITH", "FROM", "(")
AFTER_NO_COMMA = (TokenType.FROM, TokenType.R_PAREN, TokenType.WHERE, TokenType.GROUP_BY)
SYNTAX_CALLS = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "SUBSTRING", "SUBSTR", "OVERLAY")
DATE_UNITS = frozenset((
    "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "DAYOFYEAR", "WEEK", "MONTH", "QUARTER", "YEAR",
))  # fmt: skip
DATE_UNIT_CALLS = frozenset(
    ["DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF", "TIMESTAMPADD", "TIMESTAMPDIFF"]
)
OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE, TokenType.L_BRACE)
CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END, TokenType.R_BRACE)


class RollviewSpark(Spark):
    """Spark SQL in which calls stay calls (X1) and a doubled quote is a quote, as in Spark 4."""

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens; no word swallows the rest of a statement."""

        COMMANDS = set()  # noqa: RUF012
        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012 (sqlglot's way)

    class Parser(SparkParser):
        """Spark's grammar without sqlglot's functions (X1)."""

        FUNCTIONS = {}  # noqa: RUF012
        ARRAY_CONSTRUCTORS = {}  # noqa: RUF012
        FUNCTION_PARSERS = {k: SparkParser.FUNCTION_PARSERS[k] for k in SYNTAX_CALLS}  # noqa: RUF012

    def parser(self, **options: Any) -> SparkParser:
        """A parser of our own, which the compiled build of sqlglot does not allow."""
        try:
            return self.Parser(dialect=self, **options)
        except TypeError as error:
            raise ConfigError(
                "rollview cannot read SQL: sqlglot is installed in its compiled build (sqlglotc)",
                str(error),
                "pip uninstall sqlglotc, then pip install --force-reinstall --no-deps sqlglot",
            ) from error


@dataclass(frozen=True, slots=True)
class Text:
    """What the user wrote and what it is for; `subject` begins every refusal."""

    subject: str
    sql: str
    tokens: Sequence[Token] = ()

    def refused(
        self, place: tuple[int, int] | None, label: str, hint: str, reason: str = ""
    ) -> ViewRefused:
        """The error for `label` at `place`, character offsets [start, end) (X3)."""
        start, end = place or self.whole()
        line = self.sql.count("\n", 0, start) + 1
        begin = self.sql.rfind("\n", 0, start) + 1
        return ViewRefused(
            f"{self.subject}: {label} at line {line}",
            self._underlined(start, end, begin),
            hint,
            reason or "PLAN_NOT_INCREMENTALIZABLE",
            line,
            start - begin + 1,
        )

    def _underlined(self, start: int, end: int, begin: int) -> str:
        """The line with the part underlined; of a long line, what is around the part."""
        stop = self.sql.find("\n", begin)
        stop = stop if stop >= 0 else len(self.sql)
        if stop - begin > WIDEST_LINE:
            begin = max(begin, start - WIDEST_LINE // 3)
            stop = min(stop, begin + WIDEST_LINE)
        row = self.sql[begin:stop].rstrip()
        width = max(1, min(end, begin + len(row)) - start)
        before = "".join(c if c == "\t" else " " for c in self.sql[begin:start])
        return f"{row}\n{before}{'^' * width}"

    def whole(self) -> tuple[int, int]:
        """From the first token to the last."""
        return (self.tokens[0].start, self.tokens[-1].end + 1) if self.tokens else (0, 1)

    def place(self, node: exp.Expr, word: str = "") -> tuple[int, int] | None:
        """Where `node` is written; `word` lists keywords that it may begin with, which have no place there."""
        spans = [(n.meta["start"], n.meta["end"] + 1) for n in node.walk() if "start" in n.meta]
        start, end = (min(s for s, _ in spans), max(e for _, e in spans)) if spans else (-1, -1)
        words = word.split()
        found = [t for t in self.tokens if t.text.upper().split(" ")[0] in words]
        if found:
            token = next((t for t in reversed(found) if t.start <= start), found[0])
            return token.start, max(token.end + 1, end)
        if not spans:
            return self.place(node.parent) if node.parent else None
        return start, self._closed(node, end)

    def _closed(self, node: exp.Expr, end: int) -> int:
        """The end of a call, with the parenthesis that closes it."""
        begin = node.meta.get("start")
        if not isinstance(node, exp.Anonymous) or begin is None:
            return end
        depth = 0
        for token in (t for t in self.tokens if t.start > begin):
            depth += (token.token_type == TokenType.L_PAREN) - (
                token.token_type == TokenType.R_PAREN
            )
            if depth <= 0:
                return max(end, token.end + 1)
        return end


def tokens_of(subject: str, sql: str) -> Text:
    """The text with its tokens; refused if it is empty, too long or not even tokens."""
    text = Text(subject, sql)
    if not sql.strip():
        raise text.refused(None, "no SQL", "write a SELECT statement", "SYNTAX_ERROR")
    if len(sql.encode("utf-8", "replace")) > LONGEST_SQL:
        raise text.refused(
            (0, 1), "SQL longer than 64 KiB", "split the view into several views", "SYNTAX_ERROR"
        )
    try:
        tokens = RollviewSpark().tokenize(sql)
    except SqlglotError as error:
        found = re.search(r"from (\d+):(\d+)", str(error.__cause__))
        start = _offset(sql, int(found[1]), int(found[2])) if found else 0
        hint = "close every quote, backtick and comment"
        raise text.refused((start, start + 1), "syntax error", hint, "SYNTAX_ERROR") from error
    if not tokens:
        raise text.refused(None, "no SQL", "write a SELECT statement", "SYNTAX_ERROR")
    for token, following in pairwise(tokens):
        if token.token_type == TokenType.WINDOW and following.token_type == TokenType.L_PAREN:
            token.token_type = TokenType.VAR  # a call; the clause has a name there
    return Text(subject, sql, tokens)


def parse_select(text: Text) -> exp.Query:
    """The one query that the text consists of."""
    _check_nesting(text)
    first = text.tokens[0]
    if first.text.upper() not in FIRST_WORDS:
        hint = "a view is one SELECT statement"
        raise text.refused((first.start, first.end + 1), first.text.upper(), hint, "SYNTAX_ERROR")
    _check_tokens(text)
    try:
        statements = [
            s for s in RollviewSpark().parser().parse(list(text.tokens), text.sql) if s is not None
        ]
    except SqlglotError as error:
        raise _syntax_error(text, error) from error
    except RecursionError as error:
        raise _too_deep(text, text.tokens[0]) from error
    tree = statements[0] if statements else None
    if not isinstance(tree, exp.Query):
        hint = "a view is one SELECT statement"
        raise text.refused(text.whole(), first.text.upper(), hint, "SYNTAX_ERROR")
    return _tidied(_bound_tighter(tree))


def _check_tokens(text: Text) -> None:
    """Refuse what sqlglot reads, but Spark does not: statements, pipes, a comma before FROM."""
    for token, following in pairwise(text.tokens):
        place = (token.start, token.end + 1)
        if token.token_type == TokenType.SEMICOLON and following.token_type != TokenType.SEMICOLON:
            raise text.refused(
                place, "several statements", "give one SELECT statement", "SYNTAX_ERROR"
            )
        if token.text == "|>":
            raise text.refused(place, "pipe syntax", "write it as SELECT … FROM …", "SYNTAX_ERROR")
        if token.token_type == TokenType.COMMA and following.token_type in AFTER_NO_COMMA:
            raise text.refused(place, "syntax error near ','", "remove the comma", "SYNTAX_ERROR")


def _check_nesting(text: Text) -> None:
    depth = 0
    for token in text.tokens:
        depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
        if depth > DEEPEST_NESTING:
            raise _too_deep(text, token)


def _too_deep(text: Text, token: Token) -> ViewRefused:
    return text.refused(
        (token.start, token.end + 1),
        f"nesting deeper than {DEEPEST_NESTING}",
        "split the expression or the view into several",
        "EXCESSIVE_OPERATOR_NESTING",
    )


def _syntax_error(text: Text, error: SqlglotError) -> ViewRefused:
    found = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    end = _offset(text.sql, int(found.get("line") or 1), int(found.get("col") or 1))
    token = next((t for t in text.tokens if t.end + 1 >= end), text.tokens[-1])
    label = f"syntax error near {token.text!r}"
    description = re.split(r" but got| for <| missing|\.$", str(found.get("description") or ""))[0]
    if description in ("", "Invalid expression / Unexpected token") or "Required" in description:
        description = "something is missing or too much here"
    return text.refused((token.start, token.end + 1), label, description, "SYNTAX_ERROR")


def _offset(sql: str, line: int, col: int) -> int:
    """The character offset of a line and column as sqlglot counts them."""
    return sum(len(row) + 1 for row in sql.split("\n")[: line - 1]) + col


def _bound_tighter(tree: exp.Query) -> exp.Query:
    """The tree in which INTERSECT binds before UNION and EXCEPT, as in Spark."""
    for node in reversed(list(tree.find_all(exp.Intersect))):
        above = node.this
        if isinstance(above, (exp.Union, exp.Except)):
            node.replace(above) if node.parent else above.pop()
            tree = above if node is tree else tree
            node.set("this", above.expression)
            above.set("expression", node)
            if node.args.get("with_"):
                above.set("with_", node.args.pop("with_"))
    return tree


def _tidied(tree: exp.Query) -> exp.Query:
    """The tree with date units as words, sums of intervals that print as one operand, and ANY(x) as a call."""
    for node in list(tree.find_all(exp.Anonymous, exp.Add, exp.Any)):
        if isinstance(node, exp.Any):
            inside, above = node.this, node.parent
            if isinstance(inside, exp.Paren) and not isinstance(above, (exp.Like, exp.ILike)):
                node.replace(exp.Anonymous(this="ANY", expressions=[inside.this.copy()]))
        elif isinstance(node, exp.Add):
            pair = isinstance(node.this, (exp.Interval, exp.Add)) and isinstance(
                node.expression, exp.Interval
            )
            if pair and isinstance(node.parent, exp.Binary):
                node.replace(exp.Paren(this=node.copy()))
        elif call_name(node) in DATE_UNIT_CALLS and len(node.expressions) == 3:
            unit = node.expressions[0]
            if isinstance(unit, exp.Column) and unit.sql().upper() in DATE_UNITS:
                unit.replace(exp.Var(this=unit.name.upper()))
    return tree


def call_name(node: exp.Expr) -> str:
    """The function's name in upper case; empty where the node is not a plain call."""
    return node.name.upper() if isinstance(node, exp.Anonymous) else ""


def sql_of(node: exp.Expr) -> str:
    """The Spark SQL of a tree (X2)."""
    sql = RollviewSpark().generate(node, identify=True, comments=False, normalize_functions="upper")
    assert "${" not in sql, "limits.py lets no `${` through"
    return sql


def expression(sql: str) -> exp.Expr:
    """A generated expression as a tree."""
    return sqlglot.parse_one(sql, dialect=RollviewSpark)


def unwrapped(query: exp.Expr) -> exp.Expr:
    """The query inside parentheses."""
    while isinstance(query, exp.Subquery):
        query = query.this
    return query


def quoted(name: str) -> str:
    """The name in backticks."""
    return f"`{name.replace('`', '``')}`"


def column(table: str, name: str) -> exp.Column:
    """`table`.`name`; without a table, just `name`."""
    return exp.column(
        exp.to_identifier(name, quoted=True),
        table=exp.to_identifier(table, quoted=True) if table else None,
    )


def operand(node: exp.Expr) -> exp.Expr:
    """The node, in parentheses where it could not stand as an operand."""
    atoms = (
        exp.Column,
        exp.Literal,
        exp.Paren,
        exp.Anonymous,
        exp.Cast,
        exp.Case,
        exp.Null,
        exp.Boolean,
    )
    return node if isinstance(node, atoms) else exp.Paren(this=node)


def cast_to(node: exp.Expr, spark_type: str) -> exp.Expr:
    """CAST(node AS spark_type)."""
    return exp.Cast(this=node, to=exp.DataType.build(spark_type, dialect=RollviewSpark))
