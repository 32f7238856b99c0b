"""The two queries of every block: its rows as of a time, and the changes that a step adds to it.

Which terms a step has is rolling.py's matter; here they become one tree, by the kind of the block. The inputs of a
BagReduce move together, since its memory is its source as of one time. Knows blocks, terms and trees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from rollview.calculus.bags import bag_changes, made
from rollview.calculus.queries import (
    LeafName,
    bigint,
    column,
    kept_keys,
    named,
    state_query,
    subquery,
    summarised,
    table,
    term_query,
    union_all,
)
from rollview.calculus.terms import AsOf, Term
from rollview.changes import COUNT, STAMP, Csn
from rollview.views.blocks import BagReduce, Block, Join, joins

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
) -> exp.Query:
    """The changes that the terms of a step make; `lo` is where the inputs of a BagReduce stand before it.

    `cells`, if given, are the times to which the stamps of a BagReduce are rounded up. `of_term` gives each term names
    of its own for its leaves, where it matters which term reads them.
    """
    changes = union_all([
        term_query(join, term, of_term(number) if of_term else leaf_name)
        for number, (join, term) in enumerate(terms)
    ])  # fmt: skip
    if not isinstance(block, BagReduce):
        return summarised(block, changes)
    changes = _rounded(block, changes, cells)
    memory = union_all([state_query(join, lo, leaf_name) for join in joins(block)])
    names = tuple(c.name for c in kept_keys(block))
    own = table(leaf_name(AsOf(0, lo), name, names), "_rv_own")
    kept = exp.select(*(column(n) for n in names), column(COUNT)).from_(own)
    return bag_changes(block, changes, memory, kept)


def _rounded(block: BagReduce, changes: exp.Query, cells: Sequence[Csn]) -> exp.Query:
    """The changes with the next of the given times for a stamp."""
    if not cells:
        return changes
    stamp = exp.Case()
    for end in cells:
        reached = exp.LTE(this=column(STAMP), expression=bigint(end))
        stamp = stamp.when(reached, bigint(end))
    names = (column(c.name) for c in block.source.columns)
    return exp.select(*names, named(stamp, STAMP), column(COUNT)).from_(
        subquery(changes, "_rv_fine"))  # fmt: skip


def together(block: Block, frontier: Sequence[Csn], targets: Sequence[Csn]) -> list[Csn]:
    """The targets as the block can take them: the inputs of a BagReduce go as far as all of them can."""
    if not isinstance(block, BagReduce):
        return list(targets)
    least = Csn(min(targets))
    return [Csn(max(least, at)) for at in frontier]
