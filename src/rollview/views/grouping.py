"""GROUP BY and HAVING: which keys, and what HAVING means.

G1  A name in GROUP BY is a column of FROM, else an alias of the select list; a whole number is a position; ALL is
    every select item without an aggregate.
G2  A name in HAVING is a column of FROM inside an aggregate or as (part of) a key, else an alias.
Both as Spark does it. Trees here are over references (names.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.views.functions import SUMMED
from rollview.views.names import Scope, lookup, resolved
from rollview.views.syntax import Text, call_name


def is_aggregate(node: exp.Expr) -> bool:
    """COUNT, SUM, AVG and the like, with or without FILTER."""
    return call_name(node.this if isinstance(node, exp.Filter) else node) in SUMMED


def holds_aggregate(tree: exp.Expr) -> bool:
    """Whether an aggregate is called anywhere in the tree."""
    return any(call_name(node) in SUMMED for node in tree.find_all(exp.Anonymous))


def aggregated(select: exp.Select) -> bool:
    """Whether the SELECT makes groups."""
    grouping = select.args.get("group") or select.args.get("having")
    return bool(grouping) or any(holds_aggregate(e) for e in select.expressions)


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
        found = [bare(tree) for _, tree in projections if not holds_aggregate(tree)]
    aliases = {name.lower(): tree for name, tree in reversed(projections) if name}
    for node in group.expressions:
        if isinstance(node, exp.Tuple):
            raise text.refused(text.place(node), "a tuple in GROUP BY", "leave out the parentheses")
        if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
            key = _at_position(text, node, projections)
        else:
            key = resolved(text, scope, node, aliases)
        if holds_aggregate(key):
            hint = "group by columns; conditions on aggregates belong in HAVING"
            raise text.refused(
                text.place(node), "aggregate in GROUP BY", hint, "GROUP_BY_AGGREGATE"
            )
        found.append(bare(key))
    return [key for position, key in enumerate(found) if key not in found[:position]]


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
        elif isinstance(node, exp.Column):
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
