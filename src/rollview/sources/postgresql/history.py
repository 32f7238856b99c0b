"""Is the server the registered one, with the history that was captured? Asked before anything of it is believed.

Q1  A server is the registered one if its identity and timeline are, its WAL goes as far as what was captured, and its
    slot stands where rollview left it or behind (slot.py, O2).
Q2  What a slot delivers again must be what the timeline knows, transaction by transaction: a restored server writes
    another history over the same places of the WAL. Only then may its slot be moved.
Q3  Whoever reads a live table asks the same, on the connection that it reads by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import psycopg

from rollview.errors import ChangesLost, Unreachable
from rollview.ledger.rows import Commit, Stream
from rollview.sources.postgresql import slot
from rollview.sources.postgresql.connect import Connection
from rollview.sources.postgresql.transactions import Ended, events

Known = Callable[[int], Sequence[Commit]]
"""The captured transactions past a position."""


def marked(connection: Connection, stream: Stream, known: Known) -> slot.Server:
    """The server, once it is known to be the registered one: the next batch ends where its WAL ends now.

    `known` gives the captured transactions past a position: those that are delivered again are compared (Q2).
    """
    with explained(stream):
        now = slot.mark(connection)
        _check_again(connection, stream, now, slot.check(connection, stream, now), known)
    return now


def verified(connection: Connection, stream: Stream, known: Known) -> None:
    """Raise unless the server is the registered one with the captured history; as long as it is connected, it is."""
    with explained(stream):
        now = slot.server(connection)
        slot.check_server(stream, now)
        found = slot.check_slot(stream, slot.slot(connection, stream.slot))
        _check_again(connection, stream, now, found, known)


def _check_again(
    connection: Connection, stream: Stream, now: slot.Server, at: slot.Slot, known: Known
) -> None:
    """Raise unless the server delivers again what was captured, transaction by transaction (Q2)."""
    if at.confirmed >= stream.position:
        return
    messages = slot.peeked(connection, stream, stream.position, None)
    found = {
        event.end_lsn: (event.xid, event.committed_at)
        for event in events(messages, now.next_xid)
        if isinstance(event, Ended)
    }
    for commit in known(at.confirmed):
        if commit.xid is not None and found.get(commit.position) != (
            commit.xid,
            commit.committed_at,
        ):
            raise slot.lost(
                stream.source,
                f"the server no longer has transaction {commit.xid}, which was captured: it was "
                "restored from a backup",
            )


def confirm(connection: Connection, stream: Stream) -> None:
    """Let the server forget what the ledger has."""
    with explained(stream):
        slot.confirm(connection, stream)


@contextmanager
def explained(stream: Stream) -> Iterator[None]:
    """The server's errors inside in our words: what cannot be read any more, and what may be read later."""
    try:
        yield
    except (psycopg.errors.UndefinedObject, psycopg.errors.ObjectNotInPrerequisiteState) as error:
        raise ChangesLost(
            f'changes of source "{stream.source}" are lost', str(error).strip(),
            f"rollview source resync {stream.source}",
        ) from None  # fmt: skip
    except psycopg.Error as error:
        what = f'the changes of source "{stream.source}" cannot be read'
        raise Unreachable(what, str(error).strip()) from None
