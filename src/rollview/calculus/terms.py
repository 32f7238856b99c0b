"""Terms: what to evaluate, at which times. Data, which something else runs.

T1  A term has one factor per input of a join. The rows of a term are the product of its factors' rows under the
    join's condition: counts multiply, the latest stamp wins.
A factor is the changes of an input, the input as of a time, or the input at a time with the stamps since an
earlier one. Knows times only; rows are seen by spark/evaluate.py. Words: docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from rollview.changes import Csn


@dataclass(frozen=True, slots=True)
class Changes:
    """What input `input` changed in (lo, hi]."""

    input: int
    lo: Csn
    hi: Csn


@dataclass(frozen=True, slots=True)
class AsOf:
    """Input `input` exactly as of `at`; its rows carry no stamp."""

    input: int
    at: Csn


@dataclass(frozen=True, slots=True)
class Timed:
    """Input `input` as of `at`, in which what changed after `lo` keeps its stamp."""

    input: int
    lo: Csn
    at: Csn


Factor = Changes | AsOf | Timed
Term = tuple[Factor, ...]


def describe(factor: Factor, name: str) -> str:
    """The factor in words, for explain."""
    match factor:
        case Changes(_, lo, hi):
            return f"changes of {name} in ({lo}, {hi}]"
        case AsOf(_, at):
            return f"{name} as of {at}"
        case Timed(_, lo, at):
            return f"{name} as of {at}, stamps kept since {lo}"
