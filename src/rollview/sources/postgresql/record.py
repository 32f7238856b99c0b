"""A batch becomes steps and rows of the ledger.

Each table's rows are one Parquet folder under the name of an intent; the ledger's commit, which rollview/capture.py
opens, lists them together with the timeline and the stream's position. A step that no commit lists is swept up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from rollview.changes import Csn
from rollview.failpoints import Failpoint, failpoint
from rollview.ledger.store import BaseRelation, CapturedChange, Commit, Intent, Ledger, Step
from rollview.sources.postgresql.capture import Batch, Transaction
from rollview.sources.postgresql.spool import WrittenStep

OPERATION = "TRANSACTION"

Written = list[tuple[Intent, WrittenStep | None]]


def write_steps(ledger: Ledger, warehouse: Path, batch: Batch, stamps: Sequence[Csn]) -> Written:
    """Write the rows of the batch's first transactions, one stamp for each; nobody sees them yet."""
    kept = batch.transactions[: len(stamps)]
    touched = sorted({name for transaction in kept for name in transaction.rows})
    if not touched:
        return []
    with ledger.atomic():
        intents = [_begun(ledger, name) for name in touched]
    try:
        failpoint(Failpoint.STREAM_AFTER_INTENT)
        written = []
        for name, intent in zip(touched, intents, strict=True):
            folder = warehouse / intent.payload["folder"] / "steps" / intent.id
            written.append((intent, batch.spools[name].write(folder, stamps)))
            failpoint(Failpoint.STREAM_AFTER_WRITE)
    except Exception:
        forget_steps(ledger, [(intent, None) for intent in intents])
        raise
    return written


def _begun(ledger: Ledger, name: str) -> Intent:
    block = ledger.block(name)
    assert block is not None, f"table {name} has a log"
    return ledger.begin("step", name, {"folder": block.folder})


def forget_steps(ledger: Ledger, written: Written) -> None:
    """Give up steps that were not committed."""
    with ledger.atomic():
        for intent, _ in written:
            ledger.put_trash(_folder(intent))
            ledger.end(intent.id)


def record_steps(ledger: Ledger, written: Written) -> None:
    """List the steps; part of the ledger's commit."""
    now = datetime.now(timezone.utc)
    for intent, step in written:
        if step is None:
            ledger.put_trash(_folder(intent))
        else:
            ledger.add_step(Step(intent.id, intent.subject, _folder(intent), step.lo, step.hi,
                                 step.rows, step.taken, step.bytes, now))  # fmt: skip
        ledger.end(intent.id)


def _folder(intent: Intent) -> str:
    return f"{intent.payload['folder']}/steps/{intent.id}"


def commit_of(source: str, csn: Csn, transaction: Transaction) -> Commit:
    """The transaction's row of the timeline."""
    return Commit(csn, source, transaction.position, transaction.xid, transaction.committed_at,
                  OPERATION)  # fmt: skip


def changes_of(csn: Csn, transaction: Transaction) -> list[CapturedChange]:
    """What the transaction did to each table."""
    return [
        CapturedChange(csn, name, transaction.position, transaction.committed_at, OPERATION, came, went, {})
        for name, (came, went) in transaction.rows.items()
    ]  # fmt: skip


def moved(relation: BaseRelation, kept: Sequence[Transaction]) -> BaseRelation:
    """The table once the transactions are captured."""
    touching = [t for t in kept if relation.name in t.rows]
    if not touching:
        return relation
    gained = sum(came - went for t in touching for came, went in [t.rows[relation.name]])
    return replace(relation, position=touching[-1].position, rows=max(0, relation.rows + gained))
