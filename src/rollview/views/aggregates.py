"""Groups to blocks: keys and arguments are computed by the source, sums or bags are made of them.

E1  A source column is a key, named like the visible column that it is (else `_rv_k0`, …), or an aggregate's argument
    (`_rv_a0`, …); equal arguments are one column and share their sums.
E2  What is shown is a function of keys, count and sums, cast to the type that Spark gives to the user's own query.
E3  A float key has no -0.0: it groups with 0.0, as in Spark.
E4  Where all aggregates can be added exactly, the block is a Reduce; else a BagReduce, which calls Spark's own.
Knows trees over references (names.py) and the draft; the formulas are in sums.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from rollview.views.blocks import Block, Column, Reduce
from rollview.views.draft import Draft, Outputs, Part, Rows
from rollview.views.grouping import bare, call_of, holds_aggregate, is_aggregate, is_sum
from rollview.views.memory import bag_reduce
from rollview.views.sums import Sums, avg_of, count_of, sum_of
from rollview.views.syntax import Text, call_name, cast_to, column, expression, quoted, sql_of

FLOATS = ("float", "double")


@dataclass(frozen=True, slots=True)
class Grouped:
    """A SELECT with groups, over references."""

    keys: tuple[exp.Expr, ...]
    projections: tuple[exp.Expr, ...]
    having: exp.Expr | None


@dataclass(slots=True)
class _Columns:
    """The source's columns: keys by name, and the arguments found so far (E1)."""

    text: Text
    keys: Mapping[str, exp.Expr]
    arguments: list[exp.Expr] = field(default_factory=list)

    def rewritten(self, tree: exp.Expr) -> exp.Expr:
        """The tree over source columns: keys and arguments by name, aggregates still as calls."""
        holder = exp.Paren(this=tree.copy())
        pending = [holder.this]
        while pending:
            node = pending.pop()
            name = next((n for n, key in self.keys.items() if key == bare(node)), None)
            if name is not None:
                node.replace(column("", name))
            elif is_aggregate(node):
                node.replace(self._call(node))
            elif isinstance(node, exp.Column):
                place = self.text.place(node)
                written = self.text.sql[place[0] : place[1]] if place else "a column"
                hint = "add it to GROUP BY, or aggregate it, such as with SUM, COUNT or MAX"
                label = f'"{written}" is neither grouped nor aggregated'
                raise self.text.refused(place, label, hint, "MISSING_AGGREGATION")
            else:
                pending += list(node.iter_expressions())
        found: exp.Expr = holder.this
        return found.pop()

    def _call(self, node: exp.Expr) -> exp.Expr:
        """The aggregate over source columns."""
        call = call_of(node)
        if any(holds_aggregate(a) for a in call.expressions):
            hint = "aggregate once in a subquery in FROM, and again outside"
            raise self.text.refused(
                self.text.place(call), "aggregate of an aggregate", hint, "NESTED_AGGREGATE"
            )
        return self._sum(node, call) if is_sum(node) else self._bagged(node)

    def _bagged(self, node: exp.Expr) -> exp.Expr:
        """Any aggregate, FILTER and WITHIN GROUP included; operands without columns stay as they are."""
        made = node.copy()
        pending = list(made.iter_expressions())
        while pending:
            part = pending.pop()
            if isinstance(part, CALL_PARTS):
                pending += list(part.iter_expressions())
            elif part.find(exp.Column):
                part.replace(column("", self._argument(part)))
        return made

    def _sum(self, node: exp.Expr, call: exp.Expr) -> exp.Expr:
        """COUNT, SUM or AVG of source columns; FILTER and COUNT_IF become CASE."""
        condition = node.expression.this if isinstance(node, exp.Filter) else None
        name, arguments = call_name(call), list(call.expressions)
        if name == "COUNT_IF":
            arguments = [_case(arguments[0], exp.Literal.number(1))] if arguments else []
        plain = isinstance(arguments[0], exp.Star | exp.Literal) if len(arguments) == 1 else False
        if name == "COUNT" and plain:
            arguments = [] if condition is None else [exp.Literal.number(1)]
        elif not arguments or (name in ("SUM", "AVG", "MEAN") and len(arguments) != 1):
            hint = f"{name} takes one argument" if name != "COUNT" else "COUNT(*) or COUNT(x)"
            raise self.text.refused(
                self.text.place(call), f"{name} of {len(arguments)} arguments", hint
            )
        if condition is not None:
            arguments[0] = _case(condition, arguments[0])
        kind = {"COUNT_IF": "COUNT", "MEAN": "AVG"}.get(name, name)
        columns: list[exp.Expr] = [column("", self._argument(a)) for a in arguments]
        columns = columns or [exp.Star()]
        made = exp.Anonymous(this=kind, expressions=columns)
        made.meta.update(call.meta)
        return made

    def _argument(self, tree: exp.Expr) -> str:
        if tree not in self.arguments:
            self.arguments.append(tree.copy())
        return f"_rv_a{self.arguments.index(tree)}"


CALL_PARTS = (
    exp.Anonymous, exp.Distinct, exp.Where, exp.Order, exp.Ordered, exp.Filter, exp.WithinGroup,
    exp.IgnoreNulls, exp.RespectNulls,
)  # fmt: skip
"""The structure of an aggregate call, as opposed to its operands."""


def _case(condition: exp.Expr, then: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=then.copy())])


def rewritten(
    text: Text, grouped: Grouped, names: Sequence[str]
) -> tuple[_Columns, list[exp.Expr], exp.Expr | None]:
    """The source's columns, and projections and HAVING over them (E1)."""
    shown = [bare(tree) for tree in grouped.projections]
    keys: dict[str, exp.Expr] = {}
    for number, key in enumerate(grouped.keys):
        visible = next((n for n, tree in zip(names, shown, strict=False) if tree == key), None)
        keys[visible or f"_rv_k{number}"] = key
    source = _Columns(text, keys)
    columns = [source.rewritten(tree) for tree in grouped.projections]
    return source, columns, source.rewritten(grouped.having) if grouped.having is not None else None


def reduced(
    draft: Draft,
    grouped: Grouped,
    outputs: Outputs,
    parts_of: Callable[[Sequence[exp.Expr]], tuple[Part, ...]],
) -> tuple[Block, str]:
    """The block for a SELECT with groups, and its meaning as a query over base relations (E4)."""
    source, columns, having = rewritten(draft.text, grouped, [name for name, _ in outputs])
    keys = source.keys
    names = (*keys, *(f"_rv_a{n}" for n in range(len(source.arguments))))
    rows = Rows(names, parts_of([*keys.values(), *source.arguments]))
    types = draft.meant(draft.sql(rows))[: len(names)]
    rows = normalised(draft, rows, types, len(keys))
    sql = _meaning(
        draft, rows, list(keys), zip((n for n, _ in outputs), columns, strict=True), having
    )
    trees = [*columns, *([having] if having is not None else [])]
    sums, kinds = Sums(), dict(zip(names, types, strict=True))
    if not all(_added(call, kinds) for tree in trees for call in _aggregates(tree)):
        shown = [(n, kind, tree) for (n, kind), tree in zip(outputs, columns, strict=True)]
        return bag_reduce(draft, rows, types, tuple(keys), shown, having), sql

    def overflow(where: str) -> str:
        return _overflow(draft.name, where, tuple(keys))

    block = Reduce(
        draft.union(rows, types),
        tuple(keys),
        (),
        tuple(
            Column(
                name,
                sql_of(cast_to(_shown(tree, sums, kinds, overflow(f'column "{name}"')), kind)),
                kind,
            )
            for (name, kind), tree in zip(outputs, columns, strict=True)
        ),
        sql_of(_shown(having, sums, kinds, overflow("HAVING"))) if having is not None else None,
    )
    return replace(block, sums=tuple(sums.columns)), sql


def grouped_parts(
    draft: Draft,
    grouped: Grouped,
    parts_of: Callable[[Sequence[exp.Expr]], tuple[Part, ...]],
) -> tuple[Part, ...]:
    """The projections of a SELECT with groups, stored in a block of their own and read from it."""
    names = [f"_rv_w{n}" for n in range(len(grouped.projections))]
    outputs = typed(draft, grouped, names, parts_of)
    relation = draft.add(*reduced(draft, grouped, outputs, parts_of), outputs)
    return draft.reading(relation, "g").parts


def typed(
    draft: Draft,
    grouped: Grouped,
    names: Sequence[str],
    parts_of: Callable[[Sequence[exp.Expr]], tuple[Part, ...]],
) -> Outputs:
    """The names with the types that the engine gives to what is shown of the groups."""
    source, columns, having = rewritten(draft.text, grouped, names)
    inner = (*source.keys, *(f"_rv_a{n}" for n in range(len(source.arguments))))
    rows = Rows(inner, parts_of([*source.keys.values(), *source.arguments]))
    shown = zip(names, columns, strict=True)
    sql = _meaning(draft, rows, list(source.keys), shown, having)
    return list(zip(names, draft.meant(sql), strict=True))


def _aggregates(tree: exp.Expr) -> list[exp.Expr]:
    return [node for node in tree.find_all(exp.Anonymous) if is_aggregate(node)]


def distinct(draft: Draft, rows: Rows, outputs: Outputs) -> tuple[Reduce, str]:
    """SELECT DISTINCT: every column is a key, and there is nothing to add up."""
    types = [kind for _, kind in outputs]
    rows = normalised(draft, rows, types, len(types))
    shown = tuple(
        Column(name, sql_of(cast_to(column("", name), kind)), kind) for name, kind in outputs
    )
    sql = f"SELECT DISTINCT * FROM ({draft.sql(rows)}) AS `_rv_d`"
    return Reduce(draft.union(rows, types), rows.names, (), shown), sql


def normalised(draft: Draft, rows: Rows, types: Sequence[str], keys: int) -> Rows:
    """The rows with float keys without -0.0 (E3); keys that cannot be compared are refused."""
    for name, kind in list(zip(rows.names, types, strict=True))[:keys]:
        if "map<" in kind or "variant" in kind or "collate" in kind or kind in ("void", "interval"):
            label = f'key "{name}" of type {kind}'
            hint = "use TO_JSON, CAST or single values, so that keys can be compared"
            raise draft.text.refused(None, label, hint, "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE")

    def plain(tree: exp.Expr, position: int) -> exp.Expr:
        if position >= keys or types[position] not in FLOATS:
            return tree
        zero = cast_to(exp.Literal.number(0), types[position])
        is_zero = exp.EQ(this=exp.Paren(this=tree.copy()), expression=zero.copy())
        return exp.Case(ifs=[exp.If(this=is_zero, true=zero)], default=tree.copy())

    parts = tuple(
        replace(part, outputs=tuple(plain(t, i) for i, t in enumerate(part.outputs)))
        for part in rows.parts
    )
    return replace(rows, parts=parts)


def _meaning(
    draft: Draft,
    rows: Rows,
    keys: Sequence[str],
    columns: zip[tuple[str, exp.Expr]],
    having: exp.Expr | None,
) -> str:
    shown = ", ".join(f"{sql_of(tree)} AS {quoted(name)}" for name, tree in columns)
    group = f" GROUP BY {', '.join(quoted(k) for k in keys)}" if keys else ""
    condition = f" HAVING {sql_of(having)}" if having is not None else ""
    return f"SELECT {shown} FROM ({draft.sql(rows)}) AS `_rv_g`{group}{condition}"


def _added(call: exp.Expr, kinds: Mapping[str, str]) -> bool:
    """Whether the aggregate is a function of count and exact sums (E4)."""
    return is_sum(call) and _formula(call, Sums(), kinds) is not None


def _overflow(view: str, where: str, keys: Sequence[str]) -> str:
    """What is said of a sum that no BIGINT can hold: view, column and the key of the group, as a text in SQL."""
    label = f'[ARITHMETIC_OVERFLOW] view "{view}": a SUM in {where} is no BIGINT'
    pieces: list[exp.Expr] = [exp.Literal.string(label)]
    for number, key in enumerate(keys):
        value = exp.cast(column("", key), "STRING")
        name = "key" if key.startswith("_rv_") else key
        pieces.append(exp.Literal.string(f"{',' if number else ' where'} {name} = "))
        pieces.append(
            exp.Anonymous(this="COALESCE", expressions=[value, exp.Literal.string("NULL")])
        )
    return sql_of(exp.Anonymous(this="CONCAT", expressions=pieces))


def _formula(call: exp.Expr, sums: Sums, kinds: Mapping[str, str], error: str = "") -> str | None:
    arguments = [a.name for a in call.expressions if isinstance(a, exp.Column)]
    match call_name(call):
        case "COUNT":
            return count_of(sums, arguments)
        case "SUM":
            return sum_of(sums, arguments[0], kinds[arguments[0]], error)
        case _:
            return avg_of(sums, arguments[0], kinds[arguments[0]])


def _shown(tree: exp.Expr, sums: Sums, kinds: Mapping[str, str], error: str) -> exp.Expr:
    """The tree with every aggregate as a function of count and sums (E2)."""
    holder = exp.Paren(this=tree.copy())
    for node in _aggregates(holder):
        formula = _formula(node, sums, kinds, error)
        assert formula is not None, "what cannot be added is a BagReduce"
        node.replace(
            expression(formula) if formula.startswith("`") else exp.Paren(this=expression(formula))
        )
    found: exp.Expr = holder.this
    return found.pop()
