"""The rolled table as trees: folded rows and a log, read at any time, before and after the fold.

S1  state(t) = folded rows + the net effect of the log between the fold time and t, with the sign of the direction.
S2  The folded rows are never shuffled: those whose key the log moves are set apart by a join with its few rows, and
    netted; the rest pass.
S4  Where the hashes of some columns are known to differ in all folded rows, these alone find a row that the log takes:
    it is among the folded rows, once. Then folded rows are read once, and of them only what a query asks for.
S3  A Reduce takes back what it showed before a stamp and adds what it shows after it; its rows appear while the
    count of their key is positive, without keys always.
Leaves: FOLDED (a Reduce: keys, sums, count; else plain rows), LOG (keys, sums, count, stamp). Spec: rolled_model.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rollview.calculus.queries import (
    bigint,
    block_expression,
    cast,
    column,
    every,
    expression,
    joined,
    kept_keys,
    kept_sums,
    kept_where,
    named,
    select,
    subquery,
    table,
    union_all,
    within,
)
from rollview.changes import BUCKET, COUNT, STAMP, Csn
from rollview.views.blocks import Block, Column, Fixpoint, Reduce, Union
from rollview.views.syntax import quoted

FOLDED, LOG = "_rv_folded", "_rv_log"
NEXT = "_rv_next"
"""The stamp at which the totals of a key move again."""


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of the log lies between the fold times of the buckets and a time, and with which sign.

    `parts`: (buckets, or None for all of them; lo; hi; sign).
    """

    parts: tuple[tuple[tuple[int, ...] | None, Csn, Csn, int], ...]

    @property
    def empty(self) -> bool:
        """Nothing of the log is needed."""
        return not self.parts

    @property
    def span(self) -> tuple[Csn, Csn]:
        """The smallest (lo, hi] that covers all parts."""
        return min(p[1] for p in self.parts), max(p[2] for p in self.parts)

    @property
    def backward(self) -> bool:
        """Some part rolls back: rows that were added are taken away."""
        return any(sign < 0 for *_, sign in self.parts)


def window(fold_times: Sequence[Csn], at: Csn) -> Window:
    """What of the log leads from the folded rows to `at` (S1)."""
    parts = []
    for fold_time in sorted(set(fold_times)):
        buckets = tuple(b for b, f in enumerate(fold_times) if f == fold_time)
        lo, hi, sign = (fold_time, at, +1) if at >= fold_time else (at, fold_time, -1)
        if lo < hi:
            parts.append((None if len(buckets) == len(fold_times) else buckets, lo, hi, sign))
    return Window(tuple(parts))


def moved(block: Block, span: Window) -> exp.Select:
    """The part of the log in the window, signed: keys, sums, count."""
    sign = exp.Case()
    conditions = []
    for buckets, lo, hi, direction in span.parts:
        inside = within(column(STAMP), lo, hi)
        if buckets is not None:
            inside = exp.and_(inside, column(BUCKET).isin(*buckets), copy=False)
        conditions.append(inside)
        one = exp.Literal.number(1) if direction > 0 else expression("-1")
        sign.when(inside.copy(), one, copy=False)
    only = span.parts[0][3] if len(span.parts) == 1 else None

    def signed(name: str) -> exp.Expr:
        if only == 1:
            return column(name)
        if only == -1:
            return named(exp.Neg(this=column(name)), name)
        backward = exp.LT(this=sign.copy(), expression=exp.Literal.number(0))
        negated = exp.Case().when(backward, exp.Neg(this=column(name)), copy=False)
        return named(negated.else_(column(name), copy=False), name)

    return (
        select(*(column(k.name) for k in kept_keys(block)),
               *(signed(s.name) for s in kept_sums(block)), signed(COUNT))
        .from_(table(LOG, "_rv_l"), copy=False)
        .where(exp.or_(*conditions, copy=False), copy=False)
    )  # fmt: skip


def netted(block: Block, rows: exp.Query, keep: exp.Expr | None) -> exp.Select:
    """Rows grouped by key, sums and count added up; `keep` filters the groups."""
    keys = [column(k.name) for k in kept_keys(block)]
    query = select(
        *keys,
        *(named(cast(exp.Sum(this=column(s.name)), s.type), s.name) for s in kept_sums(block)),
        named(cast(exp.Sum(this=column(COUNT)), "BIGINT"), COUNT),
    ).from_(subquery(rows, "_rv_n"), copy=False)
    if keys:
        query = query.group_by(*(k.copy() for k in keys), copy=False)
    return query.having(keep, copy=False) if keep is not None else query


Same = Callable[[Sequence[Column], str, str], exp.Expr]


def same_key(keys: Sequence[Column], left: str, right: str) -> exp.Expr:
    """All columns of the key agree, NULL with NULL."""
    return every(exp.NullSafeEQ(this=column(k.name, left), expression=column(k.name, right))
                 for k in keys)  # fmt: skip


def alike(keys: Sequence[Column], left: str, right: str) -> exp.Expr:
    """The same hash of the key: one number is found faster than many values, NULL among them.

    Other keys may have the same hash. They are netted like those that are meant, and come out as they went in.
    """
    hashes = (exp.Anonymous(this="XXHASH64", expressions=[column(k.name, side) for k in keys])
              for side in (left, right))  # fmt: skip
    return exp.EQ(this=next(hashes), expression=next(hashes))


def among(
    rows: exp.Query, block: Block, others: exp.Query, kind: str, same: Same | None = None
) -> exp.Select:
    """The rows whose key is (SEMI) or is not (ANTI) like one of `others`."""
    all_of = select(expression("_rv_f.*")).from_(subquery(rows, "_rv_f"), copy=False)
    on = (same or alike)(kept_keys(block), "_rv_f", "_rv_o")
    return joined(all_of, subquery(others, "_rv_o"), kind, on)


def _counted(sign: str) -> exp.Expr:
    return expression(f"SUM(`{COUNT}`) {sign} 0")


def _folded(block: Block) -> exp.Select:
    """The folded rows as keys, sums, count."""
    stored = [column(c.name) for c in (*kept_keys(block), *kept_sums(block))]
    count = column(COUNT) if isinstance(block, Reduce) else named(bigint(1), COUNT)
    return select(*stored, count).from_(table(FOLDED, "_rv_g"), copy=False)


def signed_state(block: Block, span: Window) -> exp.Query:
    """The state as a signed bag: cheap, and right wherever only sums of counts matter (joins)."""
    return union_all(signed_parts(block, span))


def signed_parts(block: Block, span: Window) -> list[exp.Query]:
    """What the signed state is the union of: the folded rows, and what the log moves."""
    return [_folded(block)] if span.empty else [_folded(block), moved(block, span)]


def state(block: Block, span: Window, any_taken: bool) -> exp.Query:
    """The state as keys, sums and a positive count (S1, S2). `any_taken`: the log may take rows away."""
    if span.empty:
        return _folded(block)
    both = union_all(signed_parts(block, span))
    if isinstance(block, Reduce) and not block.keys:
        return netted(block, both, None)
    if not isinstance(block, Reduce) and not any_taken and not span.backward:
        return both
    passed = among(_folded(block), block, moved(block, span), "ANTI")
    return union_all([passed, _touched(block, span)])


def _touched(block: Block, span: Window) -> exp.Select:
    """Those rows of the state whose keys the log moves."""
    old = among(_folded(block), block, moved(block, span), "SEMI")
    return netted(block, union_all([old, moved(block, span)]), _counted(">"))


def shown(block: Block, rows: exp.Query) -> exp.Select:
    """Visible rows with a count, from a state; a Reduce computes its columns and applies HAVING.

    Those of a BagReduce come with its hidden keys.
    """
    if not isinstance(block, Reduce):
        return select(*(column(c.name) for c in kept_keys(block)), column(COUNT)).from_(
            subquery(rows, "_rv_s"), copy=False)  # fmt: skip
    if not block.keys:
        rows = _at_least_one(block, rows)
    query = select(
        *(named(block_expression(c.expr), c.name) for c in block.columns),
        named(_copies(block), COUNT),
    ).from_(subquery(rows, "_rv_s"), copy=False)
    return kept_where(query, block.having)


def _copies(block: Reduce) -> exp.Expr:
    """How often a row of the Reduce is shown."""
    return exp.Paren(this=block_expression(block.copies)) if block.copies else bigint(1)


def _at_least_one(block: Block, rows: exp.Query) -> exp.Select:
    """The one row of a Reduce without keys, also over nothing."""
    zero = exp.Literal.number(0)
    sums = [*((s.name, s.type) for s in kept_sums(block)), (COUNT, "BIGINT")]
    return select(
        *(named(cast(exp.Coalesce(this=exp.Sum(this=column(name)), expressions=[zero.copy()]),
                     kind), name) for name, kind in sums)
    ).from_(subquery(rows, "_rv_one"), copy=False)  # fmt: skip


def visible(block: Block, span: Window, any_taken: bool, telling: Sequence[str] = ()) -> exp.Query:
    """The view as its users see it: visible columns (and hidden keys), duplicates included, no counts.

    `telling`: columns whose hashes differ in all folded rows (S4).
    """
    if isinstance(block, Reduce):
        rows = shown(block, state(block, span, any_taken))
        if block.copies:
            return repeated(block, rows)
        return select(*(column(c.name) for c in block.columns)).from_(
            subquery(rows, "_rv_v"), copy=False)  # fmt: skip
    names = (column(c.name) for c in kept_keys(block))
    plain = select(*names).from_(table(FOLDED, "_rv_g"), copy=False)
    if span.empty:
        return plain
    if not any_taken and not span.backward:
        return union_all([plain, repeated(block, moved(block, span))])
    if telling:
        taken, added = (netted(block, moved(block, span), _counted(sign)) for sign in "<>")
        return union_all([without(block, plain, taken, telling), repeated(block, added)])
    passed = among(plain, block, moved(block, span), "ANTI")
    return union_all([passed, repeated(block, _touched(block, span))])


def without(block: Block, rows: exp.Query, taken: exp.Query, telling: Sequence[str]) -> exp.Select:
    """Folded rows without those that are taken, found by the columns that tell them apart."""
    known = [c for c in kept_keys(block) if c.name in telling]
    return among(rows, block, taken, "ANTI", lambda _, left, right: alike(known, left, right))


def repeated(block: Block, rows: exp.Query) -> exp.Select:
    """Each row as often as its count says: the few changed rows, or what a signed Union starts from."""
    names = [
        column(c.name) for c in (block.columns if isinstance(block, Reduce) else kept_keys(block))
    ]
    inner = select(*names, named(expression(f"EXPLODE(SEQUENCE(1, `{COUNT}`))"), "_rv_copy")).from_(
        subquery(rows, "_rv_r"), copy=False
    )
    return select(*(n.copy() for n in names)).from_(subquery(inner, "_rv_x"), copy=False)


def signed(block: Block) -> bool:
    """Parts take rows away, so that the rows are known once they are netted."""
    match block:
        case Union():
            return block.signed
        case Fixpoint():
            return True  # its rows come with counts
        case _:
            return block.source.signed


def whole(block: Block, rows: exp.Query) -> exp.Query:
    """What the folded rows start from, given keys, sums and counts of which some may cancel."""
    if isinstance(block, Reduce):
        return netted(block, rows, _counted("<>") if block.keys else None)
    return repeated(block, netted(block, rows, _counted("<>")))


def _logged(block: Block, lo: Csn, hi: Csn) -> exp.Select:
    """The part of the log in (lo, hi]: keys, sums, count, stamp."""
    return select(
        *(column(c.name) for c in (*kept_keys(block), *kept_sums(block))), column(COUNT), column(STAMP)
    ).from_(table(LOG, "_rv_l"), copy=False).where(within(column(STAMP), lo, hi), copy=False)  # fmt: skip


def row_changes(block: Block, lo: Csn, hi: Csn, before: Window, any_taken: bool) -> exp.Query:
    """The visible changes in (lo, hi]: visible columns, count, stamp (S3). `before` leads to `lo`."""
    inside = _logged(block, lo, hi)
    if not isinstance(block, Reduce):
        return inside
    running = subquery(_running(block, inside, lo, before, any_taken), "_rv_w")
    sides = [_side(block, running.copy(), lo, "_rv_before"), _side(block, running, lo, "_rv_after")]
    names = [column(c.name) for c in block.columns]
    return select(
        *names, named(cast(exp.Sum(this=column(COUNT)), "BIGINT"), COUNT), column(STAMP)
    ).from_(subquery(union_all(sides), "_rv_c"), copy=False).group_by(
        *(n.copy() for n in names), column(STAMP), copy=False).having(_counted("<>"), copy=False)  # fmt: skip


def totals(block: Reduce, lo: Csn, hi: Csn, before: Window, any_taken: bool) -> exp.Select:
    """Per key and stamp in (lo, hi]: what the sums and the count come to, and the stamp that follows, if any.

    A sum that exceeds its own type is NULL. `before` leads to `lo`.
    """
    inside = _logged(block, lo, hi)
    start = _start(block, inside, lo, before, any_taken)
    by = f"PARTITION BY {', '.join(map(quoted, block.keys))} " if block.keys else ""
    order = f"{by}ORDER BY `{STAMP}`"
    over = f"OVER ({order} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    sums = [*(s.name for s in block.sums), COUNT]
    after = select(
        *(column(k) for k in block.keys), column(STAMP),
        *(named(expression(f"TRY_SUM({quoted(s)}) {over}"), s) for s in sums),
        named(expression(f"LEAD(`{STAMP}`) OVER ({order})"), NEXT),
    ).from_(subquery(union_all([start, inside]), "_rv_p"), copy=False)  # fmt: skip
    later = exp.GT(this=column(STAMP), expression=bigint(lo))
    return (
        select(expression("_rv_t.*"))
        .from_(subquery(after, "_rv_t"), copy=False)
        .where(later, copy=False)
    )


def _start(
    block: Reduce, inside: exp.Query, lo: Csn, before: Window, any_taken: bool
) -> exp.Select:
    """The sums as of `lo` of the keys that move afterwards, with that stamp."""
    keys = [column(k) for k in block.keys]
    old = state(block, before, any_taken)
    old = among(old, block, inside.copy(), "SEMI", same_key) if keys else _at_least_one(block, old)
    return select(*keys, *(column(s) for s in (*(s.name for s in block.sums), COUNT)),
                  named(bigint(lo), STAMP)).from_(subquery(old, "_rv_b"), copy=False)  # fmt: skip


def _running(
    block: Reduce, inside: exp.Query, lo: Csn, before: Window, any_taken: bool
) -> exp.Select:
    """Per key and stamp: every sum just before and just after the stamp."""
    keys = [column(k) for k in block.keys]
    sums = [*(s.name for s in block.sums), COUNT]
    moves = select(
        *keys, *(named(exp.Sum(this=column(s)), s) for s in sums), column(STAMP)
    ).from_(subquery(inside, "_rv_i"), copy=False).group_by(
        *(k.copy() for k in keys), column(STAMP), copy=False)  # fmt: skip
    start = _start(block, inside, lo, before, any_taken)
    by = f"PARTITION BY {', '.join(map(quoted, block.keys))} " if keys else ""
    over = f"OVER ({by}ORDER BY `{STAMP}` ROWS BETWEEN UNBOUNDED PRECEDING AND"
    types = {**{s.name: s.type for s in block.sums}, COUNT: "BIGINT"}
    sides = [
        named(
            expression(f"CAST(COALESCE(SUM({quoted(s)}) {over} {end}), 0) AS {types[s]})"),
            f"{side}_{s}",
        )
        for side, end in (("_rv_before", "1 PRECEDING"), ("_rv_after", "CURRENT ROW"))
        for s in sums
    ]
    return select(*(k.copy() for k in keys), column(STAMP), *sides).from_(
        subquery(union_all([start, moves]), "_rv_p"), copy=False)  # fmt: skip


def _side(block: Reduce, running: exp.Subquery, lo: Csn, side: str) -> exp.Select:
    """What the Reduce showed just before each stamp (taken back), or just after it (added)."""
    sums = [*(s.name for s in block.sums), COUNT]
    present = [exp.GT(this=column(STAMP), expression=bigint(lo))]
    if block.keys:
        present.append(exp.GT(this=column(f"{side}_{COUNT}"), expression=exp.Literal.number(0)))
    rows = select(
        *(column(k) for k in block.keys), column(STAMP), *(named(column(f"{side}_{s}"), s) for s in sums)
    ).from_(running, copy=False).where(every(present), copy=False)  # fmt: skip
    count = _copies(block) if side == "_rv_after" else exp.Neg(this=_copies(block))
    query = select(
        *(named(block_expression(c.expr), c.name) for c in block.columns), named(count, COUNT), column(STAMP)
    ).from_(subquery(rows, "_rv_s"), copy=False)  # fmt: skip
    return kept_where(query, block.having)
