"""GROUP BY and HAVING: which keys, and what HAVING means.

G1  A name in GROUP BY is a column of FROM, else an alias of the select list; a whole number is a position; ALL is
    every select item without an aggregate.
G2  A name in HAVING is a column of FROM inside an aggregate or as (part of) a key, else an alias.
Both as Spark does it. Trees here are over references (names.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from rollview.views.functions import AGGREGATES, SUMMED
from rollview.views.names import Scope, is_marked, lookup, resolved
from rollview.views.syntax import Text, call_name

ADDED_TO_CALL = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
"""What may stand around a call and belongs to it."""


def call_of(node: exp.Expr) -> exp.Expr:
    """The call itself, without FILTER and WITHIN GROUP."""
    while isinstance(node, ADDED_TO_CALL):
        node = node.this
    return node


def is_aggregate(node: exp.Expr) -> bool:
    """COUNT, MIN and the like, with or without FILTER; over a window they are no aggregates."""
    return call_name(call_of(node)) in AGGREGATES and not _windowed(node)


def _windowed(node: exp.Expr) -> bool:
    while isinstance(node.parent, ADDED_TO_CALL) and node.parent.this is node:
        node = node.parent
    return isinstance(node.parent, exp.Window) and node.parent.this is node


def is_sum(node: exp.Expr) -> bool:
    """An aggregate that is a function of counts and sums."""
    call = call_of(node)
    distinct = any(isinstance(a, exp.Distinct) for a in call.expressions)
    return call_name(call) in SUMMED and not distinct


def holds_aggregate(tree: exp.Expr) -> bool:
    """Whether an aggregate is called anywhere in the tree."""
    return any(is_aggregate(node) for node in _outside_queries(tree))


def _outside_queries(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of the tree, but none of a subquery in it."""
    return tree.walk(prune=lambda node: isinstance(node, (exp.Query, exp.Subquery)))


def aggregated(select: exp.Select) -> bool:
    """Whether the SELECT makes groups."""
    grouping = select.args.get("group") or select.args.get("having")
    return bool(grouping) or any(holds_aggregate(e) for e in select.expressions)


def asks_of_groups(select: exp.Select) -> bool:
    """Whether a SELECT that makes groups has subqueries about them, outside of its aggregates."""
    if not aggregated(select):
        return False
    having = select.args.get("having")
    trees = [*select.expressions, *([having.this] if having is not None else [])]
    return any(_is_query(node) for tree in trees for node in tree.walk(prune=is_aggregate))


def asks(select: exp.Select) -> bool:
    """Whether a SELECT has subqueries in its expressions."""
    where = select.args.get("where")
    trees = [*select.expressions, *([where.this] if where is not None else [])]
    return any(_is_query(node) for tree in trees for node in tree.walk())


def is_asked(query: exp.Expr) -> bool:
    """Whether a query stands in an expression: EXISTS, IN, or a value."""
    above = query.parent
    while isinstance(above, exp.Subquery):
        above = above.parent
    sides = (exp.From, exp.Join, exp.SetOperation, exp.CTE)
    return above is not None and not isinstance(above, sides)


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, (exp.Query, exp.Subquery))


def bare(tree: exp.Expr) -> exp.Expr:
    """The tree without parentheses around it."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return tree


def group_keys(
    text: Text, scope: Scope, select: exp.Select, projections: Sequence[tuple[str | None, exp.Expr]]
) -> list[exp.Expr]:
    """The keys, each once (G1)."""
    group = select.args.get("group")
    found: list[exp.Expr] = []
    if group is None:
        return found
    if group.args.get("all"):
        found = [
            bare(tree)
            for _, tree in projections
            if not holds_aggregate(tree) and not tree.find(exp.Window)
        ]
    found += [group_key(text, scope, node, projections) for node in group.expressions]
    return [key for position, key in enumerate(found) if key not in found[:position]]


def group_key(
    text: Text, scope: Scope, node: exp.Expr, projections: Sequence[tuple[str | None, exp.Expr]]
) -> exp.Expr:
    """What one expression of GROUP BY stands for (G1)."""
    if isinstance(node, exp.Tuple):
        raise text.refused(text.place(node), "a tuple in GROUP BY", "leave out the parentheses")
    number = bare(node)
    if isinstance(number, exp.Literal) and not number.is_string and number.name.isdigit():
        key = _at_position(text, number, projections)
    else:
        aliases = {name.lower(): tree for name, tree in reversed(projections) if name}
        key = resolved(text, scope, node, aliases)
    if holds_aggregate(key):
        hint = "group by columns; conditions on aggregates belong in HAVING"
        raise text.refused(text.place(node), "aggregate in GROUP BY", hint, "GROUP_BY_AGGREGATE")
    return bare(key)


def _at_position(
    text: Text, node: exp.Literal, projections: Sequence[tuple[str | None, exp.Expr]]
) -> exp.Expr:
    position = int(node.name)
    if not 1 <= position <= len(projections):
        hint = f"a position from 1 to {len(projections)}"
        raise text.refused(
            text.place(node), f"GROUP BY {position}", hint, "GROUP_BY_POS_OUT_OF_RANGE"
        )
    return projections[position - 1][1].copy()


def having_of(
    text: Text,
    scope: Scope,
    select: exp.Select,
    projections: Sequence[tuple[str | None, exp.Expr]],
    keys: Sequence[exp.Expr],
) -> exp.Expr | None:
    """The condition on groups over references (G2)."""
    having = select.args.get("having")
    if having is None:
        return None
    aliases = {name.lower(): tree for name, tree in reversed(projections) if name}
    holder = exp.Paren(this=having.this.copy())
    pending = [holder.this]
    while pending:
        node = pending.pop()
        if is_aggregate(node):
            node.replace(resolved(text, scope, node))
        elif (key := _key_of(text, scope, node, keys)) is not None:
            node.replace(key.copy())
        elif isinstance(node, exp.Column) and not is_marked(node):
            alias = aliases.get(node.name.lower()) if len(node.parts) == 1 else None
            node.replace(
                exp.Paren(this=alias.copy()) if alias is not None else resolved(text, scope, node)
            )
        else:
            pending += list(node.iter_expressions())
    condition: exp.Expr = holder.this
    return condition.pop()


def _key_of(text: Text, scope: Scope, node: exp.Expr, keys: Sequence[exp.Expr]) -> exp.Expr | None:
    """The key that the expression is, if it is one."""
    if not any(type(bare(node)) is type(key) or isinstance(node, exp.Column) for key in keys):
        return None
    columns = list(node.find_all(exp.Column))
    if any(isinstance(c.this, exp.Star) or lookup(text, scope, c) is None for c in columns):
        return None
    meant = bare(resolved(text, scope, node))
    return next((key for key in keys if key == meant), None)
