"""Groups that a definition needs for itself: a block with one row per key, read as an item.

Made for subqueries and for conditions on what was grouped; how a Reduce is made is aggregates.py's matter.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.views.aggregates import Grouped, reduced, typed
from rollview.views.draft import Draft, Part, Rows
from rollview.views.grouping import bare, is_aggregate
from rollview.views.items import Item, Ref, Source, item_of, parts_of
from rollview.views.names import is_marked
from rollview.views.syntax import call_name, column

COUNTS = frozenset(["COUNT", "COUNT_IF", "REGR_COUNT", "APPROX_COUNT_DISTINCT"])
LISTS = frozenset(["COLLECT_LIST", "COLLECT_SET", "ARRAY_AGG"])


def grouped_item(
    draft: Draft,
    source: Source,
    where: Sequence[exp.Expr],
    keys: Sequence[exp.Expr],
    values: Sequence[exp.Expr],
) -> Item:
    """The keys, and values made of keys and aggregates, as a block; without keys it has one row, always."""
    trees = (*keys, *values)
    names = (*(f"k{n}" for n in range(len(keys))), *(f"v{n}" for n in range(len(values))))
    grouped = Grouped(tuple(keys), trees, None)

    def parts(columns: Sequence[exp.Expr]) -> tuple[Part, ...]:
        return parts_of(draft, source, where, columns)

    shape = ("group", str(len(keys)), draft.shape(Rows(names, parts(trees))))
    outputs = typed(draft, grouped, names, parts)
    relation = draft.hidden(shape, lambda: reduced(draft, grouped, outputs, parts), outputs)
    return item_of(draft, "g", draft.reading(relation, "g"), source.items[-1].query)


def group_values(trees: Sequence[exp.Expr], keys: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The aggregates in the trees, and the columns that are neither in one nor in a key."""
    found: list[exp.Expr] = []
    pending = [bare(tree) for tree in reversed(trees)]
    while pending:
        node = bare(pending.pop())
        if node in keys or node in found or is_marked(node):
            continue
        if is_aggregate(node) or isinstance(node, exp.Column):
            found.append(node)
        else:
            pending += list(node.iter_expressions())
    return found


def over_groups(tree: exp.Expr, meant: Sequence[tuple[exp.Expr, Ref]]) -> exp.Expr:
    """The tree over the groups: keys and aggregates are columns of theirs."""
    holder = exp.Paren(this=tree.copy())
    pending = [holder.this]
    while pending:
        node = pending.pop()
        ref = next((ref for whole, ref in meant if whole == bare(node)), None)
        if ref is not None:
            node.replace(column(*ref))
        else:
            pending += list(node.iter_expressions())
    found: exp.Expr = holder.this
    return found.pop()


def counted() -> exp.Expr:
    """COUNT(*)."""
    return exp.Anonymous(this="COUNT", expressions=[exp.Star()])


def over_nothing(tree: exp.Expr) -> exp.Expr:
    """What the tree is where its aggregates have no rows."""
    holder = exp.Paren(this=tree.copy())
    pending = [holder.this]
    while pending:
        node = pending.pop()
        if is_aggregate(node):
            node.replace(_empty(node))
        else:
            pending += list(node.iter_expressions())
    found: exp.Expr = holder.this
    return found.pop()


def _empty(call: exp.Expr) -> exp.Expr:
    while not isinstance(call, exp.Anonymous):
        call = call.this
    if call_name(call) in COUNTS:
        return exp.Literal.number(0)
    return exp.Anonymous(this="ARRAY") if call_name(call) in LISTS else exp.null()
