"""Snapshots of a live database: which captured transactions one shows, and how far the WAL goes that it may show.

N1  A transaction is shown by a snapshot if its id is below xmax and was not running: decided per transaction by its
    top-level id with epoch, never by its place in the WAL. Commits are decoded before they are visible, and become
    visible in another order than they are in the WAL: the WAL says nothing about a snapshot.
N2  Every transaction that a snapshot shows ends in the WAL before `inserted`, which is read after the snapshot was
    taken: whoever has decoded up to there knows them all.
N3  An exported snapshot is the leader's as long as its transaction is open; whoever imports it reads the same moment
    or fails.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from psycopg import sql

from rollview.changes import Csn
from rollview.errors import SourceError
from rollview.sources.postgresql.connect import Connection

BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
TAKE = """
SELECT pg_current_snapshot()::text, (pg_current_wal_insert_lsn() - '0/0')::bigint, pg_export_snapshot()"""
SHOWN = "SELECT pg_current_snapshot()::text"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What pg_current_snapshot() says: ids from `xmax` on had not begun, `running` had not ended."""

    xmin: int
    xmax: int
    running: frozenset[int]

    def shows(self, xid: int) -> bool:
        """The committed transaction `xid` is visible (N1)."""
        return xid < self.xmax and xid not in self.running


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of a live database, held by a leader: its snapshot, the WAL so far (N2) and the name for others (N3)."""

    text: str
    snapshot: Snapshot
    inserted: int
    exported: str
    taken_at: float

    @property
    def age_seconds(self) -> float:
        """How long it has been held."""
        return time.monotonic() - self.taken_at


def parsed(text: str) -> Snapshot:
    """A snapshot from the server's text, xmin:xmax:running,…"""
    xmin, xmax, running = text.split(":")
    return Snapshot(int(xmin), int(xmax), frozenset(int(x) for x in running.split(",") if x))


def patches(commits: Iterable[tuple[Csn, int]], snapshot: Snapshot, at: Csn) -> dict[Csn, int]:
    """What leads from what the snapshot shows to the state at `at`: CSN -> +1 put in, -1 taken out.

    `commits`: every captured transaction that may matter, as (CSN, id): those after `at`, and those up to `at` whose
    id is not below xmin.
    """
    found: dict[Csn, int] = {}
    for csn, xid in commits:
        shown = snapshot.shows(xid)
        if shown and csn > at:
            found[csn] = -1  # interfering: later than asked, and there already
        elif not shown and csn <= at:
            found[csn] = +1  # missing: not later than asked, and not there yet
    return found


@contextmanager
def held(connection: Connection, tables: Sequence[sql.Identifier] = ()) -> Iterator[Moment]:
    """Take a moment and hold it; every query inside reads it.

    The tables are locked first: TRUNCATE and rewrites do not respect snapshots, and wait.
    """
    connection.execute(BEGIN)
    try:
        if tables:
            names = sql.SQL(", ").join(tables)
            connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(names))
        row = connection.execute(TAKE).fetchone()
        assert row is not None, "a SELECT without FROM has one row"
        text, inserted, exported = row
        yield Moment(text, parsed(text), inserted, exported, time.monotonic())
    finally:
        if not connection.closed:
            connection.execute("ROLLBACK")


@contextmanager
def joined(connection: Connection, exported: str, text: str) -> Iterator[None]:
    """Read the moment of a leader; fails unless it is that very moment (N3)."""
    connection.execute(BEGIN)
    try:
        name = sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(exported))
        connection.execute(name)
        row = connection.execute(SHOWN).fetchone()
        if row != (text,):
            raise SourceError(
                "a reader does not read the moment of its leader", f"{row} is not {text}"
            )
        yield
    finally:
        if not connection.closed:
            connection.execute("ROLLBACK")
