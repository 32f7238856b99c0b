"""What relates a subquery to the row of the query around it.

K1  A subquery's conditions may use references of the query around it; of a query further out they may not.
K2  What is grouped is related by equalities with keys of its groups; where something else relates it, the subquery is
    grouped by the distinct values of the outer columns that it reads.
Knows items and trees over references; what a subquery is for is subqueries.py's matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.views.draft import Draft, Rows
from rollview.views.groups import grouped_item
from rollview.views.items import Ref, Source, columns_of, item_of
from rollview.views.outer import Pair, Relating, distinct_item, keyed, relating, uses
from rollview.views.selects import Selected
from rollview.views.syntax import column


@dataclass(frozen=True, slots=True)
class Inner:
    """The rows of a subquery; conditions and outputs may use references of the query around it (K1)."""

    source: Source
    where: tuple[exp.Expr, ...]
    outputs: tuple[exp.Expr, ...]
    names: tuple[str | None, ...]


def inner_of(draft: Draft, query: exp.Expr, rows: Rows) -> Inner:
    """The rows of a subquery that reads nothing of the query around it."""
    item = item_of(draft, "q", rows, query)
    return Inner(Source((item,), ()), (), tuple(columns_of(item.refs)), rows.names)


def _trees(found: Selected) -> list[exp.Expr]:
    trees = [*found.source.conditions, *found.where, *found.outputs, *found.keys]
    return [*trees, found.having] if found.having is not None else trees


def check_reach(draft: Draft, found: Selected) -> None:
    """Refuse what reads a query further out than the one around it (K1)."""
    far = {(e.ref.table, e.ref.name) for e in found.scope if e.level > 1}
    for node in (c for tree in _trees(found) for c in tree.find_all(exp.Column)):
        if (node.table, node.name) in far:
            label = "a subquery that reads a column of two queries further out"
            hint = "join the two inner tables, or put the inner subquery into WITH"
            place = draft.text.place(node)
            raise draft.text.refused(place, label, hint, "SUBQUERY_EXPRESSION")


def correlated(around: Source, found: Selected) -> bool:
    """The subquery reads something of the query around it."""
    return any(uses(tree, around.refs) for tree in _trees(found))


def related(draft: Draft, around: Source, found: Selected) -> tuple[Selected, Relating]:
    """The subquery by itself, and what relates it to a row of the query around it (K2)."""
    conditions = (*found.source.conditions, *found.where)
    how = relating(around.refs, found.source.refs, conditions)
    how = keyed(draft, around, found.source, how)
    alone = replace(found, source=replace(found.source, conditions=()), where=())
    if not how.mixed and not correlated(around, alone):
        return alone, how
    used = [
        (c.table, c.name)
        for tree in _trees(found)
        for c in tree.find_all(exp.Column)
        if (c.table, c.name) in around.refs
    ]
    outer = list(dict.fromkeys(used))
    domain = distinct_item(draft, around, (), columns_of(outer))
    meant = dict(zip(outer, domain.refs, strict=True))
    where = tuple(_renamed(tree, meant) for tree in conditions)
    source = replace(alone.source, items=(domain, *alone.source.items))
    pairs = tuple(Pair(column(*ref), column(*meant[ref]), exp.NullSafeEQ) for ref in outer)
    moved = replace(
        alone,
        source=source,
        projections=tuple((name, _renamed(tree, meant)) for name, tree in alone.projections),
        keys=tuple(_renamed(tree, meant) for tree in alone.keys),
        having=_renamed(alone.having, meant) if alone.having is not None else None,
    )
    return moved, Relating(pairs, (), where, ())


def _renamed(tree: exp.Expr, meant: Mapping[Ref, Ref]) -> exp.Expr:
    """The tree with other references."""
    holder = exp.Paren(this=tree.copy())
    for node in list(holder.find_all(exp.Column)):
        if (node.table, node.name) in meant:
            node.replace(column(*meant[node.table, node.name]))
    found: exp.Expr = holder.this
    return found.pop()


def ungrouped(draft: Draft, around: Source, found: Selected) -> Inner:
    """The rows of a correlated subquery with GROUP BY: its groups are a block, related by their keys (K2)."""
    alone, how = related(draft, around, found)
    values = [*alone.outputs, *([alone.having] if alone.having is not None else [])]
    keys = [*how.keys, *alone.keys]
    item = grouped_item(draft, alone.source, how.of_keys, keys, values)
    shown = columns_of(item.refs[len(keys) :])
    kept = shown[len(alone.outputs) :]
    outputs = tuple(shown[: len(alone.outputs)])
    return Inner(Source((item,), ()), (*how.to(item.refs), *kept), outputs, alone.names)
