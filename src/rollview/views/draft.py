"""A definition in the making: rows as select-project-join parts, and the blocks written so far.

D1  A part is a join of relations: its conditions and outputs are over `alias`.`column` of its inputs, and no two
    inputs of a block share an alias. So a query inside FROM is flattened by substituting its outputs.
D2  A stored block has a query with the same columns; with these as WITH queries, any text made here can be described by
    an engine that knows the base relations only.
Knows neither SELECT nor FROM (flatten.py does). Words: docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count

from sqlglot import exp

from rollview.errors import RollviewError, ViewRefused
from rollview.views.blocks import Block, Column, Generator, Input, Join, Union
from rollview.views.names import Schema, checked_size, relation_identifier
from rollview.views.syntax import Text, cast_to, operand, quoted, sql_of

Outputs = Sequence[tuple[str, str]]
"""(name, Spark type) of each output column."""

Describe = Callable[[str], Outputs]
"""An engine's word: the outputs of a query over relations named by `relation_identifier`. Analysis only.

It raises a RollviewError with the engine's words if the query cannot be analysed."""


Derive = Callable[[Sequence[str]], bool]
"""Whether the memory of a BagReduce over a join of these relations is read from them, and not stored."""


def never(_: Sequence[str]) -> bool:
    """Memory over a join is stored."""
    return False


@dataclass(frozen=True, slots=True)
class Generating:
    """A call that makes rows of each row; its columns are `alias`.`name`."""

    alias: str
    call: exp.Expr
    names: tuple[str, ...]
    outer: bool


@dataclass(frozen=True, slots=True)
class Part:
    """One select-project-join; `inputs` are (alias, relation) (D1). With sign -1 its rows are taken away."""

    inputs: tuple[tuple[str, str], ...]
    conditions: tuple[exp.Expr, ...]
    outputs: tuple[exp.Expr, ...]
    sign: int = 1
    generators: tuple[Generating, ...] = ()

    @property
    def trees(self) -> tuple[exp.Expr, ...]:
        """Everything that is over `alias`.`column` of the inputs and generators."""
        return (*self.conditions, *self.outputs, *(g.call for g in self.generators))


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of all parts, under common column names."""

    names: tuple[str, ...]
    parts: tuple[Part, ...]


@dataclass(slots=True)
class Draft:
    """What is known of the definition so far."""

    text: Text
    name: str
    schema: Schema
    described: Describe
    derive: Derive = never
    blocks: list[Block] = field(default_factory=list)
    queries: dict[str, str] = field(default_factory=dict)
    columns: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    stored: dict[tuple[str, int], str] = field(default_factory=dict)
    shapes: dict[tuple[str, ...], str] = field(default_factory=dict)
    aliases: set[str] = field(default_factory=set)

    def scratch(self) -> Draft:
        """A draft of the same view to try something in: what is made in it is not kept."""
        return Draft(self.text, self.name, self.schema, self.described, self.derive)

    def alias(self, wish: str) -> str:
        """An alias that no other input has, as near to `wish` as possible."""
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in wish.lower())
        plain = plain if plain and not plain.startswith("_rv_") else "t"
        others = (f"{plain}_{n}" for n in count(2))
        found = next(a for a in chain([plain], others) if a not in self.aliases)
        self.aliases.add(found)
        return found

    def describe(self, sql: str) -> Outputs:
        """The outputs of a query, by the engine's word."""
        try:
            return self.described(sql)
        except ViewRefused:
            raise
        except RollviewError as error:
            raise ViewRefused(
                f"{self.text.subject}: Spark does not accept it",
                "\n".join(part for part in (error.what, error.detail) if part),
                error.hint or "try the SELECT by itself in Spark",
                reason="ANALYSIS_ERROR",
            ) from error

    def meant(self, sql: str) -> list[str]:
        """The types of a query over base relations and blocks (D2)."""
        return [kind for _, kind in self.outputs(sql)]

    def outputs(self, sql: str) -> Outputs:
        """Names and types of a query over base relations and blocks (D2)."""
        blocks = ", ".join(
            f"{quoted(relation_identifier(block))} AS ({query})"
            for block, query in self.queries.items()
        )
        return self.describe(f"WITH {blocks} {sql}" if blocks else sql)

    def types(self, relation: str) -> tuple[tuple[str, str], ...]:
        """The columns of a base relation or of a block."""
        return self.columns.get(relation) or tuple(self.schema[relation])

    def add(self, block: Block, sql: str, outputs: Outputs) -> str:
        """Store a block; the relation by which later ones read it (D2)."""
        relation = f"{self.name}#{len(self.blocks)}"
        self.blocks.append(block)
        self.queries[relation], self.columns[relation] = sql, tuple(outputs)
        return relation

    def hidden(
        self, shape: tuple[str, ...], build: Callable[[], tuple[Block, str]], outputs: Outputs
    ) -> str:
        """The relation of a block that no query of the user's stands for; of one shape there is one."""
        if shape not in self.shapes:
            for name, kind in outputs:
                if kind == "void":
                    hint = "name its type: CAST(NULL AS …)"
                    raise self.text.refused(None, f'"{name}" has no type', hint, "VOID_TYPE")
            block, sql = build()
            self.shapes[shape] = self.add(block, sql, outputs)
        return self.shapes[shape]

    def shape(self, rows: Rows) -> str:
        """What the rows are made of, whatever their aliases."""
        shapes = []
        for part in rows.parts:
            plain = {alias: f"t{n}" for n, (alias, _) in enumerate(part.inputs)}
            plain |= {g.alias: f"g{n}" for n, g in enumerate(part.generators)}
            trees = [tree.copy() for tree in part.trees]
            for node in (c for tree in trees for c in tree.find_all(exp.Column)):
                node.set("table", exp.to_identifier(plain[node.table], quoted=True))
            inputs = [f"{plain[alias]} {relation}" for alias, relation in part.inputs]
            made = [f"{g.names} {g.outer}" for g in part.generators]
            shapes.append("; ".join([f"{part.sign}", *inputs, *made, *map(sql_of, trees)]))
        return "\n".join(shapes)

    def reading(self, relation: str, wish: str) -> Rows:
        """All columns of a relation."""
        alias = self.alias(wish)
        names = tuple(name for name, _ in self.types(relation))
        outputs = tuple(_ref(alias, name) for name in names)
        return Rows(names, (Part(((alias, relation),), (), outputs),))

    def sql(self, rows: Rows) -> str:
        """The rows as a query over base relations and blocks (D2)."""
        return " UNION ALL ".join(self._part_sql(rows.names, part) for part in rows.parts)

    def _part_sql(self, names: Sequence[str], part: Part) -> str:
        pairs = zip(names, part.outputs, strict=True)
        shown = ", ".join(f"{sql_of(e)} AS {quoted(n)}" for n, e in pairs) or "1 AS `_rv_one`"
        tables = ", ".join(
            f"{quoted(relation_identifier(relation))} AS {quoted(a)}" for a, relation in part.inputs
        )
        tables = tables or "(SELECT 1 AS `_rv_one`) AS `_rv_nothing`"
        for g in part.generators:
            names = ", ".join(map(quoted, g.names))
            how = "LATERAL VIEW OUTER" if g.outer else "LATERAL VIEW"
            tables += f" {how} {sql_of(g.call)} {quoted(g.alias)} AS {names}"
        where = f" WHERE {condition_sql(part)}" if part.conditions else ""
        return f"SELECT {shown} FROM {tables}{where}"

    def union(self, rows: Rows, types: Sequence[str]) -> Union:
        """The rows as a block."""
        return Union(tuple(self._join(part, rows.names, types) for part in rows.parts))

    def _join(self, part: Part, names: Sequence[str], types: Sequence[str]) -> Join:
        read = {(c.table, c.name) for tree in part.trees for c in tree.find_all(exp.Column)}
        inputs = tuple(
            Input(alias, relation, tuple(n for n, _ in self.types(relation) if (alias, n) in read))
            for alias, relation in part.inputs
        )
        columns = tuple(
            Column(name, sql_of(tree), kind)
            for name, tree, kind in zip(names, part.outputs, types, strict=True)
        )
        condition = condition_sql(part) if part.conditions else None
        generators = tuple(
            Generator(g.alias, sql_of(g.call), g.names, g.outer) for g in part.generators
        )
        return Join(inputs, condition, columns, part.sign, generators)


def _ref(alias: str, name: str) -> exp.Column:
    return exp.column(
        exp.to_identifier(name, quoted=True), table=exp.to_identifier(alias, quoted=True)
    )


def condition_sql(part: Part) -> str:
    """All conditions of a part as one."""
    return sql_of(exp.and_(*part.conditions))


Bindings = Mapping[tuple[str, str], exp.Expr]
"""(table, column) of a reference -> what it stands for."""


def substituted(text: Text, tree: exp.Expr, bindings: Bindings) -> exp.Expr:
    """A copy of the tree with what its references stand for (D1)."""
    holder = exp.Paren(this=tree.copy())
    grown = 0
    for node in list(holder.find_all(exp.Column)):
        meant = bindings[node.table, node.name].copy()
        grown = checked_size(text, grown, meant, node)
        alone = isinstance(node.parent, (exp.Paren, exp.Anonymous, exp.Cast))
        node.replace(meant if alone else operand(meant))
    found: exp.Expr = holder.this
    return found.pop()


def coerced(rows: Rows, have: Iterable[Sequence[str]], want: Sequence[str]) -> Rows:
    """The rows with each part's columns cast to the common types."""
    parts = []
    for part, types in zip(rows.parts, have, strict=True):
        outputs = tuple(
            tree if kind == wanted else cast_to(tree, wanted)
            for tree, kind, wanted in zip(part.outputs, types, want, strict=True)
        )
        parts.append(replace(part, outputs=outputs))
    return Rows(rows.names, tuple(parts))
