"""Captured tables in order: copies are folded when it pays, and history goes that nobody needs.

T4  What a view, a subscriber or a fold has not read yet stays; so does what is younger than KEEP.
T5  A table says how far back it can be read: nothing older is ever answered from what is left.
The same as apply.py does for views, for tables of no view.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from rollview.apply import KEEP, FoldReport, fold_bucket, folds_pay, readers, recorded_fold
from rollview.changes import Csn
from rollview.config import seconds_of
from rollview.failpoints import Failpoint, failpoint
from rollview.gather import gather, gatherable
from rollview.ledger.store import BaseRelation, Ledger

if TYPE_CHECKING:
    from rollview.spark.relations import Relations


def captured_tables(ledger: Ledger) -> list[BaseRelation]:
    """The tables that have a log of their own."""
    return [r for r in ledger.relations() if ledger.block(r.name) is not None]


def fold_table(relations: Relations, name: str, to: Csn) -> FoldReport:
    """Work the log of a copy up to `to` into its folded rows."""
    row = relations.rolled(name).row()
    to = Csn(min(to, row.frontier[0]))
    if row.folded_version is None or row.fold_times[0] >= to:
        return FoldReport(name, to, 0)
    with recorded_fold(relations, name, to) as folded:
        fold_bucket(relations, name, 0, to)
        folded.append(row)
    return FoldReport(name, to, 1)


def tend(ledger: Ledger, relations: Callable[[], Relations]) -> list[str]:
    """Fold the copies for which it pays, and forget what is past its time; which were folded.

    Spark is asked for only if something is folded or gathered.
    """
    folded = []
    for relation in captured_tables(ledger):
        block = ledger.block(relation.name)
        assert block is not None, "a captured table has a log"
        if block.folded_version is not None and folds_pay(ledger, relation.name, [block]):
            fold_table(relations(), relation.name, ledger.newest_csn())
            folded.append(relation.name)
        forget_table(ledger, relation)
        if gatherable(ledger, block.name):
            gather(relations(), relation.name)
    return folded


def forget_table(ledger: Ledger, relation: BaseRelation, now: datetime | None = None) -> Csn:
    """Drop the table's history as far as nobody needs it (T4); the oldest time it can be read at."""
    block = ledger.block(relation.name)
    assert block is not None, "a captured table has a log"
    keep = timedelta(seconds=seconds_of(KEEP, "keep"))
    needed = [
        ledger.csn_at((now or datetime.now(timezone.utc)) - keep),
        *readers(ledger, block.name),
    ]
    if block.folded_version is not None:
        needed += block.fold_times
    before = Csn(min(needed))
    if before <= block.oldest:
        return block.oldest
    gone = [step.id for step in ledger.steps(block.name) if step.hi <= before]
    failpoint(Failpoint.FORGET_BEFORE_COMMIT)
    with ledger.atomic():
        ledger.set_block(block.name, oldest=before)
        ledger.put_relation(replace(relation, base_csn=before))
        ledger.drop_steps(gone)
    failpoint(Failpoint.FORGET_AFTER_COMMIT)
    return before
