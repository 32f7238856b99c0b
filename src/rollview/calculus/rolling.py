"""Rolling propagation: every input advances by its own interval, one small step at a time.

R1  The view delta is complete for every time up to min(frontier), the high-water mark.
R2  Each combination of changes is produced once, by the step of whichever input advanced last.
R3  Steps may come in any order and any width; several of them may run as one query, in sequence.
Knows times and terms only; it never sees a row (spark/evaluate.py does). Paper: Salem et al. 2000,
fig. 10; where this differs and why: docs/decisions/001. Words: docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rollview.calculus.terms import AsOf, Changes, Term, Timed
from rollview.changes import Csn

Frontier = tuple[Csn, ...]


@dataclass(frozen=True, slots=True)
class Advance:
    """Take `input` (a position in the frontier) to `to`; `term` produces what that adds, None if nothing."""

    input: int
    to: Csn
    term: Term | None


FOREVER = Csn(2**62)
"""The high-water mark of a block without inputs: it never changes."""


def high_water_mark(frontier: Sequence[Csn]) -> Csn:
    """How far the view delta is complete (R1)."""
    return min(frontier, default=FOREVER)


def forward_term(frontier: Frontier, relation: int, to: Csn) -> Term:
    """The one query that takes `relation` from its frontier to `to` (R2)."""
    lo = frontier[relation]
    return tuple(
        Changes(j, lo, to) if j == relation
        else Timed(j, lo, at) if at > lo  # already ahead: keep its stamps since lo
        else AsOf(j, at)
        for j, at in enumerate(frontier)
    )  # fmt: skip


def advanced(frontier: Frontier, relation: int, to: Csn) -> Frontier:
    """The frontier after `relation` advanced to `to`."""
    assert to >= frontier[relation], "a frontier never goes back"
    return tuple(to if j == relation else at for j, at in enumerate(frontier))


def advances(
    frontier: Frontier, targets: Sequence[tuple[int, Csn]], changed: Sequence[bool]
) -> tuple[Advance, ...]:
    """The steps that take each input named in `targets` to its time, in that order (R3).

    `changed[k]` says whether the input of target k changed at all on the way: if not, its frontier moves and
    nothing runs.
    """
    plan = []
    for (relation, to), any_change in zip(targets, changed, strict=True):
        if to > frontier[relation]:
            term = forward_term(frontier, relation, to) if any_change else None
            plan.append(Advance(relation, to, term))
            frontier = advanced(frontier, relation, to)
    return tuple(plan)


def next_width(width: int, rows: int, seconds: float, goal_seconds: float) -> int:
    """The width, in changed rows, that would have taken `goal_seconds`; moves by a factor of 4 at most."""
    if rows < width // 2 or seconds <= 0:
        return width  # a step that was not full says little about a full one
    return max(1, int(width * min(4.0, max(0.25, goal_seconds / seconds))))
