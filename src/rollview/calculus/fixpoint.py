"""Recursion, level by level: what a Fixpoint takes back and what it adds, with the stamp of each change.

F1  A row arrives at level 0 from the anchor, at level n + 1 from a row that is shown at level n. Arrivals are counted
    by row and level; their changes are terms of a step like any other's (terms.py), the block itself being one input.
F2  UNION ALL shows every arrival. UNION shows a row once, at the first level at which it arrives: as long as that level
    has an arrival left, whatever arrives later; when the last one goes, at the next level that has any.
F3  What arrives at a level depends on lower levels only. Levels are settled in order, each once, so that a row in a
    cycle never holds itself up, and what is settled stays so.
F4  Of what was there before, the arrivals of touched rows are read, and no others.
The loop is here, the queries run elsewhere (Recursion). Why not as in Gupta, Mumick 1995, section 3.3: decision 015.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from rollview.calculus.queries import (
    LeafName,
    bigint,
    cast,
    column,
    equalities,
    every,
    expression,
    joined,
    named,
    select,
    state_query,
    subquery,
    table,
    term_query,
    union_all,
)
from rollview.calculus.terms import AsOf, Changes, Factor, Term
from rollview.changes import COUNT, STAMP, Csn
from rollview.errors import QueryFailed
from rollview.views.blocks import LEVEL, SHOWN, Fixpoint, Join
from rollview.views.syntax import quoted

MOST_LEVELS_OF_ALL = 100
"""Levels of UNION ALL: Spark's own limit (spark.sql.cteRecursionLevelLimit), at which its recompute fails."""
MOST_LEVELS = 1000
"""Levels of UNION; each costs some Spark jobs."""

HERE, EARLIER, IS, WAS = "_rv_here", "_rv_earlier", "_rv_is", "_rv_was"
BEFORE = -1
"""The stamp of what was there before; a build at CSN 0 has the stamp 0."""

BlockTerm = tuple[Join, Term]


@dataclass(frozen=True, slots=True)
class Kept:
    """The result of a query: the name by which later queries read it, and its number of rows."""

    name: str
    rows: int


class Recursion(Protocol):
    """An engine that runs the queries of one recursion."""

    def keep(self, rows: exp.Query) -> Kept:
        """Run the query now."""

    def least(self, number: exp.Query) -> int | None:
        """The one number that the query gives, if it is not NULL."""


def stepped_levels(
    block: Fixpoint,
    name: str,
    terms: Sequence[BlockTerm],
    lo: Csn,
    leaf_name: LeafName,
    recursion: Recursion,
) -> exp.Query:
    """The changes of the block that the terms of a step make; `name` is the relation by which it reads itself."""
    seeds = [term_query(j, t, leaf_name) for j, t in terms if not reads_itself(name, j, t)]
    loops = [(j, t) for j, t in terms if reads_itself(name, j, t)]
    names = tuple(c.name for c in block.columns)
    own = table(leaf_name(AsOf(0, lo), name, names), "_rv_own")
    memory = select(*(column(n) for n in (*names, COUNT))).from_(own, copy=False)
    return _levels(
        block, name, union_all(seeds), _looped(name, loops, leaf_name), memory, recursion
    )


def built_levels(
    block: Fixpoint, name: str, at: Csn, leaf_name: LeafName, recursion: Recursion
) -> exp.Query:
    """All that the block keeps as of `at`, with counts."""
    seeds = union_all([state_query(join, at, leaf_name) for join in block.anchor.parts])
    loops = [
        (join, tuple(
            Changes(k, at, at) if i.relation == name else AsOf(k, at) for k, i in enumerate(join.inputs)
        ))
        for join in block.step.parts
    ]  # fmt: skip
    return _levels(block, name, seeds, _looped(name, loops, leaf_name), None, recursion)


def written_out(terms: Sequence[BlockTerm], leaf_name: LeafName) -> exp.Query:
    """The terms of a step, of all levels, as one query for people: the block's own changes stand in it as such."""
    return union_all([term_query(join, term, leaf_name) for join, term in terms])


def reads_itself(name: str, join: Join, term: Term) -> bool:
    """The term is over the block's own changes, which the step is only about to make."""
    return any(isinstance(f, Changes) and join.inputs[f.input].relation == name for f in term)


@dataclass(frozen=True, slots=True)
class Way:
    """A column of a relation, and the column of a level's rows whose values it must have, to join one of them.

    `nulls`: NULL is a value too.
    """

    column: str
    of_level: str
    nulls: bool = False


def ways(block: Fixpoint, name: str) -> dict[str, Way]:
    """By which column the rows of a level lead to each relation that they are joined with, and to the block's own.

    A relation that levels reach by different columns, or by none, is not among them.
    """
    found: dict[str, set[Way | None]] = {}
    for join in block.step.parts:
        (itself,) = (i.alias for i in join.inputs if i.relation == name)
        equal = [pair for a, b in equalities(join) for pair in ((a, b), (b, a))]
        for i in (i for i in join.inputs if i.relation != name):
            to = (Way(b.name, a.name) for a, b in equal if (a.table, b.table) == (itself, i.alias))
            found.setdefault(i.relation, set()).add(next(to, None))
    first = _names(block)[0]
    one = {relation: next(iter(some)) for relation, some in found.items() if len(some) == 1}
    return {r: way for r, way in one.items() if way is not None} | {name: Way(first, first, True)}


Looped = Callable[[str], exp.Query]
"""What arrives at the next level, given the name of what changed at this one."""


def _looped(name: str, loops: Sequence[BlockTerm], leaf_name: LeafName) -> Looped:
    def looped(changed: str) -> exp.Query:
        def leaf(factor: Factor, relation: str, columns: tuple[str, ...]) -> str:
            own = relation == name and isinstance(factor, Changes)
            return changed if own else leaf_name(factor, relation, columns)

        return union_all([term_query(join, term, leaf) for join, term in loops])

    return looped


def _levels(
    block: Fixpoint,
    name: str,
    seeds: exp.Query,
    looped: Looped,
    memory: exp.Query | None,
    recursion: Recursion,
) -> exp.Query:
    """Level after level, until nothing is left that could change (F3)."""
    seeded = recursion.keep(_netted(block, seeds)).name
    arrived: list[str] = []  # what changed in the arrivals, level by level
    shown: list[str] = []  # what changed in what is shown
    known: list[str] = []  # what had arrived before, of touched rows
    level, changed = recursion.least(_least([_levels_of(seeded)])), ""
    while level is not None:
        _check_level(block, name, level)
        parts: list[exp.Query] = [_rows(block, seeded, level)]
        parts += [looped(changed)] if changed else []
        here = recursion.keep(_netted(block, union_all(parts)))
        if block.distinct and memory is not None and here.rows:
            before = recursion.keep(_remembered(block, memory, here.name, arrived))
            known += [before.name] if before.rows else []
        new = here
        if block.distinct and (here.rows or known):
            new = recursion.keep(_first(block, level, here.name, arrived, known))
        arrived += [here.name] if here.rows else []
        shown += [new.name] if new.rows else []
        changed = new.name if new.rows else ""
        waiting = [_levels_of(n, level) for n in (seeded, *known)]
        level = level + 1 if changed else recursion.least(_least(waiting))
    return _kept(block, seeded, arrived, shown)


def _check_level(block: Fixpoint, name: str, level: int) -> None:
    most = MOST_LEVELS if block.distinct else MOST_LEVELS_OF_ALL
    if level > most:
        kind = "UNION" if block.distinct else "UNION ALL"
        hint = "add a condition that ends it" if block.distinct else "look for a cycle; UNION ends"
        raise QueryFailed(
            f'view "{name.partition("#")[0]}" cannot be refreshed: its recursion does not end',
            f"[RECURSION_LEVEL_LIMIT_EXCEEDED] {kind} still has rows after {most} levels",
            hint,
        )


def _names(block: Fixpoint) -> list[str]:
    """The columns of a row; what is counted is rows by level."""
    return [c.name for c in block.anchor.columns if c.name != LEVEL]


def _netted(block: Fixpoint, changes: exp.Query) -> exp.Query:
    """Arrivals by row, level and stamp."""
    keys = [*_names(block), LEVEL, STAMP]
    return _summed(keys, changes)


def _summed(keys: Sequence[str], rows: exp.Query) -> exp.Select:
    return (
        select(*(column(k) for k in keys), named(_sum(COUNT), COUNT))
        .from_(subquery(rows, "_rv_n"), copy=False)
        .group_by(*(column(k) for k in keys), copy=False)
        .having(expression(f"SUM(`{COUNT}`) <> 0"), copy=False)
    )


def _sum(name: str) -> exp.Expr:
    return cast(exp.Sum(this=column(name)), "BIGINT")


def _rows(block: Fixpoint, name: str, level: int) -> exp.Select:
    """The arrivals of one level."""
    names = (column(n) for n in (*_names(block), LEVEL, STAMP, COUNT))
    return select(*names).from_(table(name, "_rv_s"), copy=False).where(
        _at_level("=", level), copy=False)  # fmt: skip


def _at_level(sign: str, level: int) -> exp.Expr:
    return expression(f"`{LEVEL}` {sign} {level}")


def _levels_of(name: str, above: int = -1) -> exp.Select:
    """The levels above one."""
    return select(column(LEVEL)).from_(table(name, "_rv_l"), copy=False).where(
        _at_level(">", above), copy=False)  # fmt: skip


def _least(levels: Sequence[exp.Query]) -> exp.Query:
    return select(named(exp.Min(this=column(LEVEL)), LEVEL)).from_(
        subquery(union_all(levels), "_rv_all"), copy=False)  # fmt: skip


def _same(block: Fixpoint, left: str, right: str) -> exp.Expr:
    return every(
        exp.NullSafeEQ(this=column(n, left), expression=column(n, right)) for n in _names(block)
    )


def _only(block: Fixpoint, rows: exp.Query, kind: str, others: Sequence[exp.Query]) -> exp.Select:
    """The rows that are (SEMI) or are not (ANTI) among the others."""
    among = subquery(union_all(others), "_rv_o")
    all_of = select(expression("_rv_f.*")).from_(subquery(rows, "_rv_f"), copy=False)
    return joined(all_of, among, kind, _same(block, "_rv_f", "_rv_o"))


def _touched(block: Fixpoint, name: str, level: int | None = None) -> exp.Select:
    """The rows that a kept result is about."""
    rows = select(*(column(n) for n in _names(block))).from_(table(name, "_rv_t"), copy=False)
    return rows if level is None else rows.where(_at_level("=", level), copy=False)


def _remembered(block: Fixpoint, memory: exp.Query, here: str, arrived: Sequence[str]) -> exp.Query:
    """How the rows that are touched for the first time had arrived before (F4)."""
    fresh: exp.Query = _touched(block, here)
    if arrived:
        fresh = _only(block, fresh, "ANTI", [_touched(block, name) for name in arrived])
    rows = select(exp.Star()).from_(subquery(memory.copy(), "_rv_m"), copy=False).where(
        exp.not_(column(SHOWN), copy=False), copy=False)  # fmt: skip
    return _summed([*_names(block), LEVEL], _only(block, rows, "SEMI", [fresh]))


def _first(
    block: Fixpoint, level: int, here: str, arrived: Sequence[str], known: Sequence[str]
) -> exp.Query:
    """What changes at which stamp in the rows that arrive at this level and at none before (F2)."""
    names = _names(block)
    moves = select(
        *(column(n) for n in (*names, STAMP)), named(_sum(HERE), HERE), named(_sum(EARLIER), EARLIER)
    ).from_(subquery(_moves(block, level, here, arrived, known), "_rv_m"), copy=False).group_by(
        *(column(n) for n in (*names, STAMP)), copy=False)  # fmt: skip
    over = f"OVER (PARTITION BY {', '.join(map(quoted, names))} ORDER BY `{STAMP}`"
    running = f"{over} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    is_shown = expression(
        f"CASE WHEN SUM(`{HERE}`) {running} > 0 AND SUM(`{EARLIER}`) {running} = 0 "
        "THEN CAST(1 AS BIGINT) ELSE CAST(0 AS BIGINT) END"
    )
    after = select(*(column(n) for n in (*names, STAMP)), named(is_shown, IS)).from_(
        subquery(moves, "_rv_r"), copy=False)  # fmt: skip
    was = expression(f"COALESCE(LAG(`{IS}`) {over}), CAST(0 AS BIGINT))")
    both = select(*(column(n) for n in (*names, STAMP, IS)), named(was, WAS)).from_(
        subquery(after, "_rv_a"), copy=False)  # fmt: skip
    return (
        select(
            *(column(n) for n in names),
            named(cast(exp.Literal.number(level), "INT"), LEVEL),
            named(exp.true(), SHOWN),
            column(STAMP),
            named(expression(f"`{IS}` - `{WAS}`"), COUNT),
        )
        .from_(subquery(both, "_rv_b"), copy=False)
        .where(expression(f"`{IS}` <> `{WAS}` AND `{STAMP}` > {BEFORE}"), copy=False)
    )


def _moves(
    block: Fixpoint, level: int, here: str, arrived: Sequence[str], known: Sequence[str]
) -> exp.Query:
    """Arrivals at this level, and at earlier ones of the rows that arrive at this one."""

    def moves(name: str, stamp: exp.Expr, is_here: bool) -> exp.Select:
        zero = bigint(0)
        counts = (column(COUNT), zero) if is_here else (zero, column(COUNT))
        return select(
            *(column(n) for n in _names(block)), named(stamp, STAMP),
            named(counts[0], HERE), named(counts[1], EARLIER),
        ).from_(table(name, "_rv_k"), copy=False)  # fmt: skip

    def of_level(rows: exp.Select, sign: str) -> exp.Select:
        return rows.where(_at_level(sign, level), copy=False)

    now = [moves(here, column(STAMP), True)]
    now += [of_level(moves(n, bigint(BEFORE), True), "=") for n in known]
    earlier = [moves(n, column(STAMP), False) for n in arrived]
    earlier += [of_level(moves(n, bigint(BEFORE), False), "<") for n in known]
    if not earlier:
        return union_all(now)
    looked = [_touched(block, here), *(_touched(block, n, level) for n in known)]
    return union_all([*now, _only(block, union_all(earlier), "SEMI", looked)])


def _kept(block: Fixpoint, seeded: str, arrived: Sequence[str], shown: Sequence[str]) -> exp.Query:
    """The changes of everything that the block keeps."""

    def changes(name: str, is_shown: bool) -> exp.Select:
        names = [column(n) for n in (*_names(block), LEVEL)]
        flag = [named(exp.true() if is_shown else exp.false(), SHOWN)] if block.distinct else []
        return select(*names, *flag, column(STAMP), column(COUNT)).from_(
            table(name, "_rv_k"), copy=False)  # fmt: skip

    def all_changes() -> Iterator[exp.Select]:
        yield from (changes(name, False) for name in arrived or [seeded])
        yield from (changes(name, True) for name in shown if block.distinct)

    return union_all(list(all_changes()))
