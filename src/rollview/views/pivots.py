"""PIVOT and UNPIVOT in FROM: groups with a column for each value, and a row for each column.

T1  PIVOT groups by the columns that it does not name; an aggregate sees the rows of its value only, and is NULL where
    there are none, as in Spark.
T2  UNPIVOT makes a part for each column that it names; NULLs are left out, unless they are included.
Knows items (items.py) and scopes. Words: docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rollview.views.draft import Draft, Part, Rows, coerced
from rollview.views.grouping import is_aggregate
from rollview.views.groups import grouped_item
from rollview.views.items import Source, item_of, parts_of
from rollview.views.names import Entry, resolved
from rollview.views.outer import known, uses
from rollview.views.syntax import column, operand


def pivoted(draft: Draft, source: Source, pivot: exp.Pivot) -> Source:
    """The source after PIVOT or UNPIVOT."""
    made = (
        _unpivot(draft, source, pivot)
        if pivot.args.get("unpivot")
        else _pivot(draft, source, pivot)
    )
    alias = pivot.args.get("alias")
    if not alias:
        return made
    return replace(
        made, scope=tuple(replace(e, qualifier=(alias.name.lower(),)) for e in made.scope)
    )


def _pivot(draft: Draft, source: Source, pivot: exp.Pivot) -> Source:
    field = pivot.args["fields"][0]
    chosen = [resolved(draft.text, source.scope, c) for c in _several(field.this)]
    aggregates = [
        resolved(draft.text, source.scope, e.this if isinstance(e, exp.Alias) else e)
        for e in pivot.expressions
    ]
    for tree in aggregates:
        _check_aggregate(draft, tree)
    keys = [
        e for e in source.scope
        if e.visible and not any(uses(t, [(e.ref.table, e.ref.name)]) for t in (*chosen, *aggregates))
    ]  # fmt: skip
    values = []
    for value in field.expressions:
        literals = _several(value.this if isinstance(value, exp.PivotAlias) else value)
        match = exp.and_(
            *(exp.NullSafeEQ(this=operand(c.copy()), expression=operand(v.copy()))
              for c, v in zip(chosen, literals, strict=True))
        )  # fmt: skip
        values += [_of_value(tree, match) for tree in aggregates]
    item = grouped_item(draft, source, (), [e.ref for e in keys], values)
    names = [*(e.name for e in keys), *(c.name for c in pivot.args["columns"])]
    qualifier = source.scope[0].qualifier
    scope = tuple(
        Entry(qualifier, n, column(*ref)) for n, ref in zip(names, item.refs, strict=True)
    )
    return Source((item,), scope)


def _several(tree: exp.Expr) -> list[exp.Expr]:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return list(tree.expressions) if isinstance(tree, exp.Tuple) else [tree]


def _check_aggregate(draft: Draft, tree: exp.Expr) -> None:
    if not any(is_aggregate(node) for node in tree.find_all(exp.Anonymous)):
        label, hint = "PIVOT of what is no aggregate", "write an aggregate, such as SUM(x)"
        raise draft.text.refused(draft.text.place(tree), label, hint)


def _of_value(tree: exp.Expr, match: exp.Expr) -> exp.Expr:
    """The aggregate over the rows of one value (T1)."""
    holder = exp.Paren(this=tree.copy())
    pending = [holder.this]
    while pending:
        node = pending.pop()
        if is_aggregate(node):
            condition = match.copy()
            if isinstance(node, exp.Filter):
                condition = exp.and_(condition, node.expression.this.copy())
                node = node.replace(node.this.copy())
            inner = node.copy()
            node.replace(exp.Filter(this=inner, expression=exp.Where(this=condition)))
        else:
            pending += list(node.iter_expressions())
    some = exp.Anonymous(this="COUNT_IF", expressions=[match.copy()])
    there = exp.GT(this=some, expression=exp.Literal.number(0))
    whole: exp.Expr = holder.this
    return exp.Case(ifs=[exp.If(this=there, true=whole.pop())])


def _unpivot(draft: Draft, source: Source, pivot: exp.Pivot) -> Source:
    field = pivot.args["fields"][0]
    shown = [i.name for v in pivot.expressions for i in _several(v)]
    named = []
    for entry in field.expressions:
        columns = _several(entry.this if isinstance(entry, exp.PivotAlias) else entry)
        alias = entry.args["alias"].name if isinstance(entry, exp.PivotAlias) else None
        if len(columns) != len(shown):
            label, hint = (
                f"UNPIVOT of {len(columns)} columns",
                f"name {len(shown)} columns each time",
            )
            place = draft.text.place(entry)
            raise draft.text.refused(place, label, hint, "NUM_COLUMNS_MISMATCH")
        trees = [resolved(draft.text, source.scope, c) for c in columns]
        named.append((alias or "_".join(c.name for c in columns), trees))
    taken = [tree for _, trees in named for tree in trees]
    kept = [
        e for e in source.scope
        if e.visible and not any(uses(t, [(e.ref.table, e.ref.name)]) for t in taken)
    ]  # fmt: skip
    parts: list[Part] = []
    for name, trees in named:
        outputs = [*(e.ref for e in kept), exp.Literal.string(name), *trees]
        some = [] if pivot.args.get("include_nulls") else [exp.or_(*(known(t) for t in trees))]
        parts += parts_of(draft, source, some, outputs)
    names = [*(e.name for e in kept), field.this.name, *shown]
    rows = Rows(tuple(f"c{n}" for n in range(len(names))), tuple(parts))
    have = [draft.meant(draft.sql(replace(rows, parts=(part,)))) for part in parts]
    rows = coerced(rows, have, draft.meant(draft.sql(rows)))
    item = item_of(draft, "u", rows, source.items[-1].query)
    qualifier = source.scope[0].qualifier
    scope = tuple(
        Entry(qualifier, n, column(*ref)) for n, ref in zip(names, item.refs, strict=True)
    )
    return Source((item,), scope)
