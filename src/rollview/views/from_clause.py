"""FROM: tables, WITH queries, subqueries and joins, as items with references to their columns.

H1  A reference is `item`.`position`; what it stands for is the item's rows' matter, so that an item can be
    substituted, part by part.
H2  All joins are inner joins: their conditions are kept in one list, beside those of WHERE.
How a query inside FROM becomes rows is given as a function (flatten.py's recursion). Words: docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.views.draft import Draft, Rows
from rollview.views.grouping import holds_aggregate
from rollview.views.names import Entry, Scope, cte_of, merged, resolved, shared_columns
from rollview.views.syntax import column, unwrapped

Read = Callable[[exp.Expr], Rows]
"""The rows of a query inside FROM."""


@dataclass(frozen=True, slots=True)
class Item:
    """A table, subquery or WITH query in FROM; its references are `alias`.`key`."""

    alias: str
    keys: tuple[str, ...]
    rows: Rows
    query: exp.Expr


@dataclass(frozen=True, slots=True)
class Source:
    """FROM: its items, what its columns are called, and the join conditions."""

    items: tuple[Item, ...]
    scope: Scope
    conditions: tuple[exp.Expr, ...] = ()


def from_source(draft: Draft, select: exp.Select, read: Read) -> Source:
    """The FROM of a SELECT."""
    start = select.args.get("from_")
    if start is None:
        hint = "read at least one table"
        raise draft.text.refused(draft.text.place(select, "SELECT"), "SELECT without FROM", hint)
    source = _source(draft, start.this, read)
    for join in select.args.get("joins") or ():
        source = _joined(draft, source, join, read)
    return source


def _source(draft: Draft, node: exp.Expr, read: Read) -> Source:
    """One FROM item: a table, a WITH query, a subquery, or a join in parentheses."""
    inner = node.this if isinstance(node, exp.Subquery) else node
    if isinstance(node, exp.Subquery) and not isinstance(unwrapped(inner), exp.Query):
        source = _source(draft, inner, read)
        if node.alias:
            renamed = tuple(replace(e, qualifier=(node.alias.lower(),)) for e in source.scope)
            source = replace(source, scope=renamed)
    elif isinstance(node, exp.Table) and "relation" in node.meta:
        relation = node.meta["relation"]
        qualifier = tuple(relation.lower().split("."))
        written = node.alias.lower()
        qualifier = qualifier if written == qualifier[-1] else (written,)
        source = _item(draft, node, draft.reading(relation, node.alias), qualifier)
    elif isinstance(node, exp.Table):
        cte = cte_of(node)
        assert cte is not None, "bind() leaves only relations and WITH names"
        rows = _renamed(draft, cte, read(cte.this))
        source = _item(draft, node, rows, (node.alias_or_name.lower(),))
    else:
        source = _item(draft, node, read(inner), (node.alias.lower(),))
    for join in node.args.get("joins") or ():
        source = _joined(draft, source, join, read)
    return source


def _renamed(draft: Draft, node: exp.Expr, rows: Rows) -> Rows:
    """The rows under the column names of an alias: `AS q(a, b)`."""
    alias = node.args.get("alias")
    columns = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    if not columns:
        return rows
    if len(columns) != len(rows.names):
        label = f"{len(columns)} names for {len(rows.names)} columns"
        raise draft.text.refused(draft.text.place(columns[0]), label, "name every column once")
    return replace(rows, names=tuple(c.name for c in columns))


def _item(draft: Draft, node: exp.Expr, rows: Rows, qualifier: tuple[str, ...]) -> Source:
    rows = _renamed(draft, node, rows)
    alias = draft.alias(f"_{qualifier[-1]}")
    keys = tuple(f"{position}" for position in range(len(rows.names)))
    scope = tuple(
        Entry(qualifier, name, column(alias, key))
        for name, key in zip(rows.names, keys, strict=True)
    )
    return Source((Item(alias, keys, rows, node),), scope)


def _joined(draft: Draft, left: Source, join: exp.Join, read: Read) -> Source:
    right = _source(draft, join.this, read)
    twice = {e.qualifier for e in left.scope} & {
        e.qualifier for e in right.scope if e.qualifier[-1]
    }
    if twice:
        name = ".".join(min(twice))
        hint = "give each of them an alias of its own"
        place = draft.text.place(join.this)
        raise draft.text.refused(
            place, f'two tables named "{name}" in FROM', hint, "AMBIGUOUS_REFERENCE"
        )
    scope: Scope = (*left.scope, *right.scope)
    conditions: list[exp.Expr] = []
    using = join.args.get("using") or ()
    if join.args.get("method"):
        using = shared_columns(left.scope, right.scope)
    if using:
        keys = [k if isinstance(k, exp.Identifier) else k.this for k in using]
        scope, conditions = merged(draft.text, left.scope, right.scope, keys)
    elif join.args.get("on") is not None:
        conditions = [row_condition(draft, scope, join.args["on"])]
    return Source(
        (*left.items, *right.items), scope, (*left.conditions, *right.conditions, *conditions)
    )


def row_condition(draft: Draft, scope: Scope, tree: exp.Expr) -> exp.Expr:
    """A condition of ON or WHERE over references."""
    if holds_aggregate(tree):
        hint = "write conditions on aggregates in HAVING"
        raise draft.text.refused(
            draft.text.place(tree), "aggregate in WHERE or ON", hint, "INVALID_WHERE_CONDITION"
        )
    return resolved(draft.text, scope, tree)
