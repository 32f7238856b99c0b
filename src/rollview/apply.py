"""Apply: the view time moves to any time that is kept; folding and clean-up go on behind it.

A1  Applying is one small write: the view time. Times outside [oldest, high-water mark] are refused with the range.
A2  A fold of one bucket is an intent, then one Delta Lake commit with a transaction number, then one ledger commit.
    If the process dies between the two commits, the next writer finds the number and moves the ledger on.
A3  History goes only as far as nobody needs it: not a fold that is behind, not another view, not a subscriber.
    Files that nothing names any more stay for a grace time, since a reader may have pinned them.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import unquote

from rollview.calculus.cost import fold_seconds, number_of_buckets, outgrown
from rollview.calculus.rolling import high_water_mark
from rollview.changes import Csn
from rollview.config import seconds_of
from rollview.errors import ConfigError, RollviewError, StepConflict, TimeNotReached
from rollview.failpoints import Failpoint, failpoint
from rollview.ledger.learning import FOLD, GRACE_SECONDS, folding, learned_from
from rollview.ledger.resolution import check_exact
from rollview.ledger.rows import FOLDERS, READS
from rollview.ledger.store import BlockRow, Intent, Ledger, Refresh, ViewRow
from rollview.spark.evaluate import jobs_of
from rollview.spark.failures import spark_errors
from rollview.spark.relations import Relations
from rollview.spark.rolled import still_being_built
from rollview.views.blocks import inputs

KEEP = "7 days"
"""How long a view can be rolled back, unless it sets `keep`."""


@dataclass(frozen=True, slots=True)
class FoldReport:
    """What a fold did: the buckets folded and how far."""

    view: str
    to: Csn
    buckets: int


def apply(ledger: Ledger, view: str, to: Csn) -> Csn:
    """Move the view time (A1)."""
    row = face(ledger, view)
    check_range(view, row, to)
    check_exact(ledger, view, to)
    failpoint(Failpoint.APPLY_BEFORE_COMMIT)
    ledger.set_view(view, view_time=to)
    failpoint(Failpoint.APPLY_AFTER_COMMIT)
    return to


def face(ledger: Ledger, view: str) -> BlockRow:
    """The ledger's row of the view's last block."""
    row = ledger.block(view)
    if row is None:
        raise ConfigError(f'there is no view "{view}"', hint="rollview status lists the views")
    return row


def check_range(view: str, row: BlockRow, to: Csn) -> None:
    """Raise unless the view can show `to`."""
    if row.folded_version is None:
        raise still_being_built(view)
    mark = high_water_mark(row.frontier)
    if to > mark:
        raise TimeNotReached(
            f'view "{view}" cannot be rolled to {to}: past the high-water mark',
            f"readable times: {row.oldest} to {mark}",
            f"rollview propagate {view} --to {to} first, or rollview refresh {view}",
        )
    if to < row.oldest:
        raise TimeNotReached(
            f'view "{view}" cannot be rolled to {to}: older than what is kept',
            f"readable times: {row.oldest} to {mark}",
            "name a time in that range; the option `keep` sets how long history is kept",
        )


def fold(relations: Relations, view: ViewRow, to: Csn) -> FoldReport:
    """Work the log up to `to` into the folded rows of every block, and record what that took."""
    with recorded_fold(relations, view.name, to) as folded:
        folded += fold_blocks(relations, view, to)
    return FoldReport(view.name, to, len(folded))


@contextmanager
def recorded_fold(relations: Relations, name: str, to: Csn) -> Iterator[list[BlockRow]]:
    """Puts a fold into the history of its view or table; it says whose buckets it folded, one by one."""
    started, clock, folded = datetime.now(timezone.utc), time.monotonic(), list[BlockRow]()
    with jobs_of(relations.spark) as jobs:
        yield folded
        if not folded:
            return
        expected = sum(fold_seconds(block.rows) / len(block.fold_times) for block in folded)
        since = Csn(min(min(block.fold_times) for block in folded))
        rows, size = ({b.name: getattr(b, what) for b in folded} for what in ("rows", "bytes"))
        relations.ledger.add_refresh(Refresh(
            name, started, time.monotonic() - clock, FOLD, "pending steps were worked in", "ok",
            "", since, to, sum(rows.values()), sum(size.values()), jobs(),
            {"by_constants": {"fold": expected}}))  # fmt: skip


def fold_blocks(relations: Relations, view: ViewRow, to: Csn) -> list[BlockRow]:
    """Work the log up to `to` into the folded rows of every block, bucket by bucket; the block of each bucket."""
    done = []
    if face(relations.ledger, view.name).folded_version is None:
        raise still_being_built(view.name)
    for block in relations.ledger.blocks(view.name):
        wanted = view.options.get("buckets")
        buckets = number_of_buckets(block.rows, wanted, len(block.fold_times))
        for bucket in range(len(block.fold_times)):
            now = face(relations.ledger, block.name)
            left = now.fold_times[bucket:]  # none, if there are fewer buckets by now
            if left and left[0] < min(to, high_water_mark(now.frontier)):
                fold_bucket(relations, block.name, bucket, to, buckets)
                done.append(now)
    return done


def fold_bucket(
    relations: Relations, name: str, bucket: int, to: Csn, buckets: int | None = None
) -> None:
    """Fold one bucket to `to` (A2); all of them, if there should be another number of `buckets`."""
    ledger, table = relations.ledger, relations.rolled(name)
    row = table.row()
    to = Csn(min(to, high_water_mark(row.frontier)))
    newest = table.newest_folded_version()
    assert newest is not None, "a view that can be folded was built"
    buckets = buckets or len(row.fold_times)
    # Rows that an unfinished build left behind belong to no bucket's fold time: replace them all.
    whole = buckets == 1 or buckets != len(row.fold_times) or newest != row.folded_version
    only = None if whole else bucket
    payload = {"bucket": only, "to": to, "txn": newest + 2, "version": newest + 1}
    intent = ledger.begin("fold", name, {**payload, "buckets": buckets})
    try:
        with spark_errors(relations, name, []):
            failpoint(Failpoint.FOLD_AFTER_INTENT)
            written = table.write_folded(table.state(to, only), newest + 2, only, buckets)
            failpoint(Failpoint.FOLD_AFTER_DELTA_COMMIT)
            others = [t for b, t in enumerate(row.fold_times) if b != bucket]
            # Of one version the rows of all buckets must differ: it is looked at once all are at one time.
            told_by = table.told_by(written) if whole or set(others) == {to} else None
    except RollviewError:
        _settle_fold(ledger, relations.warehouse, intent)  # it may have committed all the same
        raise
    with ledger.atomic():
        _commit_fold(ledger, intent)
        if whole or outgrown(written.rows):  # the others have grown as much
            pieces = 1 if whole else buckets
            ledger.set_block(name, rows=written.rows * pieces, bytes=written.bytes * pieces)
        if told_by is not None:
            ledger.set_block(name, told_by=told_by)
    failpoint(Failpoint.FOLD_AFTER_COMMIT)


def _commit_fold(ledger: Ledger, intent: Intent) -> None:
    row = ledger.block(intent.subject)
    assert row is not None, "a fold ends before its view is dropped"
    bucket, to = intent.payload["bucket"], Csn(int(intent.payload["to"]))
    times = tuple(to if bucket == b else t for b, t in enumerate(row.fold_times))
    if bucket is None:
        times = (to,) * intent.payload.get("buckets", len(times))
    with ledger.atomic():
        ledger.set_block(row.name, folded_version=int(intent.payload["version"]), fold_times=times)
        ledger.end(intent.id)


def folds_pay(ledger: Ledger, name: str, blocks: Sequence[BlockRow]) -> bool:
    """Readers have paid for pending steps what a fold of one of the blocks costs, and there is room for it."""
    factors = learned_from(ledger, name)
    return any(folding(ledger, block, factors).due for block in blocks)


def forget(relations: Relations, view: ViewRow, now: datetime | None = None) -> Csn:
    """Drop history that is past the view's `keep` and that nobody needs (A3); the oldest kept time."""
    ledger = relations.ledger
    keep = seconds_of(view.options.get("keep", KEEP), "keep")
    limit = ledger.csn_at((now or datetime.now(timezone.utc)) - timedelta(seconds=keep))
    oldest = face(ledger, view.name).oldest
    for block in ledger.blocks(view.name):
        needed = [limit, *block.fold_times, *readers(ledger, block.name)]
        if view.view_time is not None:
            needed.append(view.view_time)
        before = Csn(min(needed))
        if before > block.oldest:
            gone = [s.id for s in ledger.steps(block.name) if s.hi <= before]
            failpoint(Failpoint.FORGET_BEFORE_COMMIT)
            with ledger.atomic():
                ledger.set_block(block.name, oldest=before)
                ledger.drop_steps(gone)
            failpoint(Failpoint.FORGET_AFTER_COMMIT)
            oldest = before
    return oldest


def readers(ledger: Ledger, name: str) -> list[Csn]:
    """Where everybody stands who still reads the changes of `name`."""
    needed = list(ledger.subscribers(name).values())
    for other in ledger.views():
        for number, block in enumerate(other.definition.blocks):
            row = ledger.block(other.definition.block_name(number))
            if row is not None:
                needed += [at for at, i in zip(row.frontier, inputs(block), strict=True)
                           if i.relation == name]  # fmt: skip
    return needed


def sweep(ledger: Ledger, warehouse: Path, grace_seconds: float = GRACE_SECONDS) -> int:
    """Delete folders that nothing names any more, after their grace time; how many."""
    now, swept = datetime.now(timezone.utc), 0
    for folder, since in ledger.trash():
        if (now - since).total_seconds() >= grace_seconds:
            failpoint(Failpoint.SWEEP_BEFORE_DELETE)
            _delete(warehouse, folder)
            failpoint(Failpoint.SWEEP_AFTER_DELETE)
            ledger.forget_trash(folder)
            swept += 1
    return swept


def sweep_folded(table: Path, pinned: int, grace_seconds: float = GRACE_SECONDS) -> int:
    """Delete files that folds of this table replaced longer ago than the grace time; how many.

    The table is rollview's own and read only at versions that the ledger pins, so that its log tells all, up to
    the version `pinned`: a later one is of a writer that died, and readers still need what it replaced.
    """
    limit, gone = time.time() - grace_seconds, 0
    for commit in (table / "_delta_log").glob("*.json"):
        if int(commit.stem) <= pinned and commit.stat().st_mtime <= limit:
            for line in commit.read_text(encoding="utf-8").splitlines():
                removed = json.loads(line).get("remove")
                file = table / unquote(removed["path"]) if removed else None
                if file is not None and file.is_file() and file.resolve().is_relative_to(table):
                    file.unlink()
                    gone += 1
    return gone


def _delete(warehouse: Path, folder: str) -> None:
    """Delete a folder of the warehouse, and only of the warehouse."""
    target = (warehouse / folder).resolve()
    root = next(
        (r for name in FOLDERS if target.is_relative_to(r := warehouse.resolve() / name)), None
    )
    if root is None:
        raise StepConflict(f'"{folder}" is not a folder of this warehouse: nothing was deleted')
    shutil.rmtree(target, ignore_errors=True)
    for above in target.parents[: len(target.relative_to(root).parts) - 1]:
        if above.is_dir() and not any(above.iterdir()):
            above.rmdir()  # the folder of a view that is gone


def recover(ledger: Ledger, warehouse: Path) -> list[str]:
    """Settle what a writer that died had begun; what was done, in words."""
    done = []
    for intent in ledger.intents("step"):
        failpoint(Failpoint.RECOVER_BEFORE_COMMIT)
        with ledger.atomic():
            ledger.put_trash(f"{intent.payload['folder']}/steps/{intent.id}")
            ledger.end(intent.id)
        failpoint(Failpoint.RECOVER_AFTER_COMMIT)
        done.append(f'a step of "{intent.subject}" had not committed and was dropped')
    for intent in ledger.intents("load"):
        failpoint(Failpoint.RECOVER_BEFORE_COMMIT)
        with ledger.atomic():
            ledger.put_trash(intent.payload["folder"])
            ledger.end(intent.id)
        failpoint(Failpoint.RECOVER_AFTER_COMMIT)
        done.append(f'a load of "{intent.subject}" had not committed and was dropped')
    for left in sorted(warehouse.glob(f"{READS}/*")):
        # Of a reader that died, or of one that still reads: the grace time is for the latter.
        ledger.put_trash(str(left.relative_to(warehouse)))
    for intent in ledger.intents("fold"):
        failpoint(Failpoint.RECOVER_BEFORE_COMMIT)
        done.append(_settle_fold(ledger, warehouse, intent))
        failpoint(Failpoint.RECOVER_AFTER_COMMIT)
    return done


def _settle_fold(ledger: Ledger, warehouse: Path, intent: Intent) -> str:
    """Take over a fold that committed to Delta Lake, drop one that did not (A2); what was done."""
    row = ledger.block(intent.subject)
    if row is not None and _fold_committed(ledger, warehouse / row.folder / "folded", intent):
        _commit_fold(ledger, intent)
        return f'a fold of "{intent.subject}" had committed and was taken over'
    ledger.end(intent.id)
    return f'a fold of "{intent.subject}" had not committed and was dropped'


def _fold_committed(ledger: Ledger, table: Path, intent: Intent) -> bool:
    """The fold's own transaction number is in the commit that follows the pinned version (A2)."""
    commit = table / "_delta_log" / f"{int(intent.payload['version']):020d}.json"
    if not commit.exists():
        return False
    wanted = {"appId": f"rollview/{ledger.warehouse_id}/{intent.subject}"}
    for line in commit.read_text(encoding="utf-8").splitlines():
        txn: Mapping[str, object] = json.loads(line).get("txn") or {}
        if txn.get("appId") == wanted["appId"] and txn.get("version") == intent.payload["txn"]:
            return True
    return False
