"""GROUPING SETS, ROLLUP and CUBE: which sets of keys they stand for, and what a SELECT shows of each.

X1  Several of them in one GROUP BY, and plain keys beside them, make every combination; a set may occur twice.
X2  Outside of aggregates a key that is not in the set is NULL; GROUPING tells such a NULL from one of the rows.
X3  No rows, no groups: also the empty set has none then, as in Spark.
Trees here are over references (names.py); each set becomes a block of its own (groups.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product

from sqlglot import exp

from rollview.views.grouping import bare, is_aggregate
from rollview.views.syntax import Text, call_name, cast_to

MOST_SETS = 64
SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)

Keys = tuple[exp.Expr, ...]


def has_sets(select: exp.Select) -> bool:
    """GROUP BY names several sets of keys."""
    group = select.args.get("group")
    if group is None:
        return False
    written = any(group.args.get(part) for part in ("rollup", "cube", "grouping_sets"))
    return written or any(isinstance(e, SETS) for e in group.expressions)


def key_sets(text: Text, group: exp.Group, key: Callable[[exp.Expr], exp.Expr]) -> list[Keys]:
    """The sets of keys (X1); `key` says what an expression of GROUP BY stands for."""
    plain = [e for e in group.expressions if not isinstance(e, SETS)]
    older = [n for part in ("rollup", "cube") for n in group.args.get(part) or ()]
    if group.args.get("grouping_sets"):  # GROUP BY a, b GROUPING SETS (…): the sets say it all
        factors = [_sets(n, key) for n in group.args["grouping_sets"]]
    elif older:  # GROUP BY a, b WITH ROLLUP
        whole = older[0].copy()
        whole.set("expressions", whole.expressions or [e.copy() for e in plain])
        factors = [_sets(whole, key)]
    else:
        factors = [
            _sets(e, key) if isinstance(e, SETS) else [_members(e, key)] for e in group.expressions
        ]
    found = []
    for chosen in product(*factors):
        together = [k for keys in chosen for k in keys]
        found.append(tuple(k for n, k in enumerate(together) if k not in together[:n]))
        if len(found) > MOST_SETS:
            label, hint = f"more than {MOST_SETS} grouping sets", "name fewer keys in one view"
            raise text.refused(text.place(group), label, hint, "NUM_JOINS_THRESHOLD_EXCEEDED")
    return found


def _sets(node: exp.Expr, key: Callable[[exp.Expr], exp.Expr]) -> list[Keys]:
    members = [_members(e, key) for e in node.expressions]
    match node:
        case exp.Rollup():
            return [_joined(members[:size]) for size in range(len(members), -1, -1)]
        case exp.Cube():
            sizes = range(len(members), -1, -1)
            return [_joined(some) for size in sizes for some in combinations(members, size)]
        case _:
            return [
                keys
                for e in node.expressions
                for keys in (_sets(e, key) if isinstance(e, SETS) else [_members(e, key)])
            ]


def _members(node: exp.Expr, key: Callable[[exp.Expr], exp.Expr]) -> Keys:
    if isinstance(node, exp.Tuple):
        return tuple(key(e) for e in node.expressions)
    return () if isinstance(node, SETS) else (key(node),)


def _joined(members: Sequence[Keys]) -> Keys:
    return tuple(k for keys in members for k in keys)


def of_set(
    text: Text, tree: exp.Expr, keys: Sequence[tuple[exp.Expr, str]], chosen: Keys
) -> exp.Expr:
    """The tree as it is shown for the keys `chosen` among all keys with their types (X2)."""
    holder = exp.Paren(this=tree.copy())
    pending = [holder.this]
    while pending:
        node = pending.pop()
        kind = next((kind for key, kind in keys if key == bare(node)), None)
        if call_name(node) in ("GROUPING", "GROUPING_ID"):
            node.replace(_grouping(text, node, [key for key, _ in keys], chosen))
        elif kind is not None and bare(node) not in chosen:
            node.replace(cast_to(exp.null(), kind))
        elif kind is None and not is_aggregate(node):
            pending += list(node.iter_expressions())
    found: exp.Expr = holder.this
    return found.pop()


def _grouping(text: Text, call: exp.Expr, keys: Sequence[exp.Expr], chosen: Keys) -> exp.Expr:
    """GROUPING(key), or GROUPING_ID(…): a bit for each key, 1 where it is not in the set."""
    asked = [bare(e) for e in call.expressions]
    whole = call_name(call) == "GROUPING_ID"
    if (not whole and len(asked) != 1) or any(a not in keys for a in asked):
        label, hint = f"{call_name(call)} of what is not grouped", "name keys of GROUP BY"
        raise text.refused(text.place(call), label, hint, "GROUPING_COLUMN_MISMATCH")
    bits = 0
    for key in asked or keys:
        bits = 2 * bits + (key not in chosen)
    return cast_to(exp.Literal.number(bits), "bigint" if whole else "tinyint")
