"""What a refresh would cost, incrementally and in full; what a fold costs, and what readers pay without it.

Seconds on one machine with two cores, from row counts that the timeline knows; only the comparison
matters. The constants come from measurements of warm runs on two cores: a job costs about 0.1 s before it does
anything, a scan reads 20 million rows a second, a join with a write makes 1.5 million rows a second. `learned`
says how far a view's own refreshes and folds were from that, on the machine at hand.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

JOB_SECONDS = 0.1
START_SECONDS = 0.15
CHANGED_ROWS_PER_SECOND = 150_000.0
SCANNED_ROWS_PER_SECOND = 20_000_000.0
WRITTEN_ROWS_PER_SECOND = 1_500_000.0
REDUCED_ROWS_PER_SECOND = 4_000_000.0
FULL_START_SECONDS = 0.8
FETCHED_ROWS_PER_SECOND = 30_000_000.0
FETCH_SECONDS = 0.005
SMALL_ROWS = 500_000
"""Joined on the driver, a table of up to so many rows is in memory already; a larger one is read for its keys."""


@dataclass(frozen=True, slots=True)
class InputSize:
    """An input of a join: its rows, and how many of them changed since its frontier."""

    rows: int
    changed: int


@dataclass(frozen=True, slots=True)
class JoinSize:
    """A join of a block; `fetched`: its changes are few enough to be joined on the driver."""

    inputs: tuple[InputSize, ...]
    fetched: bool = False


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds for both ways."""

    incremental: float
    full: float


def estimate(joins: Sequence[JoinSize], reduces: bool) -> Estimate:
    """The cost of one step that takes every input to now, and of a full recompute."""
    incremental, full = START_SECONDS, FULL_START_SECONDS
    for join in joins:
        inputs = join.inputs
        full += len(inputs) * JOB_SECONDS
        largest = max((i.rows for i in inputs), default=0)
        full += sum(i.rows for i in inputs) / SCANNED_ROWS_PER_SECOND
        full += largest / (REDUCED_ROWS_PER_SECOND if reduces else WRITTEN_ROWS_PER_SECOND)
        for k, i in enumerate(inputs):
            if i.changed:
                others = [o.rows for j, o in enumerate(inputs) if j != k]
                incremental += i.changed / CHANGED_ROWS_PER_SECOND
                incremental += _fetched(others) if join.fetched else _by_spark(others)
    return Estimate(incremental, full)


def _by_spark(others: Sequence[int]) -> float:
    return (2 + len(others)) * JOB_SECONDS + sum(others) / SCANNED_ROWS_PER_SECOND


def _fetched(others: Sequence[int]) -> float:
    read = sum(rows for rows in others if rows > SMALL_ROWS)
    return len(others) * FETCH_SECONDS + read / FETCHED_ROWS_PER_SECOND


def derived_pays(rows: int) -> bool:
    """Reading inputs of so many rows at every step costs less than a step that keeps their join."""
    return rows / SCANNED_ROWS_PER_SECOND < START_SECONDS + JOB_SECONDS


def with_memory(costs: Estimate, joins: Sequence[JoinSize], kept: int) -> Estimate:
    """The cost of a BagReduce: a step also reads the source as of the mark, and the `kept` rows."""
    read = kept + sum(i.rows for join in joins for i in join.inputs)
    jobs = 2 * JOB_SECONDS
    return Estimate(costs.incremental + jobs + read / SCANNED_ROWS_PER_SECOND, costs.full)


FOLD_START_SECONDS = 0.5
PENDING_START_SECONDS = 0.05
STEP_SECONDS = 0.001


def fold_seconds(folded: int) -> float:
    """Writing the stored rows anew, with the pending steps worked in."""
    return FOLD_START_SECONDS + folded / WRITTEN_ROWS_PER_SECOND


BUCKET_ROWS = 10_000_000
"""Stored rows per bucket, unless the view sets `buckets`: a fold of one is some ten seconds' work for two cores."""
MOST_CHOSEN = 64


def number_of_buckets(rows: int, wanted: object = None, now: int = 0) -> int:
    """In how many buckets so many stored rows are folded; `wanted`: what the view sets; `now`: how many there are.

    Another number costs a fold of everything: as long as the rows of a bucket are half to twice as many as they should
    be, it stays.
    """
    if wanted is not None:
        return int(str(wanted))
    if now and rows <= 2 * BUCKET_ROWS * now and (now == 1 or 2 * rows >= BUCKET_ROWS * now):
        return now
    return max(1, min(MOST_CHOSEN, rows // BUCKET_ROWS))


def expected_rows(largest: int) -> int:
    """So many rows a join may have over a largest input of so many: few views show them all.

    In one bucket rows stay in the order of their source, which lookups use.
    """
    return largest // 4


def outgrown(rows: int) -> bool:
    """So many rows in one bucket: there should be more buckets."""
    return rows > 2 * BUCKET_ROWS


def paid_by_readers(pending: Sequence[int], folded: int) -> float:
    """What one read of the whole after each of the pending steps cost more than a read of stored rows alone.

    `pending`: the rows of each step, the oldest first. Folding when this reaches the cost of a fold takes at most
    twice what it would take who knew when to fold, as long as there is one such read a step.
    """
    paid, rows = 0.0, 0
    for steps, step_rows in enumerate(pending, 1):
        rows += step_rows
        paid += PENDING_START_SECONDS + steps * STEP_SECONDS
        paid += rows / CHANGED_ROWS_PER_SECOND + folded / SCANNED_ROWS_PER_SECOND
    return paid


LEARN_FROM = 20
"""The latest pieces of work on a view that count."""
LARGEST_FACTOR = 8.0
_DOUBT = (1.0, 1.0)
"""What speaks for the constants: a view's first, cold refresh alone does not outweigh it."""


@dataclass(frozen=True, slots=True)
class Learned:
    """How much longer (or shorter) each kind of work took than the constants say, as seen in the view's history."""

    incremental: float = 1.0
    full: float = 1.0
    fold: float = 1.0

    def applied(self, costs: Estimate) -> Estimate:
        """The estimate for this machine."""
        return Estimate(costs.incremental * self.incremental, costs.full * self.full)


def learned(seen: Iterable[tuple[str, float, float]]) -> Learned:
    """From pieces of work as (kind, seconds by the constants, seconds): the median factor of each kind."""
    factors: dict[str, list[float]] = {f.name: [*_DOUBT] for f in fields(Learned)}
    for kind, expected, seconds in seen:
        if expected > 0:
            factors[kind].append(seconds / expected)
    chosen = {kind: statistics.median(values) for kind, values in factors.items()}
    return Learned(**{kind: min(LARGEST_FACTOR, max(1 / LARGEST_FACTOR, factor))
                      for kind, factor in chosen.items()})  # fmt: skip
