"""What a timed delta is: rows with a count and a stamp, and their net effect.

C1  Adding the net effect of the changes in (s, t] to the state at s gives the state at t.
Counts are signed: +n inserted, -n deleted. The stamp is the CSN of the transaction that made the change.
Knows neither SQL nor storage. Words: docs/glossary.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NewType

Csn = NewType("Csn", int)
"""Commit sequence number: the one clock. CSN 0 is before every captured transaction."""

Row = tuple[Any, ...]

STAMP = "_rv_stamp"
COUNT = "_rv_count"
BUCKET = "_rv_bucket"


@dataclass(frozen=True, slots=True)
class Change:
    """`count` copies of `row` came (or went, if negative) with the transaction `stamp`."""

    stamp: Csn
    count: int
    row: Row


def net(changes: Iterable[Change]) -> dict[Row, int]:
    """The net effect: counts added up by row, zeros dropped."""
    total: Counter[Row] = Counter()
    for change in changes:
        total[change.row] += change.count
    return {row: count for row, count in total.items() if count}
