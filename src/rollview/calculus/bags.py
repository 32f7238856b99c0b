"""The general Reduce as a tree: for any aggregate or window function, what it takes back and what it adds.

M1  A key's bag is looked at after each stamp that touched the key, never inside one: these are its versions. The bag
    is the memory (the source as of lo) with the changes up to that stamp.
M2  What is made of a version is added at its stamp and taken back at the key's next one; it is computed once.
M3  Before the first of them the block showed what it kept at lo. That is what is taken back, so that a value that
    depends on the order in which it was computed goes as it came.
M4  Without keys, aggregates make one row of every version, also of an empty bag.
M5  The first n rows of any version are new, or among the first n + d of the memory, if d rows are taken away.
M6  They are new, or among those that the block shows at lo, if none of the latter is taken away.
Spec: blocks_model.py, Reduce. Knows blocks and trees; neither engines nor storage. Words: docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    named,
    select,
    subquery,
    table,
    union_all,
)
from rollview.changes import COUNT, STAMP
from rollview.views.blocks import BagReduce, Column

NEXT, FIRST, KEEP, SIGN = "_rv_next", "_rv_first", "_rv_keep", "_rv_sign"
CHANGES, VERSIONS, BAGS, MADE = "_rv_changes", "_rv_versions", "_rv_bags", "_rv_made"


def bag_changes(
    block: BagReduce, changes: exp.Query, memory: exp.Query, kept: exp.Query
) -> exp.Query:
    """The changes of the block that the changes of its source make (M1 to M4).

    `changes` and `memory` (the source as of lo) have the source's columns, stamp and count; `kept` is what the
    block itself keeps as of lo, with counts.
    """
    names = [column(c.name) for c in kept_keys(block)]
    moves = subquery(union_all([_added_and_taken(block), _taken_first(block, kept)]), "_rv_m")
    query = (
        select(*names, named(cast(exp.Sum(this=column(COUNT)), "BIGINT"), COUNT), column(STAMP))
        .from_(moves, copy=False)
        .group_by(*(n.copy() for n in names), column(STAMP), copy=False)
        .having(expression(f"SUM(`{COUNT}`) <> 0"), copy=False)
    )  # fmt: skip
    parts = {
        CHANGES: changes,
        VERSIONS: _versions(block),
        BAGS: _bags(block, memory),
        MADE: _made_of_versions(block),
    }
    for name, part in parts.items():
        query = query.with_(exp.to_identifier(name, quoted=True), as_=part, copy=False)
    return query


def enough(block: BagReduce, memory: exp.Query, moved: int) -> exp.Query:
    """The part of the memory that the first rows of any version can be among (M5); all of it for other blocks.

    `moved`: no more rows than that are taken away in the step, nor have a negative count in the memory.
    """
    found = first_rows(block)
    if found is None:
        return memory
    order, last = found
    names = [column(c.name) for c in (*block.source.columns, Column(COUNT, COUNT, ""))]
    # What takes away comes first: it takes away one of the rows behind it.
    sign = expression(f"CASE WHEN `{COUNT}` < 0 THEN 0 ELSE 1 END")
    return (
        exp.select(*names)
        .from_(subquery(memory, "_rv_all"))
        .order_by(sign, *(part.copy() for part in order.expressions))
        .limit(last + 2 * moved)
    )


def first_rows(block: BagReduce) -> tuple[exp.Order, int] | None:
    """Of a block that shows the first rows of its one bag, the order and the number of the last one (LIMIT)."""
    if block.grouped or block.keys or block.having is None:
        return None
    if any(block_expression(c.expr).find(exp.Window) for c in block.columns):
        return None
    having = block_expression(block.having)
    for one in having.flatten() if isinstance(having, exp.And) else (having,):
        match one:
            case exp.LTE(
                this=exp.Window(this=exp.Anonymous(this="ROW_NUMBER")) as number,
                expression=exp.Literal() as last,
            ) if not number.args.get("partition_by") and not last.is_string:
                return number.args["order"], int(last.name)
    return None


def shown_as(block: BagReduce) -> dict[str, str] | None:
    """By column of the source: under which name a block of first rows shows it. None for other blocks, and where rows
    before the shown ones are left out (OFFSET) or a column is not shown: then what is shown is no memory (M6)."""
    if first_rows(block) is None or not isinstance(block_expression(block.having or ""), exp.LTE):
        return None
    found = {c.name: c.name for c in block.hidden}
    for c in block.columns:
        match block_expression(c.expr):
            case exp.Column() as source:
                found.setdefault(source.name, c.name)
    return found if all(c.name in found for c in block.source.columns) else None


def made(block: BagReduce, rows: exp.Query, by: Sequence[str] = ()) -> exp.Select:
    """What the block makes of rows, each standing for itself; apart for each value of the columns `by`."""
    kept = [*(named(_apart(c.expr, by), c.name) for c in block.columns),
            *(column(c.name) for c in block.hidden), *(column(b) for b in by)]  # fmt: skip
    source = subquery(rows, "_rv_b")
    if block.grouped:
        query = select(*kept).from_(source, copy=False)
        groups = [column(k) for k in (*block.keys, *by)]
        query = query.group_by(*groups, copy=False) if groups else query
        return query.having(block_expression(block.having), copy=False) if block.having else query
    if block.having is None:
        return select(*kept).from_(source, copy=False)
    inner = select(*kept, named(_apart(block.having, by), KEEP)).from_(source, copy=False)
    names = [column(c.name) for c in kept_keys(block)]
    return (
        select(*names, *(column(b) for b in by))
        .from_(subquery(inner, "_rv_q"), copy=False)
        .where(column(KEEP), copy=False)
    )


def _apart(text: str, by: Sequence[str]) -> exp.Expr:
    """The expression, its windows confined to rows of equal `by`."""
    tree = exp.Paren(this=block_expression(text))
    for window in list(tree.find_all(exp.Window)) if by else []:
        partition = [*(column(b) for b in by), *window.args.get("partition_by", [])]
        window.set("partition_by", partition)
    found: exp.Expr = tree.this
    return found.pop()


def _same_key(block: BagReduce, left: str, right: str) -> exp.Expr:
    return every(
        exp.NullSafeEQ(this=column(k, left), expression=column(k, right)) for k in block.keys
    )


def _versions(block: BagReduce) -> exp.Select:
    """Keys with the stamps that touched them, and the next stamp of the same key (M1)."""
    keys = [column(k) for k in block.keys]
    touched = (
        select(*keys, column(STAMP)).distinct(copy=False).from_(table(CHANGES, "_rv_c"), copy=False)
    )
    following = exp.Window(
        this=expression(f"LEAD(`{STAMP}`)"),
        partition_by=[k.copy() for k in keys],
        order=exp.Order(expressions=[exp.Ordered(this=column(STAMP))]),
    )
    return select(*(k.copy() for k in keys), column(STAMP), named(following, NEXT)).from_(
        subquery(touched, "_rv_t"), copy=False)  # fmt: skip


def _bags(block: BagReduce, memory: exp.Query) -> exp.Select:
    """Every version's bag: the source's columns, positive counts, stamp and next stamp (M1)."""
    names = [c.name for c in block.source.columns]
    old = select(*(column(n, "_rv_o") for n in names), named(bigint(0), STAMP),
                 column(COUNT, "_rv_o")).from_(subquery(memory, "_rv_o"), copy=False)  # fmt: skip
    if block.keys:
        old = joined(old, table(VERSIONS, "_rv_t"), "SEMI", _same_key(block, "_rv_o", "_rv_t"))
    newer = select(*(column(n) for n in (*names, STAMP, COUNT))).from_(
        table(CHANGES, "_rv_c"), copy=False)  # fmt: skip
    reached = exp.LTE(this=column(STAMP, "_rv_r"), expression=column(STAMP, "_rv_v"))
    groups = [*(column(n, "_rv_r") for n in names), column(STAMP, "_rv_v"), column(NEXT, "_rv_v")]
    count = cast(exp.Sum(this=column(COUNT, "_rv_r")), "BIGINT")
    versions = select(*groups, named(count, COUNT)).from_(table(VERSIONS, "_rv_v"), copy=False)
    rows = subquery(union_all([old, newer]), "_rv_r")
    same = exp.and_(_same_key(block, "_rv_v", "_rv_r"), reached, copy=False)
    return (
        joined(versions, rows, "", same)
        .group_by(*(g.copy() for g in groups), copy=False)
        .having(expression(f"SUM(`_rv_r`.`{COUNT}`) > 0"), copy=False)
    )


def _repeated(block: BagReduce) -> exp.Select:
    """The rows of the bags, each as often as it occurs where that matters."""
    names = [*(c.name for c in block.source.columns), STAMP, NEXT]
    rows = select(*(column(n) for n in names)).from_(table(BAGS, "_rv_g"), copy=False)
    if not block.repeats:
        return rows
    copy = named(expression(f"EXPLODE(SEQUENCE(1, `{COUNT}`))"), "_rv_copy")
    copies = rows.select(copy, copy=False)
    return select(*(column(n) for n in names)).from_(subquery(copies, "_rv_x"), copy=False)


def _made_of_versions(block: BagReduce) -> exp.Query:
    """What the block makes of every version, with its stamp and the next one."""
    rows = made(block, _repeated(block), (STAMP, NEXT))
    if block.keys or not block.grouped:
        return rows
    nothing = _repeated(block).where(exp.false(), copy=False)
    empty = made(block, nothing)
    versions = select(column(STAMP, "_rv_v"), column(NEXT, "_rv_v")).from_(
        table(VERSIONS, "_rv_v"), copy=False)  # fmt: skip
    same = exp.EQ(this=column(STAMP, "_rv_v"), expression=column(STAMP, "_rv_a"))
    versions = joined(versions, table(BAGS, "_rv_a"), "ANTI", same)
    alone = select(exp.Star()).from_(subquery(empty, "_rv_e"), copy=False)
    return union_all([rows, joined(alone, subquery(versions, "_rv_n"), "CROSS")])


def _added_and_taken(block: BagReduce) -> exp.Select:
    """What was made of a version: added at its stamp, taken back at the next one (M2)."""
    signs = union_all([select(named(bigint(1), SIGN)), select(named(bigint(-1), SIGN))])
    added = exp.GT(this=column(SIGN), expression=exp.Literal.number(0))
    stamp = exp.Case().when(added, column(STAMP), copy=False).else_(column(NEXT), copy=False)
    query = select(
        *(column(c.name) for c in kept_keys(block)),
        named(stamp, STAMP),
        named(column(SIGN), COUNT),
    ).from_(table(MADE, "_rv_w"), copy=False)
    ended = exp.not_(exp.Is(this=column(NEXT), expression=exp.null()), copy=False)
    return joined(query, subquery(signs, "_rv_s"), "CROSS").where(
        exp.or_(added.copy(), ended, copy=False), copy=False)  # fmt: skip


def _taken_first(block: BagReduce, kept: exp.Query) -> exp.Select:
    """What the touched keys showed at lo, taken back at the first stamp that touched them (M3)."""
    keys = [column(k) for k in block.keys]
    first = select(*keys, named(exp.Min(this=column(STAMP)), FIRST)).from_(
        table(VERSIONS, "_rv_v"), copy=False)  # fmt: skip
    any_change = expression(f"COUNT(`{STAMP}`) > 0")  # without keys there is a row over nothing too
    first = first.group_by(*(k.copy() for k in keys), copy=False).having(any_change, copy=False)
    query = select(
        *(column(c.name, "_rv_k") for c in kept_keys(block)),
        named(column(FIRST, "_rv_f"), STAMP),
        named(exp.Neg(this=column(COUNT, "_rv_k")), COUNT),
    ).from_(subquery(kept, "_rv_k"), copy=False)
    return joined(query, subquery(first, "_rv_f"), "", _same_key(block, "_rv_k", "_rv_f"))
