"""Gather: many small steps of a log become one, so that reading history costs what it holds, not how often it grew.

G4  A gathered step holds the rows of the steps that it replaces, stamps and counts as they were: every time reads as
    before, whoever asks.
G5  An intent, one Parquet folder, one ledger commit that lists it and takes the others off the list. A crash before
    the commit leaves a step that nobody lists; a reader who pinned the others finds them for the grace time.
Pending steps are left alone: a fold is what they wait for (apply.py). Only rollview's own logs, never a user's table.
"""

from __future__ import annotations

from datetime import datetime, timezone

from rollview.changes import STAMP
from rollview.errors import RollviewError
from rollview.failpoints import Failpoint, failpoint
from rollview.ledger.store import Ledger, Step
from rollview.spark.failures import spark_errors
from rollview.spark.relations import Relations

MANY = 64
"""Small steps in a row that become one. A file costs a reader about 1 ms, a gathering one Spark job."""
SMALL_ROWS = 100_000
"""A step of more rows stays as it is: its file is worth opening."""


def gather(relations: Relations, name: str) -> int:
    """Gather the first small steps of a block, if there are many; how many became one."""
    ledger = relations.ledger
    small = gatherable(ledger, name)
    if not small:
        return 0
    table = relations.rolled(name)
    row = table.row()
    intent = ledger.begin("step", name, {"folder": row.folder})
    try:
        with spark_errors(relations, name, []):
            failpoint(Failpoint.GATHER_AFTER_INTENT)
            rows = table.log(small, 1).coalesce(1).sortWithinPartitions(STAMP)
            written = table.append(rows, intent.id)
            failpoint(Failpoint.GATHER_AFTER_WRITE)
    except RollviewError:
        with ledger.atomic():
            ledger.put_trash(f"{row.folder}/steps/{intent.id}")
            ledger.end(intent.id)
        raise
    assert written.rows == sum(s.rows for s in small), "a step is what it was written as"
    lo, hi = min(s.lo for s in small), max(s.hi for s in small)
    taken = sum(s.taken for s in small)
    with ledger.atomic():
        ledger.drop_steps(s.id for s in small)
        ledger.add_step(Step(written.id, name, written.folder, lo, hi, written.rows, taken,
                             written.bytes, datetime.now(timezone.utc)))  # fmt: skip
        ledger.end(intent.id)
    failpoint(Failpoint.GATHER_AFTER_COMMIT)
    return len(small)


def gatherable(ledger: Ledger, name: str) -> list[Step]:
    """The first MANY small steps in a row that no fold waits for; none if there are not so many."""
    row = ledger.block(name)
    assert row is not None, f"block {name} is in the ledger"
    # A log without folded rows is never folded.
    settled = min(row.fold_times) if row.folded_version is not None else max(row.frontier)
    found: list[Step] = []
    for step in ledger.steps(name):
        if step.hi > settled:
            break
        found = [*found, step] if step.rows < SMALL_ROWS else []
        if len(found) == MANY:
            return found
    return []
