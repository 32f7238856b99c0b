"""BagReduce blocks, and where the bags that they need are remembered.

Y1  The memory is the block's source as of its mark. Rows of one relation are read from that relation (derived);
    rows of a join or of several parts are stored in a hidden block of their own, unless deriving them is cheap.
Y2  Rows are netted by all columns, so that columns that cannot be compared are refused.
Knows the draft; which SELECT makes such a block is aggregates.py's and windows.py's matter.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.views.blocks import BagReduce, Column
from rollview.views.draft import Draft, Rows
from rollview.views.functions import IDEMPOTENT
from rollview.views.grouping import is_aggregate
from rollview.views.syntax import call_name, sql_of

Shown = Sequence[tuple[str, str, exp.Expr]]
"""(name, type, expression over source columns) of each visible column."""


def bag_reduce(
    draft: Draft,
    rows: Rows,
    types: Sequence[str],
    keys: tuple[str, ...],
    shown: Shown,
    having: exp.Expr | None,
    grouped: bool = True,
) -> BagReduce:
    """The block over `rows`, whose columns have the given types."""
    check_comparable(draft, rows.names, types)
    rows = remembered(draft, rows, types)
    trees = [tree for _, _, tree in shown] + ([having] if having is not None else [])
    return BagReduce(
        draft.union(rows, types),
        keys,
        tuple(Column(name, sql_of(tree), kind) for name, kind, tree in shown),
        sql_of(having) if having is not None else None,
        grouped,
        not grouped or any(_sees_copies(c) for t in trees for c in t.find_all(exp.Anonymous)),
    )


def remembered(draft: Draft, rows: Rows, types: Sequence[str]) -> Rows:
    """The same rows, from where they are remembered (Y1)."""
    read = [relation for part in rows.parts for _, relation in part.inputs]
    taken = any(part.sign < 0 for part in rows.parts)  # rows are known once they are netted
    if not taken and (len(read) == 1 or draft.derive(read)):
        return rows
    block = draft.union(rows, types)
    stored = draft.add(block, draft.sql(rows), tuple(zip(rows.names, types, strict=True)))
    return draft.reading(stored, "m")


def check_comparable(draft: Draft, names: Sequence[str], types: Sequence[str]) -> None:
    """Refuse columns whose values cannot be compared (Y2)."""
    for _name, kind in zip(names, types, strict=True):
        if "map<" in kind or "variant" in kind or kind == "interval":
            label = f"an aggregate or window over a {kind}"
            hint = "use TO_JSON, CAST or single values, so that rows can be compared"
            raise draft.text.refused(None, label, hint, "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE")


def _sees_copies(call: exp.Expr) -> bool:
    """An aggregate whose value depends on how often a row occurs."""
    distinct = any(isinstance(a, exp.Distinct) for a in call.expressions)
    return is_aggregate(call) and not distinct and call_name(call) not in IDEMPOTENT
