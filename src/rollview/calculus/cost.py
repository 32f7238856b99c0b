"""What a refresh would cost: incrementally, and in full.

Seconds on the machine that docs/performance.md names, from row counts that the timeline knows; only the comparison
matters. The constants come from measurements of warm runs on two cores: a job costs about 0.1 s before it does
anything, a scan reads 20 million rows a second, a join with a write makes 1.5 million rows a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

JOB_SECONDS = 0.1
START_SECONDS = 0.15
CHANGED_ROWS_PER_SECOND = 150_000.0
SCANNED_ROWS_PER_SECOND = 20_000_000.0
WRITTEN_ROWS_PER_SECOND = 1_500_000.0
REDUCED_ROWS_PER_SECOND = 4_000_000.0
FULL_START_SECONDS = 0.8


@dataclass(frozen=True, slots=True)
class InputSize:
    """An input of a join: its rows, and how many of them changed since its frontier."""

    rows: int
    changed: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds for both ways."""

    incremental: float
    full: float


def estimate(joins: Sequence[Sequence[InputSize]], reduces: bool) -> Estimate:
    """The cost of one step that takes every input to now, and of a full recompute."""
    incremental, full = START_SECONDS, FULL_START_SECONDS
    for inputs in joins:
        full += len(inputs) * JOB_SECONDS
        largest = max((i.rows for i in inputs), default=0)
        full += sum(i.rows for i in inputs) / SCANNED_ROWS_PER_SECOND
        full += largest / (REDUCED_ROWS_PER_SECOND if reduces else WRITTEN_ROWS_PER_SECOND)
        for k, i in enumerate(inputs):
            if i.changed:
                others = sum(o.rows for j, o in enumerate(inputs) if j != k)
                incremental += (1 + len(inputs)) * JOB_SECONDS
                incremental += (
                    i.changed / CHANGED_ROWS_PER_SECOND + others / SCANNED_ROWS_PER_SECOND
                )
    return Estimate(incremental, full)


def derived_pays(rows: int) -> bool:
    """Reading inputs of so many rows at every step costs less than a step that keeps their join."""
    return rows / SCANNED_ROWS_PER_SECOND < START_SECONDS + JOB_SECONDS


def with_memory(costs: Estimate, joins: Sequence[Sequence[InputSize]], kept: int) -> Estimate:
    """The cost of a BagReduce: a step also reads the source as of the mark, and the `kept` rows."""
    read = kept + sum(i.rows for inputs in joins for i in inputs)
    jobs = 2 * JOB_SECONDS
    return Estimate(costs.incremental + jobs + read / SCANNED_ROWS_PER_SECOND, costs.full)
