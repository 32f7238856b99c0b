"""Totals: how large the sums of a Reduce can be at most, known without reading a row.

T1  A total is at most what it was before and, for every step since, the largest value in the step times the number of
    its stamps: a step has one row per key and stamp.
T2  A total that no type is too narrow for, neither its own nor one that the block casts it to, is shown without error.
Numbers are whole, and away from zero where they must be rounded. Who reads them from files, and who looks at the groups
where a bound says too little: spark/overflows.py. Why: docs/decisions/023.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from sqlglot import exp

from rollview.calculus.queries import block_expression
from rollview.changes import Csn
from rollview.views.blocks import Reduce

Largest = Mapping[str, int]
"""By sum: no value, or no total, is further from zero."""


@dataclass(frozen=True, slots=True)
class Known:
    """Of a block with folded rows of `version`: no total at `since` exceeds `largest`.

    `steps`: by id, the largest values of steps that came later.
    """

    version: int
    since: Csn
    largest: Largest | None
    steps: Mapping[str, Largest | None] = field(default_factory=dict)


DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
BITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}


@lru_cache(maxsize=1024)
def limits(block: Reduce) -> Largest:
    """By sum: the largest total that every type can hold in which it is kept or shown (T2). Doubles have no limit."""
    found = {s.name: most for s in block.sums if (most := _most(s.type)) is not None}
    shown = [*(c.expr for c in block.columns), block.having, block.copies]
    for tree in (block_expression(text) for text in shown if text):
        for cast in tree.find_all(exp.Cast):
            most = _most(cast.to.sql(dialect="spark").lower())
            name = cast.this.name if isinstance(cast.this, exp.Column) else None
            if most is not None and name in found and not cast.args.get("safe"):  # no TRY_CAST
                found[name] = min(found[name], most)
    return found


def _most(kind: str) -> int | None:
    """The largest whole number that the type can hold, with either sign."""
    sizes = DECIMAL.fullmatch(kind)
    if sizes is not None:
        return int(10 ** (int(sizes[1]) - int(sizes[2])) - 1)
    return int(2 ** BITS[kind] - 1) if kind in BITS else None


def bound(before: Largest | None, steps: Iterable[tuple[Largest | None, int]]) -> Largest | None:
    """What no total exceeds after the steps, given each one's largest values and number of stamps (T1).

    None, here and there: nothing is known.
    """
    if before is None:
        return None
    totals = dict(before)
    for largest, stamps in steps:
        if largest is None:
            return None
        totals = {name: total + largest[name] * stamps for name, total in totals.items()}
    return totals


def fits(totals: Largest | None, most: Largest) -> bool:
    """Whether no total can exceed its limit."""
    return totals is not None and all(totals[name] <= limit for name, limit in most.items())
