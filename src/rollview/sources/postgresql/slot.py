"""The replication slot: made with an exported snapshot, looked at, read without consuming, confirmed, dropped.

O1  A slot is read by peeking, and moves only when `confirm` is called: after the ledger's commit.
O2  Before anything is read, the server must be the one that was registered and the slot must stand where rollview left
    it or behind: a slot that is ahead has lost transactions, whoever moved it.
O3  A read ends at a place in the WAL that is fixed before it (`mark`); every transaction that commits before the mark
    is delivered, whole, none of it in memory at once.
O4  A slot serves one reader at a time, and views of a round read it side by side: whoever finds it in use waits.
Knows the server; neither messages nor the ledger.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg import sql

from rollview.errors import ChangesLost, SourceError, Unreachable
from rollview.ledger.rows import Stream
from rollview.sources.postgresql.connect import Connection

PLUGIN = "pgoutput"
FETCH = 5_000
"""Messages that one fetch brings."""
FLUSH_SECONDS = 1.0
"""How long to wait until what was committed without waiting for the disk is in the WAL file."""
BUSY_SECONDS = 20.0
"""How long to wait for others who read the slot; another view reads what was not captured yet, in far less."""
WAIT_SECONDS = 60.0
"""How long a new slot may wait for open write transactions."""
WAL_PAGE, PAGE_HEADERS = 8192, (24, 40)
FLUSH = "SELECT pg_logical_emit_message(true, 'rollview', '')"
"""A commit of its own: whatever was inserted before it is flushed with it."""

STATE = """
SELECT (SELECT system_identifier::text FROM pg_control_system()),
    ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int,
    (pg_current_wal_insert_lsn() - '0/0')::bigint, (pg_current_wal_flush_lsn() - '0/0')::bigint,
    clock_timestamp(), pg_snapshot_xmax(pg_current_snapshot())::text::bigint
WHERE NOT pg_is_in_recovery()"""

SLOT = """
SELECT plugin, coalesce(wal_status, 'lost'), active_pid, (confirmed_flush_lsn - '0/0')::bigint
FROM pg_replication_slots WHERE slot_name = %s AND database = current_database()"""

WRITING = """
SELECT pid, usename, state, date_trunc('second', xact_start)::text FROM pg_stat_activity
WHERE backend_xid IS NOT NULL AND pid NOT IN (pg_backend_pid(), %s) ORDER BY xact_start"""

PEEK = """
SELECT data FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, %s,
    'proto_version', '1', 'publication_names', %s)"""


@dataclass(frozen=True, slots=True)
class Server:
    """The server at one moment: who it is, how far its WAL goes, its clock, and the next transaction id."""

    system_id: str
    timeline: int
    inserted: int
    flushed: int
    clock: datetime
    next_xid: int


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot as it stands: from `confirmed` on, it delivers."""

    plugin: str
    wal_status: str
    active_pid: int | None
    confirmed: int


@dataclass(frozen=True, slots=True)
class Exported:
    """A slot that was just made: it delivers what commits after `position`; `snapshot` shows what did before."""

    position: int
    snapshot: str


def lsn(position: int) -> str:
    """The position as the server writes it."""
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"


def server(connection: Connection) -> Server:
    """The server now; a standby, or one that has not recovered yet, cannot be captured from."""
    row = connection.execute(STATE).fetchone()
    if row is None:
        raise Unreachable(
            f'the server of database "{connection.info.dbname}" only follows another one now',
            "it is a standby, or it has not recovered yet",
            "name the primary server, or wait until this one is",
        )
    return Server(*row)


def slot(connection: Connection, name: str) -> Slot | None:
    """The slot of that name in this database."""
    row = connection.execute(SLOT, [name]).fetchone()
    return None if row is None else Slot(*row)


@contextmanager
def created(
    replication: Connection,
    watcher: Connection,
    name: str,
    temporary: bool = False,
    wait_seconds: float = WAIT_SECONDS,
) -> Iterator[Exported]:
    """Make a slot on a replication connection; its snapshot can be used while inside.

    The server waits for every open write transaction first; after `wait_seconds` the error names them, by `watcher`.
    """
    kind = sql.SQL("TEMPORARY " if temporary else "")
    text = sql.SQL("CREATE_REPLICATION_SLOT {} {}LOGICAL pgoutput (SNAPSHOT 'export')")
    limit = f"SET statement_timeout = {int(wait_seconds * 1000)}"
    replication.pgconn.exec_(limit.encode())
    result = replication.pgconn.exec_(text.format(sql.Identifier(name), kind).as_bytes(replication))
    if result.status != psycopg.pq.ExecStatus.TUPLES_OK:
        said = result.get_error_message().strip()
        writing = watcher.execute(WRITING, [replication.info.backend_pid]).fetchall()
        waited = "".join(
            f"\npid {pid}, {role}: {state} since {since}" for pid, role, state, since in writing
        )
        raise SourceError(
            f'replication slot "{name}" cannot be made',
            said + (f"\nopen write transactions:{waited}" if waited else ""),
            "a slot waits for open write transactions: end them, e.g. "
            f"SELECT pg_terminate_backend({writing[0][0]})" if writing else "",
        )  # fmt: skip
    position, snapshot = result.get_value(0, 1), result.get_value(0, 2)
    assert position is not None and snapshot is not None, "the server answers with both"
    high, low = position.decode().split("/")
    yield Exported((int(high, 16) << 32) | int(low, 16), snapshot.decode())


def check(connection: Connection, stream: Stream, now: Server) -> Slot:
    """The stream's slot, once server and slot are known to be what they were (O2) and nobody else reads it."""
    check_server(stream, now)
    found = check_slot(stream, _free(connection, stream.slot))
    if found.active_pid is not None and found.active_pid != connection.info.backend_pid:
        raise Unreachable(
            f'the changes of source "{stream.source}" cannot be read',
            f'replication slot "{stream.slot}" is in use by process {found.active_pid} of the server',
            f"end it: SELECT pg_terminate_backend({found.active_pid})",
        )
    return found


def check_server(stream: Stream, now: Server) -> None:
    """Raise unless the server is the one that was registered, and has what was captured."""
    source = stream.source
    if (now.system_id, now.timeline) != (stream.system_id, stream.timeline):
        raise lost(source, "the server is not the one that was registered: it was restored from a "
                    "backup, or another one has taken over")  # fmt: skip
    if now.inserted < stream.position:
        raise lost(source, f"the server's WAL ends at {lsn(now.inserted)}, before {lsn(stream.position)}, "
                    "which was captured: it was restored from a backup")  # fmt: skip


def check_slot(stream: Stream, found: Slot | None) -> Slot:
    """The slot, unless it cannot deliver what comes after the stream's position."""
    source = stream.source
    if found is None:
        raise lost(source, f'its replication slot "{stream.slot}" is gone')
    if found.plugin != PLUGIN:
        raise lost(source, f'its replication slot "{stream.slot}" is another one now')
    if found.wal_status == "lost":
        raise lost(source, f'the server dropped the WAL that replication slot "{stream.slot}" still '
                    "needed: it reached max_slot_wal_keep_size")  # fmt: skip
    if found.confirmed > stream.position:
        raise lost(source, f'somebody moved replication slot "{stream.slot}" to {lsn(found.confirmed)}, '
                    f"past {lsn(stream.position)}, which was captured")  # fmt: skip
    return found


def _free(connection: Connection, name: str) -> Slot | None:
    """The slot, once nobody else reads it, or everybody had time to (O4)."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        found = slot(connection, name)
        used = found.active_pid if found else None
        if used in (None, connection.info.backend_pid) or time.monotonic() > until:
            return found
        time.sleep(0.02)


def lost(source: str, detail: str) -> ChangesLost:
    """The error for a stream that cannot go on."""
    return ChangesLost(f'changes of source "{source}" are lost', detail,
                       f"rollview source resync {source}")  # fmt: skip


def mark(connection: Connection) -> Server:
    """The server, once everything that it has inserted into the WAL is flushed and can be decoded (O3)."""
    first = now = server(connection)
    if not flushed(now, first.inserted):
        with connection.transaction():
            connection.execute("SET LOCAL synchronous_commit = local")  # not for a standby
            connection.execute(FLUSH)
        now = server(connection)
    until = time.monotonic() + FLUSH_SECONDS
    while not flushed(now, first.inserted) and time.monotonic() < until:
        time.sleep(0.01)
        now = server(connection)
    return now


def flushed(now: Server, inserted: int) -> bool:
    """Everything up to a place that was inserted to is flushed; behind a page's header there is nothing yet."""
    place = inserted % WAL_PAGE
    return now.flushed >= (inserted - place if place in PAGE_HEADERS else inserted)


def peeked(connection: Connection, stream: Stream, to: int, changes: int | None) -> Iterator[bytes]:
    """The messages of the transactions that commit before `to`; whole ones, at least `changes` messages if set.

    Waits for others who read the slot (O4): the server looks at it before it gives the first message.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            yield from _peeked(connection, stream, to, changes)
            return
        except psycopg.errors.ObjectInUse:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def _peeked(
    connection: Connection, stream: Stream, to: int, changes: int | None
) -> Iterator[bytes]:
    with connection.transaction(), connection.cursor("rollview_peek", binary=True) as cursor:
        cursor.itersize = FETCH
        arguments = [stream.slot, lsn(to), changes, _quoted(stream.publication)]
        cursor.execute(PEEK, arguments, binary=True)
        for (data,) in cursor:
            yield data


def _quoted(publication: str) -> str:
    """A name in the list of publications, which the plug-in splits at commas."""
    return '"' + publication.replace('"', '""') + '"'


def confirm(connection: Connection, stream: Stream) -> None:
    """Let the server forget what the ledger has committed (O1)."""
    found = slot(connection, stream.slot)
    if found is not None and found.confirmed < stream.position:
        connection.execute(
            "SELECT pg_replication_slot_advance(%s, %s::pg_lsn)",
            [stream.slot, lsn(stream.position)],
        )


def drop(connection: Connection, name: str) -> None:
    """Drop the slot, if it is there."""
    connection.execute(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
        " WHERE slot_name = %s AND database = current_database()",
        [name],
    )
