"""The visible rows as trees where the driver knows what the log comes to: few rows that go, and few that come.

S5  A folded row that goes is found by the columns that tell it apart (rolled.py, S4), a row of the log by those and
    its stamp: a query that needs few columns then reads no others for it.
Leaves: TAKEN and ADDED beside the folded rows; or BOTH, the folded rows without a stamp and the rows of the log with
theirs, in one scan, and UNSEEN, the rows of either that are not shown. Netted by: spark/pending.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sqlglot import exp

from rollview.calculus.queries import (
    column,
    expression,
    kept_keys,
    select,
    subquery,
    table,
    union_all,
    within,
)
from rollview.calculus.rolled import FOLDED, Window, alike, among, same_key, without
from rollview.changes import COUNT, STAMP
from rollview.views.blocks import Block, Column

TAKEN, ADDED = "_rv_taken", "_rv_added"
BOTH, UNSEEN = "_rv_both", "_rv_unseen"


def patched(block: Block, telling: Sequence[str], taken: bool, added: bool) -> exp.Query:
    """The folded rows without TAKEN and with ADDED, if there are any (S5)."""
    names = [column(c.name) for c in kept_keys(block)]
    rows: exp.Query = select(*names).from_(table(FOLDED, "_rv_g"), copy=False)
    if taken:
        gone = select(*(column(name) for name in telling)).from_(table(TAKEN, "_rv_t"), copy=False)
        rows = without(block, rows, gone, telling)
    if not added:
        return rows
    come = select(*(n.copy() for n in names)).from_(table(ADDED, "_rv_a"), copy=False)
    return union_all([rows, come])


def patched_in_one(block: Block, telling: Sequence[str], span: Window, unseen: bool) -> exp.Select:
    """The rows of BOTH in the window without those of UNSEEN, if there are any (S5).

    A union would end what Spark compiles in one piece, and every folded row would be copied there.
    """
    ((_, lo, hi, _),) = span.parts
    names = [column(c.name) for c in kept_keys(block)]
    logged = exp.and_(within(column(STAMP), lo, hi), expression(f"`{COUNT}` > 0"), copy=False)
    rows: exp.Query = (
        select(*names, column(STAMP))
        .from_(table(BOTH, "_rv_b"), copy=False)
        .where(exp.or_(expression(f"`{STAMP}` IS NULL"), logged, copy=False), copy=False)
    )
    if unseen:
        those = select(*(column(name) for name in telling), column(STAMP)).from_(
            table(UNSEEN, "_rv_u"), copy=False)  # fmt: skip
        rows = among(rows, block, those, "ANTI", partial(_this_one, telling))
    return select(*(n.copy() for n in names)).from_(subquery(rows, "_rv_x"), copy=False)


def _this_one(telling: Sequence[str], keys: Sequence[Column], left: str, right: str) -> exp.Expr:
    """The same row: a folded one by the hash of what tells it apart, one of the log by the values, and its stamp.

    IF keeps the equalities of the log's few rows out of what Spark joins by.
    """
    known = [c for c in keys if c.name in telling]
    stamps = [column(STAMP, side) for side in (left, right)]
    folded, other = (exp.Is(this=s.copy(), expression=exp.null()) for s in stamps)
    same_stamp = exp.EQ(this=stamps[0], expression=stamps[1])
    logged = exp.and_(same_stamp, same_key(known, left, right), copy=False)
    one = exp.If(this=folded, true=other, false=exp.paren(logged, copy=False))
    return exp.and_(alike(known, left, right), one, copy=False)
