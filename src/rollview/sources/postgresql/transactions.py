"""Messages to whole transactions: the order in which they must come, checked one by one. Pure.

X1  A change belongs to the transaction that is open: BEGIN, changes, COMMIT of the same place in the WAL; none nested.
X2  Commits come in the order of their end in the WAL, each end greater than the one before.
X3  A change is of a table that the stream has described, and has as many values as the table has columns.
Any breach is a DecodeError, and nothing of the transaction is believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from rollview.sources.postgresql.decode import (
    Begin,
    Change,
    Commit,
    DecodeError,
    Delete,
    Emitted,
    Insert,
    StreamTable,
    Truncate,
    Update,
    Values,
    decoded,
)

START = datetime(2000, 1, 1, tzinfo=timezone.utc)
LARGEST_MICROS = 8_000 * 366 * 86_400_000_000


@dataclass(frozen=True, slots=True)
class Started:
    """A transaction begins; `xid` has 64 bits, its commit record will be at `lsn`."""

    xid: int
    lsn: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The transaction committed: where its commit record begins and ends, and when, by the server's clock."""

    xid: int
    lsn: int
    end_lsn: int
    committed_at: datetime


Event = Started | StreamTable | Change | Ended


def wide_xid(xid: int, next_xid: int) -> int:
    """The 64-bit id of a transaction from its 32 bits: the one closest to an id of its time, such as xmax.

    It may lie behind xmax: a transaction is decoded while it is still running for every snapshot.
    """
    wide = (next_xid >> 32 << 32) | xid
    if wide >= next_xid + (1 << 31):
        return wide - (1 << 32)
    return wide + (1 << 32) if wide < next_xid - (1 << 31) else wide


def events(messages: Iterable[bytes], next_xid: int) -> Iterator[Event]:
    """Transactions as they come: Started, changes and the tables they are of, Ended (X1 to X3)."""
    begun: Begin | None = None
    tables: dict[int, StreamTable] = {}
    last = 0
    for data in messages:
        message = decoded(data)
        if isinstance(message, (Insert, Update, Delete, Truncate)):  # nearly all of them
            _inside(begun, "a change")
            _check(message, tables)
            yield message
            continue
        match message:
            case Begin() as begin:
                if begun is not None:
                    raise DecodeError(f"transaction {begin.xid} begins inside {begun.xid}")
                begun = begin
                yield Started(wide_xid(begin.xid, next_xid), begin.lsn)
            case Commit() as commit:
                yield _ended(begun, commit, last, next_xid)
                begun, last = None, commit.end_lsn
            case StreamTable() as table:
                _inside(begun, "a table's description")
                tables[table.oid] = table
                yield table
            case Emitted(transactional=False):
                pass
            case _:
                _inside(begun, "an origin, a type or a transactional message")
    if begun is not None:
        raise DecodeError(f"the stream ends inside transaction {begun.xid}")


def _inside(begun: Begin | None, what: str) -> None:
    if begun is None:
        raise DecodeError(f"{what} outside of a transaction")


def _ended(begun: Begin | None, commit: Commit, last: int, next_xid: int) -> Ended:
    if begun is None:
        raise DecodeError("a commit without its begin")
    if (begun.lsn, begun.micros) != (commit.lsn, commit.micros):
        raise DecodeError(f"transaction {begun.xid} began for {begun.lsn} and ends at {commit.lsn}")
    if not last < commit.end_lsn or commit.end_lsn <= commit.lsn:
        raise DecodeError(f"a commit ends at {commit.end_lsn}, the one before it at {last}")
    if not 0 <= commit.micros < LARGEST_MICROS:
        raise DecodeError(f"a commit {commit.micros} microseconds after 2000")
    moment = START + timedelta(microseconds=commit.micros)
    return Ended(wide_xid(begun.xid, next_xid), commit.lsn, commit.end_lsn, moment)


def _check(change: Change, tables: dict[int, StreamTable]) -> None:
    match change:
        case Insert(oid, row):
            _width(oid, row, tables)
        case Update(oid, old, _, row):
            _width(oid, row, tables)
            if old is not None:
                _width(oid, old, tables)
        case Delete(oid, old, _):
            _width(oid, old, tables)
        case Truncate(oids, _, _):
            for oid in oids:
                _known(oid, tables)


def _known(oid: int, tables: dict[int, StreamTable]) -> StreamTable:
    table = tables.get(oid)
    if table is None:
        raise DecodeError(f"a change of table {oid}, which the stream has not described")
    return table


def _width(oid: int, row: Values, tables: dict[int, StreamTable]) -> None:
    table = _known(oid, tables)
    if len(row) != len(table.columns):
        raise DecodeError(
            f'a row of {len(row)} values for table "{table.name}" of {len(table.columns)} columns'
        )
