"""The two queries of every block: its rows as of a time, and the changes that a step adds to it.

Which terms a step has is rolling.py's matter; here they become one tree, by the kind of the block. The inputs of a
BagReduce or Fixpoint move together, since its memory is of one time. A Fixpoint's step is several queries
(fixpoint.py), of which the terms are made here. Knows blocks, terms and trees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from sqlglot import exp

from rollview.calculus.bags import bag_changes, enough, made
from rollview.calculus.queries import (
    LeafName,
    addends,
    bigint,
    column,
    kept_keys,
    named,
    select,
    state_query,
    subquery,
    summarised,
    table,
    term_query,
    union_all,
)
from rollview.calculus.rolling import Advance, advances
from rollview.calculus.terms import AsOf, Changes, Term
from rollview.changes import COUNT, STAMP, Csn
from rollview.views.blocks import BagReduce, Block, Fixpoint, Join, Reduce, joins

BlockTerm = tuple[Join, Term]


def built(block: Block, rows: exp.Query) -> exp.Query:
    """What the block keeps of its source's rows, each of which stands for itself."""
    return made(block, rows) if isinstance(block, BagReduce) else summarised(block, rows)


def stepped(
    block: Block,
    name: str,
    terms: Sequence[BlockTerm],
    lo: Csn,
    leaf_name: LeafName,
    cells: Sequence[Csn] = (),
    of_term: Callable[[int], LeafName] | None = None,
    moved: int | None = None,
    apart: bool = False,
) -> exp.Query:
    """The changes that the terms of a step make; `lo` is where the inputs of a BagReduce stand before it.

    `cells`, if given, are the times to which the stamps of a BagReduce are rounded up. `of_term` gives each term names
    of its own for its leaves, where it matters which term reads them. `moved`, if known: at most so many rows go in the
    step, or are taken away within the memory. `apart`: what a Reduce adds up is left for somebody else to add up.
    """
    changes = union_all([
        term_query(join, term, of_term(number) if of_term else leaf_name)
        for number, (join, term) in enumerate(terms)
    ])  # fmt: skip
    if isinstance(block, Reduce) and apart:
        return addends(block, changes)
    if not isinstance(block, BagReduce):
        return summarised(block, changes)
    changes = _rounded(block, changes, cells)
    memory = union_all([state_query(join, lo, leaf_name) for join in joins(block)])
    memory = memory if moved is None else enough(block, memory, moved)
    names = tuple(c.name for c in kept_keys(block))
    own = table(leaf_name(AsOf(0, lo), name, names), "_rv_own")
    kept = select(*(column(n) for n in names), column(COUNT)).from_(own, copy=False)
    return bag_changes(block, changes, memory, kept)


@lru_cache(maxsize=1024)
def stepped_text(block: Block, over: tuple[Join, ...], apart: bool) -> str:
    """The text of `stepped` where every term is a join over changes alone, each under the name of its relation.

    It says no time, and so serves every step of the block that reads nothing else.
    """
    terms = [(join, (Changes(0, Csn(0), Csn(1)),)) for join in over]
    tree = stepped(block, "", terms, Csn(0), lambda _, relation, __: relation, apart=apart)
    return tree.sql(dialect="spark", copy=False)


def _rounded(block: BagReduce, changes: exp.Query, cells: Sequence[Csn]) -> exp.Query:
    """The changes with the next of the given times for a stamp."""
    if not cells:
        return changes
    stamp = exp.Case()
    for end in cells:
        reached = exp.LTE(this=column(STAMP), expression=bigint(end))
        stamp.when(reached, bigint(end), copy=False)
    names = (column(c.name) for c in block.source.columns)
    return select(*names, named(stamp, STAMP), column(COUNT)).from_(
        subquery(changes, "_rv_fine"), copy=False)  # fmt: skip


def together(block: Block, frontier: Sequence[Csn], targets: Sequence[Csn]) -> list[Csn]:
    """The targets as the block can take them: where its inputs move together, as far as all of them can."""
    if not isinstance(block, BagReduce | Fixpoint):
        return list(targets)
    least = Csn(min(targets))
    return [Csn(max(least, at)) for at in frontier]


def planned(
    block: Block,
    name: str,
    frontier: Sequence[Csn],
    targets: Sequence[tuple[int, Csn]],
    changed: Sequence[bool],
) -> list[tuple[int, Advance]]:
    """The steps that take inputs of the block, by position, to their times: (join, step within that join).

    `changed[k]` says whether the input of target k changed. A block that reads itself does so last in each join, if
    anything changed at all: then every other input is where it is going.
    """
    moves: list[tuple[int, Advance]] = []
    first = 0
    for number, join in enumerate(joins(block)):
        end = first + len(join.inputs)
        mine = [
            (k - first, to, itself := join.inputs[k - first].relation == name, any(changed) if itself else c)
            for (k, to), c in zip(targets, changed, strict=True)
            if first <= k < end
        ]  # fmt: skip
        mine.sort(key=lambda target: target[2])  # itself last; the others as they are
        part = tuple(frontier[first:end])
        plan = advances(part, [(k, to) for k, to, *_ in mine], [c for *_, c in mine])
        moves += [(number, advance) for advance in plan]
        first = end
    return moves
