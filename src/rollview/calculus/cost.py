"""What a refresh would cost: incrementally, and in full.

Seconds on one machine with two cores, from row counts that the timeline knows; only the comparison
matters. The constants come from measurements of warm runs on two cores: a job costs about 0.1 s before it does
anything, a scan reads 20 million rows a second, a join with a write makes 1.5 million rows a second. `learned`
says how far a view's own refreshes were from that, on the machine at hand.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
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


LEARN_FROM = 20
"""The latest refreshes of a view that count."""
LARGEST_FACTOR = 8.0
_DOUBT = (1.0, 1.0)
"""What speaks for the constants: a view's first, cold refresh alone does not outweigh it."""


@dataclass(frozen=True, slots=True)
class Learned:
    """How much longer (or shorter) each way took than the constants say, as seen in the view's history."""

    incremental: float = 1.0
    full: float = 1.0

    def applied(self, costs: Estimate) -> Estimate:
        """The estimate for this machine."""
        return Estimate(costs.incremental * self.incremental, costs.full * self.full)


def learned(seen: Iterable[tuple[Estimate, bool, float]]) -> Learned:
    """From refreshes as (estimate by the constants, whether in full, seconds): the median factor of each way."""
    factors: dict[bool, list[float]] = {False: [*_DOUBT], True: [*_DOUBT]}
    for costs, full, seconds in seen:
        expected = costs.full if full else costs.incremental
        if expected > 0:
            factors[full].append(seconds / expected)
    chosen = {full: statistics.median(values) for full, values in factors.items()}
    bounded = {f: min(LARGEST_FACTOR, max(1 / LARGEST_FACTOR, v)) for f, v in chosen.items()}
    return Learned(bounded[False], bounded[True])
