"""Capture: source commits become rows of the timeline, in commit order, each exactly once.

K1  Every captured transaction gets the next CSN; each source's own order is kept, and different sources are
    merged by commit time. A commit that another source may still precede waits for the next batch, but never for a
    source that is silent: what was looked at and had nothing is complete, and a server that does not answer is left
    to the next round.
K2  One ledger transaction adds the commits, lists the steps that hold their rows and moves the positions: nothing
    lost, nothing twice. A PostgreSQL server is told afterwards that it may forget.
K3  What cannot be captured stops that table (of PostgreSQL: that source) at its last good position, with the
    reason in the ledger; the others go on.
No Spark job runs here. Knows sources and the ledger; not what views make of it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

from pyarrow import RecordBatch

from rollview.changes import Csn
from rollview.errors import SourceError
from rollview.failpoints import Failpoint, failpoint
from rollview.ledger.store import (
    BaseRelation,
    CapturedChange,
    Commit,
    Ledger,
    SchemaEpoch,
    Source,
)
from rollview.sources.delta_lake.capture import Captured, CaptureResult, new_commits
from rollview.sources.postgresql import copy, record, slot
from rollview.sources.postgresql.capture import Batch, Transaction, read_batch
from rollview.sources.postgresql.connect import Connection, connected
from rollview.sources.postgresql.history import confirm, marked
from rollview.sources.postgresql.spool import unwritable
from rollview.sources.postgresql.table import Table, table_of

MERGE_LIMIT = timedelta(seconds=5)
"""Sources are merged by commit time as far as their clocks agree to within this; more is not waited for."""


@dataclass(frozen=True, slots=True)
class CaptureReport:
    """What a round of capture found: the newest CSN, how many commits, and what stopped."""

    csn: Csn
    commits: int
    problems: tuple[SourceError, ...] = ()


@dataclass(slots=True)
class _Look:
    """What one look at every source found: Delta Lake tables, batches of streams, and what went wrong."""

    merge: bool = True
    began: datetime | None = None
    tables: list[tuple[BaseRelation, CaptureResult]] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    failed: list[tuple[str, SourceError]] = field(default_factory=list)

    @property
    def problems(self) -> tuple[SourceError, ...]:
        """Everything that stops something."""
        of_tables = (r.problem for _, r in self.tables if r.problem is not None)
        return (*of_tables, *(problem for _, problem in self.failed))

    @property
    def more(self) -> bool:
        """A stream has more than its batch."""
        return any(not batch.complete for batch in self.batches)


def capture(
    ledger: Ledger, warehouse: Path, up_to: Mapping[str, int] | None = None
) -> CaptureReport:
    """One round: everything that the sources committed since the last one.

    `up_to`: positions by source; their streams are captured exactly so far, whatever the order among sources.
    """
    commits = 0
    with ExitStack() as stack:
        streams = _Streams(ledger, warehouse, stack, up_to or {})
        while True:
            look = _Look(merge=up_to is None)
            try:
                streams.mark(look)
                look.began = datetime.now(timezone.utc)
                look.tables = _tables(ledger)
                streams.read(look)
                commits += _captured(ledger, warehouse, look)
            finally:
                for batch in look.batches:
                    batch.close()
            streams.confirm()
            if not look.more:
                return CaptureReport(ledger.newest_csn(), commits, look.problems)


class _Streams:
    """The streams of all PostgreSQL sources, each with a connection for one round of capture."""

    def __init__(
        self, ledger: Ledger, warehouse: Path, stack: ExitStack, up_to: Mapping[str, int]
    ) -> None:
        self.ledger, self.warehouse, self.stack, self.up_to = ledger, warehouse, stack, up_to
        self.connections: dict[str, Connection] = {}
        self.marks: dict[str, slot.Server] = {}

    def mark(self, look: _Look) -> None:
        """Fix for each stream where its batch ends, all within a moment: what is later is for the next batch.

        All servers are asked at the same time, so that those that are silent are waited for once (connect.py, Z4).
        """
        self.marks.clear()
        known = [s for s in self.ledger.sources() if self.ledger.stream(s.name) is not None]
        with ThreadPoolExecutor(max(1, len(known))) as pool:
            for source, found in zip(known, pool.map(self._marked, known), strict=True):
                if isinstance(found, SourceError):
                    look.failed.append((source.name, found))
                else:
                    limit = self.up_to.get(source.name, found.flushed)
                    self.marks[source.name] = replace(found, flushed=min(found.flushed, limit))

    def _marked(self, source: Source) -> slot.Server | SourceError:
        stream = self.ledger.stream(source.name)
        assert stream is not None, "one writer: a stream that was there is there"
        try:
            connection = self._connection(source)
            now = marked(connection, stream, partial(self.ledger.commits_past, source.name))
            confirm(connection, stream)  # a round that was killed may not have come to it
            return now
        except SourceError as problem:
            return problem

    def read(self, look: _Look) -> None:
        """Read the next batch of each stream, up to its mark."""
        for name, now in self.marks.items():
            stream = self.ledger.stream(name)
            assert stream is not None, "one writer: a stream that was marked is there"
            tables = [table_of(r) for r in self.ledger.relations(name)]
            try:
                look.batches.append(
                    read_batch(
                        self.connections[name], stream, tables, now, self.warehouse, self._copy
                    )
                )
            except SourceError as problem:
                look.failed.append((name, problem))

    def _copy(self, table: Table) -> Iterator[RecordBatch]:
        return copy.contents(self.ledger, self.warehouse, table)

    def _connection(self, source: Source) -> Connection:
        if source.name not in self.connections:
            connection = connected(source.config["postgres"], source.name)
            self.connections[source.name] = self.stack.enter_context(connection)
        return self.connections[source.name]

    def confirm(self) -> None:
        """Tell the servers how far they may forget; one that does not answer is told by the next round.

        Only servers that are known to be the registered ones: the slot of a restored one says that it is.
        """
        for name in self.marks:
            stream, connection = self.ledger.stream(name), self.connections[name]
            if stream is not None and not connection.closed:
                failpoint(Failpoint.STREAM_BEFORE_CONFIRM)
                try:
                    confirm(connection, stream)
                except SourceError:
                    continue
                failpoint(Failpoint.STREAM_AFTER_CONFIRM)


def _tables(ledger: Ledger) -> list[tuple[BaseRelation, CaptureResult]]:
    """The Delta Lake tables that have something new, or whose state is another."""
    found = []
    lakes = {source.name for source in ledger.sources() if source.kind == "delta"}
    for relation in ledger.relations():
        if relation.source in lakes:
            result = new_commits(relation)
            if result.captured or result.problem is not None or relation.stopped is not None:
                found.append((relation, result))
    return found


def _captured(ledger: Ledger, warehouse: Path, look: _Look) -> int:
    """Record what was found (K2); how many commits."""
    merged = list(_merged(look))
    csn, commits, changes = ledger.newest_csn(), list[Commit](), list[CapturedChange]()
    stamps: dict[str, list[Csn]] = {batch.stream.source: [] for batch in look.batches}
    epochs: list[SchemaEpoch] = []
    for found, what in merged:
        if isinstance(what, Transaction):
            csn = Csn(csn + 1)
            stamps[found].append(csn)
            commits.append(record.commit_of(found, csn, what))
            changes += record.changes_of(csn, what)
            continue
        if what.columns is not None:
            epochs.append(SchemaEpoch(found, what.version, csn, what.columns))
        if what.data_changed:
            csn = Csn(csn + 1)
            commits.append(Commit(csn, found.partition(".")[0], what.version, None,
                                  what.committed_at, what.operation))  # fmt: skip
            changes.append(_change(csn, found, what))
    rows = [*_moved_tables(look, merged, csn), *_moved_streams(ledger, look, stamps, csn)]
    streams = [b.moved(len(stamps[b.stream.source])) for b in look.batches if b.worth_a_commit]
    if not (rows or streams or commits):
        return 0
    written = _written(ledger, warehouse, look, stamps)
    failpoint(Failpoint.CAPTURE_BEFORE_COMMIT)
    with ledger.atomic():
        ledger.add_commits(commits, changes)
        for epoch in epochs:
            ledger.add_schema_epoch(epoch)
        for row in rows:
            ledger.put_relation(row)
        for stream in streams:
            ledger.put_stream(stream)
        record.record_steps(ledger, written)
    failpoint(Failpoint.CAPTURE_AFTER_COMMIT)
    return len(commits)


def _written(
    ledger: Ledger, warehouse: Path, look: _Look, stamps: dict[str, list[Csn]]
) -> record.Written:
    written: record.Written = []
    try:
        for batch in look.batches:
            written += record.write_steps(ledger, warehouse, batch, stamps[batch.stream.source])
    except OSError as error:
        record.forget_steps(ledger, written)
        raise unwritable(error) from error
    return written


def _moved_tables(
    look: _Look, merged: Sequence[tuple[str, Captured | Transaction]], csn: Csn
) -> Iterator[BaseRelation]:
    """The Delta Lake tables as they are once everything is recorded."""
    for relation, result in look.tables:
        now = relation
        for name, captured in merged:
            if name == relation.name and isinstance(captured, Captured):
                now = replace(
                    now,
                    position=captured.version,
                    columns=captured.columns or now.columns,
                    properties=captured.properties or now.properties,
                    rows=max(0, now.rows + captured.inserted - captured.deleted),
                )
        now = _stop_remembered(now, csn, result.problem)
        if now != relation:
            yield now


def _moved_streams(
    ledger: Ledger, look: _Look, stamps: dict[str, list[Csn]], csn: Csn
) -> Iterator[BaseRelation]:
    """The PostgreSQL tables that changed, stopped or go on, as they are once everything is recorded."""
    for batch in look.batches:
        kept = batch.transactions[: len(stamps[batch.stream.source])]
        for relation in ledger.relations(batch.stream.source):
            now = record.moved(_stop_remembered(relation, csn, None), kept)
            if now != relation:
                yield now
    for source, problem in look.failed:
        for relation in ledger.relations(source):
            if str(problem) != relation.stopped:
                yield _stop_remembered(relation, csn, problem)


def _change(csn: Csn, name: str, captured: Captured) -> CapturedChange:
    """What the commit did; an estimate of no rows at all counts as one, since something did change."""
    inserted = max(captured.inserted, 0 if captured.deleted else 1)
    return CapturedChange(csn, name, captured.version, captured.committed_at, captured.operation,
                          inserted, captured.deleted, captured.files)  # fmt: skip


def _stop_remembered(relation: BaseRelation, csn: Csn, problem: SourceError | None) -> BaseRelation:
    """A table that has just stopped is known to be complete up to `csn`, and no further (K3)."""
    properties = {k: v for k, v in relation.properties.items() if not k.startswith("stopped_")}
    if problem is not None:
        properties["stopped_csn"] = relation.properties.get("stopped_csn", csn)
        properties["stopped_kind"] = type(problem).__name__
    return replace(relation, properties=properties, stopped=str(problem) if problem else None)


def _merged(look: _Look) -> Iterator[tuple[str, Captured | Transaction]]:
    """All commits by commit time, each source's own order kept (K1), up to the horizon."""
    lists: list[list[tuple[datetime, int, int, str, Captured | Transaction]]] = []
    for order, (relation, result) in enumerate(look.tables):
        lists.append(_keyed(order, relation.name, [(c.committed_at, c) for c in result.captured]))
    for order, batch in enumerate(look.batches, len(lists)):
        found = [(t.committed_at, t) for t in batch.transactions]
        lists.append(_keyed(order, batch.stream.source, found))
    held = _held(look)
    for moment, _, _, name, what in heapq.merge(*lists, key=lambda k: k[:3]):
        if held is not None and held[0] < moment <= held[1]:
            return
        yield name, what


def _keyed(
    order: int, name: str, commits: Sequence[tuple[datetime, Captured | Transaction]]
) -> list[tuple[datetime, int, int, str, Captured | Transaction]]:
    latest, keyed = datetime.min.replace(tzinfo=timezone.utc), []
    for number, (moment, what) in enumerate(commits):
        latest = max(latest, moment)
        keyed.append((latest, order, number, name, what))
    return keyed


def _held(look: _Look) -> tuple[datetime, datetime] | None:
    """Commits in this (after, up to] may still be preceded by one of another source: they wait (K1)."""
    if not look.batches:
        return None
    times = [b.clock for b in look.batches if b.clock is not None]
    times += [look.began] if look.began is not None and look.tables else []
    if look.more:
        last = [b.transactions[-1].committed_at if b.transactions else datetime.min.replace(tzinfo=timezone.utc)
                for b in look.batches if not b.complete]  # fmt: skip
        return min(last), datetime.max.replace(tzinfo=timezone.utc)
    window = min(times), max(times)
    return window if look.merge and window[1] - window[0] <= MERGE_LIMIT else None
