"""Groups to Reduce blocks: keys and arguments are computed by the source, sums from them, the rest is shown.

E1  A source column is a key, named like the visible column that it is (else `_rv_k0`, …), or an aggregate's argument
    (`_rv_a0`, …); equal arguments are one column and share their sums.
E2  What is shown is a function of keys, count and sums, cast to the type that Spark gives to the user's own query.
E3  A float key has no -0.0: it groups with 0.0, as in Spark.
Knows trees over references (names.py) and the draft; the formulas are in sums.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from rollview.views.blocks import Column, Reduce
from rollview.views.draft import Draft, Outputs, Part, Rows
from rollview.views.grouping import bare, holds_aggregate, is_aggregate
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
                hint = "add it to GROUP BY, or aggregate it with SUM, COUNT or AVG"
                label = f'"{written}" is neither grouped nor aggregated'
                raise self.text.refused(place, label, hint, "MISSING_AGGREGATION")
            else:
                pending += list(node.iter_expressions())
        found: exp.Expr = holder.this
        return found.pop()

    def _call(self, node: exp.Expr) -> exp.Expr:
        """COUNT, SUM or AVG of source columns; FILTER and COUNT_IF become CASE."""
        call = node.this if isinstance(node, exp.Filter) else node
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
        if any(holds_aggregate(a) for a in arguments):
            hint = "aggregate once in a subquery in FROM, and again outside"
            raise self.text.refused(
                self.text.place(call), "aggregate of an aggregate", hint, "NESTED_AGGREGATE"
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
) -> tuple[Reduce, str]:
    """The Reduce for a SELECT with groups, and its meaning as a query over base relations."""
    source, columns, having = rewritten(draft.text, grouped, [name for name, _ in outputs])
    keys = source.keys
    names = (*keys, *(f"_rv_a{n}" for n in range(len(source.arguments))))
    rows = Rows(names, parts_of([*keys.values(), *source.arguments]))
    types = draft.meant(draft.sql(rows))[: len(names)]
    rows = _normalised(draft, rows, types, len(keys))
    sql = _meaning(
        draft, rows, list(keys), zip((n for n, _ in outputs), columns, strict=True), having
    )
    sums, kinds = Sums(), dict(zip(names, types, strict=True))
    block = Reduce(
        draft.union(rows, types),
        tuple(keys),
        (),
        tuple(
            Column(name, sql_of(cast_to(_shown(draft.text, tree, sums, kinds), kind)), kind)
            for (name, kind), tree in zip(outputs, columns, strict=True)
        ),
        sql_of(_shown(draft.text, having, sums, kinds)) if having is not None else None,
    )
    return replace(block, sums=tuple(sums.columns)), sql


def distinct(draft: Draft, rows: Rows, outputs: Outputs) -> tuple[Reduce, str]:
    """SELECT DISTINCT: every column is a key, and there is nothing to add up."""
    types = [kind for _, kind in outputs]
    rows = _normalised(draft, rows, types, len(types))
    shown = tuple(
        Column(name, sql_of(cast_to(column("", name), kind)), kind) for name, kind in outputs
    )
    sql = f"SELECT DISTINCT * FROM ({draft.sql(rows)}) AS `_rv_d`"
    return Reduce(draft.union(rows, types), rows.names, (), shown), sql


def _normalised(draft: Draft, rows: Rows, types: Sequence[str], keys: int) -> Rows:
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


def _shown(text: Text, tree: exp.Expr, sums: Sums, kinds: Mapping[str, str]) -> exp.Expr:
    """The tree with every aggregate as a function of count and sums (E2)."""
    holder = exp.Paren(this=tree.copy())
    for node in list(holder.find_all(exp.Anonymous)):
        name = call_name(node)
        arguments = [a.name for a in node.expressions if isinstance(a, exp.Column)]
        match name:
            case "COUNT":
                formula: str | None = count_of(sums, arguments)
            case "SUM":
                formula = sum_of(sums, arguments[0], kinds[arguments[0]])
            case "AVG":
                formula = avg_of(sums, arguments[0], kinds[arguments[0]])
            case _:
                continue
        if formula is None:
            label = f"{name} of {kinds[arguments[0]]}"
            hint = f"cast the argument to a type that can be added exactly, e.g. {name}(CAST(x AS DECIMAL(28, 6)))"
            raise text.refused(text.place(node), label, hint)
        node.replace(
            expression(formula) if formula.startswith("`") else exp.Paren(this=expression(formula))
        )
    found: exp.Expr = holder.this
    return found.pop()
