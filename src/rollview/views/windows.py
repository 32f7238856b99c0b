"""Window functions and top-N: SELECTs whose rows depend on their neighbours, as BagReduce blocks.

J1  A source column is an operand: the largest expression that holds columns and no window. One that is shown as it
    stands is named like the visible column, else `_rv_a0`, …
J2  The keys are the operands by which every window of the SELECT is partitioned; without a common one there is one
    bag. A filter above a window is part of the block, so that only rows that pass it are kept.
J3  ORDER BY with LIMIT is a filter on ROW_NUMBER over one bag, ordered as written and then by every column.
Knows trees over references (names.py) and the draft. What settles ties: ties.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from rollview.views.blocks import BagReduce
from rollview.views.draft import Draft, Outputs, Part, Rows
from rollview.views.functions import GROUPING
from rollview.views.grouping import bare, is_aggregate
from rollview.views.memory import bag_reduce
from rollview.views.syntax import Text, call_name, column, quoted, sql_of

PartsOf = Callable[[Sequence[exp.Expr]], tuple[Part, ...]]
"""The parts that compute the given expressions over references."""

WINDOW_PARTS = (
    exp.Window, exp.WindowSpec, exp.Order, exp.Ordered, exp.Filter, exp.Where, exp.WithinGroup, exp.IgnoreNulls,
    exp.RespectNulls, exp.Distinct,
)  # fmt: skip
"""The structure of a window call, as opposed to its operands."""


def windowed(select: exp.Expr) -> bool:
    """Whether the SELECT calls window functions."""
    return any(_holds_window(e) for e in select.expressions)


def _holds_window(tree: exp.Expr) -> bool:
    """A window is called in the tree, but not inside a subquery of it."""
    nodes = tree.walk(prune=lambda node: isinstance(node, exp.Query))
    return any(isinstance(node, exp.Window) for node in nodes)


def limited(query: exp.Expr) -> bool:
    """Whether the query is cut by LIMIT or OFFSET."""
    return any(query.args.get(part) is not None for part in ("limit", "offset"))


@dataclass(slots=True)
class _Operands:
    """The source's columns by name (J1)."""

    found: dict[str, exp.Expr] = field(default_factory=dict)

    def show(self, name: str, tree: exp.Expr) -> None:
        """A column that is shown as it stands."""
        if tree.find(exp.Column, exp.Anonymous) and bare(tree) not in self.found.values():
            self.found[name] = bare(tree).copy()

    def name(self, tree: exp.Expr) -> str:
        tree = bare(tree)
        known = next((n for n, t in self.found.items() if t == tree), None)
        if known is None:
            known = f"_rv_a{len(self.found)}"
            self.found[known] = tree.copy()
        return known

    def rewritten(self, tree: exp.Expr) -> exp.Expr:
        """The tree over source columns, windows still as calls."""
        holder = exp.Paren(this=tree.copy())
        pending = [holder.this]
        while pending:
            node = pending.pop()
            if _is_operand(node):
                node.replace(column("", self.name(node)))
            else:
                pending += list(node.iter_expressions())
        made: exp.Expr = holder.this
        return made.pop()


def operands_of(trees: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The operands of select items; stars are left out."""
    operands = _Operands()
    for tree in trees:
        operands.rewritten(tree.this if isinstance(tree, exp.Alias) else tree)
    return list(operands.found.values())


def _is_operand(node: exp.Expr) -> bool:
    if isinstance(node, WINDOW_PARTS) or _holds_window(node) or _is_window_call(node):
        return False
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        return False
    calls = list(node.find_all(exp.Anonymous))
    counts = is_aggregate(node) or any(is_aggregate(n) or call_name(n) in GROUPING for n in calls)
    return counts or node.find(exp.Column) is not None


def _is_window_call(node: exp.Expr) -> bool:
    """The function of a window, whose arguments are operands."""
    while isinstance(node.parent, (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)):
        if node.parent.this is not node:
            return False
        node = node.parent
    return isinstance(node.parent, exp.Window) and node.parent.this is node


def window_block(
    draft: Draft,
    outputs: Outputs,
    projections: Sequence[exp.Expr],
    keep: exp.Expr | None,
    parts_of: PartsOf,
) -> tuple[BagReduce, str]:
    """The block for a SELECT with windows, filtered by `keep`, and its meaning as a query (J2)."""
    operands = _Operands()
    for (name, _), tree in zip(outputs, projections, strict=True):
        if not tree.find(exp.Window):
            operands.show(name, tree)
    columns = [operands.rewritten(tree) for tree in projections]
    having = operands.rewritten(keep) if keep is not None else None
    keys = _common_keys([*columns, *([having] if having is not None else [])])
    rows = Rows(tuple(operands.found), parts_of(list(operands.found.values())))
    types = draft.meant(draft.sql(rows))[: len(rows.names)]
    shown = [(n, kind, tree) for (n, kind), tree in zip(outputs, columns, strict=True)]
    block = bag_reduce(draft, rows, types, keys, shown, having, grouped=False)
    return block, _meaning(draft, rows, shown, having)


def _common_keys(trees: Sequence[exp.Expr]) -> tuple[str, ...]:
    """The columns by which all windows are partitioned (J2)."""
    windows = [w for tree in trees for w in tree.find_all(exp.Window)]
    sets = [
        [p.name for p in w.args.get("partition_by") or () if isinstance(p, exp.Column)]
        for w in windows
    ]
    return tuple(name for name in dict.fromkeys(sets[0]) if all(name in s for s in sets))


def _meaning(
    draft: Draft,
    rows: Rows,
    shown: Sequence[tuple[str, str, exp.Expr]],
    having: exp.Expr | None,
) -> str:
    columns = ", ".join(f"{sql_of(tree)} AS {quoted(name)}" for name, _, tree in shown)
    source = f"({draft.sql(rows)}) AS `_rv_b`"
    if having is None:
        return f"SELECT {columns} FROM {source}"
    names = ", ".join(quoted(name) for name, _, _ in shown)
    inner = f"SELECT {columns}, {sql_of(having)} AS `_rv_keep` FROM {source}"
    return f"SELECT {names} FROM ({inner}) AS `_rv_q` WHERE `_rv_keep`"


def top_block(
    draft: Draft,
    outputs: Outputs,
    rows: Rows,
    order: Sequence[exp.Ordered],
    bounds: tuple[int, int | None],
) -> tuple[BagReduce, str]:
    """The rows from the first of `bounds` on, up to the second, in the order given over `rows` (J3)."""
    number = exp.Window(
        this=exp.Anonymous(this="ROW_NUMBER"), order=exp.Order(expressions=list(order)), over="OVER"
    )
    skipped, last = bounds
    keep: exp.Expr = exp.GT(this=number, expression=exp.Literal.number(skipped))
    if last is not None:
        upto = exp.LTE(this=number.copy(), expression=exp.Literal.number(last))
        keep = exp.And(this=keep, expression=upto) if skipped else upto
    types = draft.meant(draft.sql(rows))[: len(rows.names)]
    shown = [(name, kind, column("", name)) for name, kind in outputs]
    block = bag_reduce(draft, rows, types, (), shown, keep, grouped=False)
    return block, _meaning(draft, rows, shown, keep)


def bounds_of(text: Text, query: exp.Expr) -> tuple[int, int | None]:
    """How many rows are skipped, and the number of the last one, if there is a LIMIT."""
    offset, limit = query.args.get("offset"), query.args.get("limit")
    skipped = _whole(text, offset.expression) if offset is not None else 0
    return skipped, skipped + _whole(text, limit.expression) if limit is not None else None


def _whole(text: Text, node: exp.Expr) -> int:
    if not (isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()):
        label, hint = "LIMIT or OFFSET that is no number", "write a whole number"
        raise text.refused(text.place(node), label, hint)
    return int(node.name)


def order_of(
    text: Text, query: exp.Expr, names: Sequence[str], places: Mapping[int, str]
) -> list[exp.Ordered]:
    """ORDER BY over output names; `places` gives the column of each expression that is none of them."""
    found = []
    for position, node in enumerate(query.args["order"].expressions):
        made = node.copy()
        if position in places:
            made.set("this", column("", places[position]))
        elif isinstance(node.this, exp.Literal) and node.this.name.isdigit():
            place = int(node.this.name)
            if not 1 <= place <= len(names):
                hint = f"a position from 1 to {len(names)}"
                raise text.refused(text.place(node), f"ORDER BY {place}", hint)
            made.set("this", column("", names[place - 1]))
        else:
            lowered = {name.lower(): name for name in names}
            made.set("this", column("", lowered[node.this.name.lower()]))
        found.append(made)
    return found


def hidden_order(
    text: Text, query: exp.Query, names: Sequence[str]
) -> dict[int, tuple[str, exp.Expr]]:
    """By position in ORDER BY: a name and the expression, for what is neither a column nor a position."""
    shown = {name.lower() for name in names}
    aliases = {e.alias.lower(): e.this for e in query.expressions if isinstance(e, exp.Alias)}
    found: dict[int, tuple[str, exp.Expr]] = {}
    for position, node in enumerate(query.args["order"].expressions):
        tree = node.this
        bare_name = isinstance(tree, exp.Column) and len(tree.parts) == 1
        if isinstance(tree, exp.Literal) or (bare_name and tree.name.lower() in shown):
            continue
        if not isinstance(query, exp.Select) or query.args.get("distinct"):
            hint = "order by columns of the result, by name or position"
            raise text.refused(text.place(tree), "ORDER BY of an expression", hint)
        holder = exp.Paren(this=tree.copy())
        for part in list(holder.find_all(exp.Column)):
            meant = aliases.get(part.name.lower()) if len(part.parts) == 1 else None
            if meant is not None:
                part.replace(exp.Paren(this=meant.copy()))
        name = f"order {position + 1}"
        while name in shown:
            name += "_"
        found[position] = (name, holder)
    return found
