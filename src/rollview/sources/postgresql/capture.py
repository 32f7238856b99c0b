"""What a PostgreSQL source committed since it was last looked at: whole transactions, in commit order.

H1  A transaction that is not past the stream's position has been captured and is skipped; every other one is taken
    whole. One that was delivered before must be the one that the timeline knows (history.py).
H2  Nothing of a batch is believed unless, after it was read, the catalogue is what it was (fingerprint.py).
H3  A TRUNCATE takes every row of the copy: it opens a batch of its own, so that the copy is complete before it.
Reads and spools; the ledger's commit, and what gets which CSN, is the matter of rollview/capture.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from rollview.changes import COUNT
from rollview.errors import ChangesLost
from rollview.ledger.rows import BaseRelation, Stream
from rollview.sources.postgresql import slot
from rollview.sources.postgresql.connect import Connection, connected
from rollview.sources.postgresql.copy import negated
from rollview.sources.postgresql.decode import (
    Delete,
    Insert,
    StreamTable,
    Truncate,
    Update,
    Values,
)
from rollview.sources.postgresql.fingerprint import (
    born_empty,
    changed,
    differences,
    fingerprint,
    leaf_roots,
)
from rollview.sources.postgresql.history import Known, explained, marked
from rollview.sources.postgresql.keyed import KeyedSpool
from rollview.sources.postgresql.spool import Spool, unwritable
from rollview.sources.postgresql.table import Table, filled, picked, places, table_of
from rollview.sources.postgresql.transactions import Ended, Event, Started, events

BATCH = 100_000
"""Messages after which a batch ends with the transaction that it is in."""
HEARTBEAT = 1 << 20
"""Bytes of WAL after which an idle source's position moves, so that its server can let go of them."""

Copy = Callable[[Table], Iterator[pa.RecordBatch]]
"""The copy of a table as of the stream's position: rows with signed counts, in the order in which they came."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """A captured transaction; `rows`: by table, how many it inserted and deleted."""

    xid: int
    position: int
    committed_at: datetime
    rows: Mapping[str, tuple[int, int]]


@dataclass(slots=True)
class Batch:
    """Transactions in commit order and their rows. `end`: the position that all of them reach.

    `complete`: they are all that the server had committed at `clock`.
    """

    stream: Stream
    transactions: list[Transaction] = field(default_factory=list)
    spools: dict[str, Spool] = field(default_factory=dict)
    complete: bool = False
    clock: datetime | None = None
    end: int = 0

    @property
    def worth_a_commit(self) -> bool:
        """There is something to record: transactions, or a position that has moved far enough."""
        if self.transactions or not self.complete:
            return True
        return self.end > self.stream.position + HEARTBEAT

    def close(self) -> None:
        """Let the rows go."""
        for spool in self.spools.values():
            spool.close()

    def moved(self, kept: int) -> Stream:
        """The stream once the first `kept` transactions are captured."""
        if kept == len(self.transactions):
            return replace(self.stream, position=max(self.end, self.stream.position))
        last = self.transactions[kept - 1].position if kept else self.stream.position
        return replace(self.stream, position=last)


@dataclass(slots=True)
class _Collector:
    """Turns events into a batch; leaf tables become the tables that they are partitions of."""

    tables: Mapping[int, Table]
    leaves: Mapping[int, int]
    folder: Path
    copy: Copy
    batch: Batch
    skipping: bool = False
    places: dict[int, tuple[int, ...] | None] = field(default_factory=dict)
    counts: dict[str, list[int]] = field(default_factory=dict)
    truncated: set[int] = field(default_factory=set)

    def collect(self, found: Iterable[Event]) -> bool:
        """Take events until they end (True), or until the batch must end before a TRUNCATE (False, H3)."""
        for event in found:
            match event:
                case Insert(oid, row):
                    if not self.skipping:
                        self._row(oid, None, True, row)
                case Started(_, lsn):
                    self.counts, self.skipping = {}, lsn < self.batch.stream.position
                case StreamTable():
                    self._described(event)
                case Ended():
                    self._ended(event)
                case _:
                    if not self.skipping and not self._changed(event):
                        return False
        return True

    def _changed(self, change: Update | Delete | Truncate) -> bool:
        match change:
            case Update(oid, old, whole, row):
                self._row(oid, row if old is None else old, whole, row)
            case Delete(oid, old, whole):
                self._row(oid, old, whole, None)
            case Truncate(oids, _, _):
                if self.batch.transactions and self._table_of(oids):
                    return False
                self._truncate(oids)
        return True

    def _described(self, found: StreamTable) -> None:
        table = self._table(found.oid)
        if table is not None:
            self.places[found.oid] = places(table, found)

    def _table(self, oid: int) -> Table | None:
        return self.tables.get(self.leaves.get(oid, oid))

    def _table_of(self, oids: Sequence[int]) -> list[Table]:
        return list({t.oid: t for oid in oids if (t := self._table(oid)) is not None}.values())

    def _ended(self, ended: Ended) -> None:
        if self.counts:
            rows = {name: (came, went) for name, (came, went) in self.counts.items()}
            self.batch.transactions.append(
                Transaction(ended.xid, ended.end_lsn, ended.committed_at, rows)
            )
        self.batch.end = max(self.batch.end, ended.end_lsn)

    def _row(self, oid: int, old: Values | None, whole: bool, new: Values | None) -> None:
        """A row came (no old), went (no new) or changed; unless `whole`, only the key of the old one is known."""
        table = self._table(oid)
        if table is None:
            return
        before = None if old is None else picked(self.places[oid], old)
        after = None if new is None else picked(self.places[oid], new)
        number, spool = len(self.batch.transactions), self._spool(table)
        if isinstance(spool, KeyedSpool):
            spool.change(number, before, after)
        else:
            self._check_whole(table, whole)
            texts = None if before is None else filled(table, before, None)
            now = None if after is None else filled(table, after, before)
            if texts == now:
                return
            if texts is not None:
                spool.add(number, -1, texts)
            if now is not None:
                spool.add(number, +1, now)
        self._count(table, int(new is not None), int(old is not None))

    def _count(self, table: Table, came: int, went: int) -> None:
        counts = self.counts.setdefault(table.name, [0, 0])
        counts[0] += came
        counts[1] += went

    def _spool(self, table: Table) -> Spool:
        if table.name not in self.batch.spools:
            self.batch.spools[table.name] = (
                Spool(table, self.folder)
                if table.identity == "full"
                else KeyedSpool(table, self.folder, partial(self.copy, table))
            )
        return self.batch.spools[table.name]

    def _check_whole(self, table: Table, whole: bool) -> None:
        if not whole:
            raise ChangesLost(
                f'table "{table.name}" no longer says what its rows were before a change',
                "its replica identity is not FULL",
                f"ALTER TABLE … REPLICA IDENTITY FULL, then rollview source resync "
                f"{table.name.partition('.')[0]}",
            )

    def _truncate(self, oids: Sequence[int]) -> None:
        for table in self._table_of(oids):
            leaves = {leaf for leaf, root in self.leaves.items() if root == table.oid}
            if table.mode != "replica" or not leaves <= set(oids):
                part = "a partition of " if table.mode == "replica" else ""
                raise ChangesLost(
                    f'the rows that a TRUNCATE took from table "{table.name}" are not known',
                    f'it was of {part}table "{table.name}", of which no copy says what was in it',
                    f"rollview source resync {table.name.partition('.')[0]}",
                )
            self.truncated |= leaves
            spool = self._spool(table)
            spool.clear()  # what this transaction did before is undone by it
            self.counts[table.name] = [0, 0]
            for batch in negated(self.copy(table)):
                spool.add_batch(0, batch)
                went = pc.sum(pc.less(batch.column(COUNT), 0)).as_py() or 0
                self._count(table, batch.num_rows - went, went)


def looked_at(
    url: str,
    stream: Stream,
    relations: Sequence[BaseRelation],
    folder: Path,
    copy: Copy,
    known: Known,
) -> dict[str, tuple[int, int]]:
    """Without capturing: how many transactions and rows wait, by table; at most those of one batch."""
    tables = [table_of(r) for r in relations]
    with connected(url, stream.source) as connection:
        now = marked(connection, stream, known)
        batch = read_batch(connection, stream, tables, now, folder, copy)
    batch.close()
    waiting: dict[str, tuple[int, int]] = {}
    for transaction in batch.transactions:
        for name, (came, went) in transaction.rows.items():
            commits, rows = waiting.get(name, (0, 0))
            waiting[name] = (commits + 1, rows + came + went)
    return waiting


def read_batch(
    connection: Connection,
    stream: Stream,
    tables: Sequence[Table],
    now: slot.Server,
    folder: Path,
    copy: Copy,
) -> Batch:
    """The next batch of the stream, up to `now`; temporary files are in `folder`."""
    with explained(stream):
        oids = [t.oid for t in tables]
        first = fingerprint(connection, stream.publication, oids)
        born = born_empty(connection, stream.fingerprint, first)
        roots = {
            **leaf_roots(stream.fingerprint),
            **{leaf: leaf_roots(first)[leaf] for leaf in born},
        }
        batch, truncated = _collected(connection, stream, tables, roots, now, folder, copy)
        try:
            seen = fingerprint(connection, stream.publication, oids)
            found = differences(stream.fingerprint, seen, truncated, born)
            if found and not batch.complete and all("was rewritten" in f for f in found):
                # The TRUNCATE that explains it may be further on.
                truncated |= _truncated(connection, stream, now)
                found = differences(stream.fingerprint, seen, truncated, born)
            if found:
                raise changed(stream.source, found)
        except BaseException:
            batch.close()
            raise
    batch.stream = replace(stream, fingerprint=seen)
    return batch


def _collected(
    connection: Connection,
    stream: Stream,
    tables: Sequence[Table],
    roots: Mapping[int, int],
    now: slot.Server,
    folder: Path,
    copy: Copy,
) -> tuple[Batch, set[int]]:
    batch = Batch(stream, clock=now.clock)
    messages = _Counted(slot.peeked(connection, stream, now.flushed, BATCH))
    collector = _Collector({t.oid: t for t in tables}, roots, folder,
                           copy, batch)  # fmt: skip
    try:
        ran_out = collector.collect(events(messages, now.next_xid))
        ran_out = _cut_before_misfits(batch) and ran_out
    except OSError as error:
        batch.close()
        raise unwritable(error) from error
    except BaseException:
        batch.close()
        raise
    finally:
        messages.close()
    batch.complete = ran_out and messages.count < BATCH
    if batch.complete:
        batch.end = max(batch.end, now.flushed)
    elif not ran_out:
        batch.end = batch.transactions[-1].position
    return batch, collector.truncated


def _cut_before_misfits(batch: Batch) -> bool:
    """Keep the transactions before the first with a value that cannot be kept; whether there is none such."""
    for spool in batch.spools.values():
        spool.flush()
    broken = [spool.broken for spool in batch.spools.values() if spool.broken is not None]
    if not broken:
        return True
    first, problem = min(broken, key=lambda b: b[0])
    if first == 0:
        raise problem
    del batch.transactions[first:]
    return False


def _truncated(connection: Connection, stream: Stream, now: slot.Server) -> set[int]:
    """The leaves that are truncated anywhere in the stream up to now."""
    messages = slot.peeked(connection, stream, now.flushed, None)
    found = events(messages, now.next_xid)
    return {oid for event in found if isinstance(event, Truncate) for oid in event.oids}


class _Counted:
    """An iterator that counts, and can be ended."""

    def __init__(self, messages: Iterator[bytes]) -> None:
        self._messages, self.count = messages, 0

    def __iter__(self) -> Iterator[bytes]:
        for message in self._messages:
            self.count += 1
            yield message

    def close(self) -> None:
        self._messages.close()  # type: ignore[attr-defined] # a generator
