"""Resolution: a view may be exact at some times only, so that a hot key costs once a minute, not once a transaction.

Z1  The timeline is cut into cells of `resolution` seconds of commit time. Within a step of a BagReduce every stamp is
    rounded up to the end of its cell, or to the end of the step: at those times the view is exact.
Z2  A time inside a cell that a step went through is refused, with the nearest exact times named; so is it for
    every view that reads the rounded one.
Z3  A rounded step is listed with the whole interval that it covers, which is how Z2 knows it.
Where stamps are rounded: calculus/steps.py. Words: docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from rollview.changes import Csn
from rollview.config import seconds_of
from rollview.errors import TimeNotReached
from rollview.ledger.store import Ledger, Step, ViewRow
from rollview.views.blocks import BagReduce, inputs

MOST_CELLS = 500
"""Cells that one step goes through; the rounding is part of the query's text."""


def resolution_of(options: Mapping[str, object]) -> float:
    """The view's own resolution in seconds; 0 for exact at every time."""
    return seconds_of(options.get("resolution", 0), "resolution")


def cells(ledger: Ledger, seconds: float, lo: Csn, hi: Csn) -> tuple[Csn, ...]:
    """The ends of the cells in (lo, hi], at most MOST_CELLS; the last cell may be cut by hi (Z1)."""
    if not seconds:
        return ()
    ends: list[Csn] = []
    commits = ledger.commits(lo, hi)
    for commit, following in pairwise(commits):
        cut = [c.committed_at.timestamp() // seconds for c in (commit, following)]
        if cut[0] != cut[1]:
            ends.append(commit.csn)
    return tuple([*ends, hi][:MOST_CELLS])


def check_exact(ledger: Ledger, view: str, time: Csn) -> None:
    """Raise if the view, or a view that it reads, is not exact at `time` (Z2)."""
    row = ledger.view(view)
    for rounded in _rounded_views(ledger, row) if row is not None else ():
        found = _inside(ledger, rounded, time)
        if found is not None:
            before, after = found
            raise TimeNotReached(
                f'view "{view}" cannot be read at {time}: inside its resolution',
                f'view "{rounded.name}" has a resolution of {rounded.options["resolution"]}: '
                f"the nearest times are {before} and {after}",
                f"name {before} or {after}",
            )


def _rounded_views(ledger: Ledger, row: ViewRow) -> Iterator[ViewRow]:
    """The view and all that it reads, as far as they have a resolution."""
    if resolution_of(row.options):
        yield row
    for name in sorted({i.relation for block in row.definition.blocks for i in inputs(block)}):
        upstream = ledger.view(name)
        if upstream is not None:
            yield from _rounded_views(ledger, upstream)


def _inside(ledger: Ledger, row: ViewRow, time: Csn) -> tuple[Csn, Csn] | None:
    """The exact times around `time`, if it lies inside a cell that a step went through."""
    for number, block in enumerate(row.definition.blocks):
        name = row.definition.block_name(number)
        for step in ledger.steps(name, time, time) if isinstance(block, BagReduce) else ():
            around = _around(ledger, resolution_of(row.options), step, time)
            if around is not None:
                return around
    return None


def _around(ledger: Ledger, seconds: float, step: Step, time: Csn) -> tuple[Csn, Csn] | None:
    """Steps are listed from the first stamp that they cover to the last (Z3)."""
    if not step.lo <= time < step.hi:
        return None
    before = Csn(step.lo - 1)
    for end in cells(ledger, seconds, before, step.hi):
        if end == time:
            return None
        if end > time:
            return before, end
        before = end
    return before, step.hi
