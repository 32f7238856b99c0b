"""pgoutput messages, protocol 1: bytes to what they say. Pure and strict.

M1  A message is accepted only if it says one thing and every byte of it belongs to that: encoding it again would give
    the same bytes. Anything else is a DecodeError.
M2  Values stay the text that the server wrote; what a text means is the matter of types.py.
Streaming, two-phase and binary values are never asked for, so that their messages are errors as well. That messages
come in a sensible order is checked by transactions.py.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from rollview.errors import ChangesLost

MOST_COLUMNS = 1664
"""PostgreSQL's own limit."""


class DecodeError(ChangesLost):
    """A message of the stream is damaged, or is none of protocol 1."""

    def __init__(self, detail: str) -> None:
        super().__init__(
            "a message of the replication stream cannot be read",
            detail,
            "nothing of its transaction was stored; try again, and resync the source if it stays so",
        )


class Unchanged(Enum):
    """The value of a column that the server did not send, because the change left it as it was."""

    UNCHANGED = "unchanged"


UNCHANGED = Unchanged.UNCHANGED
Values = tuple[str | Unchanged | None, ...]


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction starts; `xid` has 32 bits, `micros` count from 2000-01-01 UTC."""

    lsn: int
    micros: int
    xid: int


@dataclass(frozen=True, slots=True)
class Commit:
    """It ends: its commit record is at `lsn` and ends at `end_lsn`."""

    lsn: int
    end_lsn: int
    micros: int


@dataclass(frozen=True, slots=True)
class StreamColumn:
    """A column as the stream has it; `key`: part of the replica identity."""

    key: bool
    name: str
    type_oid: int
    modifier: int


@dataclass(frozen=True, slots=True)
class StreamTable:
    """What later messages mean by `oid`; `identity` is d, n, f or i."""

    oid: int
    schema: str
    name: str
    identity: str
    columns: tuple[StreamColumn, ...]


@dataclass(frozen=True, slots=True)
class Insert:
    """A row came."""

    oid: int
    row: Values


@dataclass(frozen=True, slots=True)
class Update:
    """A row changed; `old` is None, its key only (`whole` False), or all of it."""

    oid: int
    old: Values | None
    whole: bool
    row: Values


@dataclass(frozen=True, slots=True)
class Delete:
    """A row went; `old` is its key only (`whole` False), or all of it."""

    oid: int
    old: Values
    whole: bool


@dataclass(frozen=True, slots=True)
class Truncate:
    """Every row of the tables went."""

    oids: tuple[int, ...]
    cascade: bool
    restart_identity: bool


@dataclass(frozen=True, slots=True)
class Emitted:
    """A message that somebody emitted, inside its transaction or on its own."""

    transactional: bool
    lsn: int
    prefix: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Origin:
    """The transaction came from another server."""

    lsn: int
    name: str


@dataclass(frozen=True, slots=True)
class StreamType:
    """The name of a type that is not built in."""

    oid: int
    schema: str
    name: str


Change = Insert | Update | Delete | Truncate
Message = Begin | Commit | StreamTable | Change | Emitted | Origin | StreamType


class _Reader:
    """Reads a message from front to end."""

    __slots__ = ("data", "place")

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 1

    def numbers(self, shape: struct.Struct) -> tuple[int, ...]:
        try:
            found: tuple[int, ...] = shape.unpack_from(self.data, self.place)
        except struct.error:
            raise DecodeError(f"it ends inside a number at byte {self.place}") from None
        self.place += shape.size
        return found

    def byte(self, allowed: bytes) -> int:
        found = self.data[self.place : self.place + 1]
        if not found or found not in allowed:
            raise DecodeError(f"byte {self.place} is {found!r}, one of {allowed!r} was expected")
        self.place += 1
        return found[0]

    def name(self) -> str:
        end = self.data.find(b"\0", self.place)
        if end < 0:
            raise DecodeError(f"the name at byte {self.place} does not end")
        text = self.text(end - self.place)
        self.place += 1
        return text

    def bytes(self, length: int) -> bytes:
        found = self.data[self.place : self.place + length]
        if length < 0 or len(found) != length:
            raise DecodeError(f"{length} bytes announced at byte {self.place}, {len(found)} there")
        self.place += length
        return found

    def text(self, length: int) -> str:
        found = self.bytes(length)
        if b"\0" in found:
            raise DecodeError(f"the text before byte {self.place} has a zero byte in it")
        try:
            return found.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DecodeError(
                f"the text before byte {self.place} is not UTF-8: {error.reason}"
            ) from None

    def values(self) -> Values:
        """A row. One loop without calls: it is where capture spends its time."""
        (count,) = self.numbers(_INT16)
        if count > MOST_COLUMNS:
            raise DecodeError(f"a row of {count} columns")
        data, place = self.data, self.place
        found: list[str | Unchanged | None] = []
        try:
            for _ in range(count):
                kind = data[place]
                place += 1
                if kind == _TEXT:
                    (length,) = _INT32.unpack_from(data, place)
                    end = place + 4 + length
                    text = data[place + 4 : end]
                    if len(text) != length or 0 in text:
                        raise DecodeError(
                            f"the value at byte {place} is cut short or has a zero byte"
                        )
                    found.append(text.decode("utf-8"))
                    place = end
                elif kind == _NULL:
                    found.append(None)
                elif kind == _SAME:
                    found.append(UNCHANGED)
                else:
                    raise DecodeError(f"byte {place - 1} is no kind of value: {kind}")
        except (IndexError, struct.error):
            raise DecodeError(f"it ends inside a row, at byte {place}") from None
        except UnicodeDecodeError as error:
            raise DecodeError(f"the value at byte {place} is not UTF-8: {error.reason}") from None
        self.place = place
        return tuple(found)


_INT16, _INT32, _TABLE = struct.Struct(">H"), struct.Struct(">I"), struct.Struct(">I")
_BEGIN, _COMMIT, _LSN = struct.Struct(">QqI"), struct.Struct(">QQq"), struct.Struct(">Q")
_COLUMN = struct.Struct(">Ii")
_TEXT, _NULL, _SAME = b"tnu"


def decoded(data: bytes) -> Message:
    """What the message says (M1)."""
    read = _READERS.get(data[:1])
    if read is None:
        raise DecodeError(f"{data[:1]!r} is no kind of message of protocol 1")
    reader = _Reader(data)
    message = read(reader)
    if reader.place != len(data):
        raise DecodeError(f"{len(data) - reader.place} bytes too many after byte {reader.place}")
    return message


def _begin(reader: _Reader) -> Begin:
    return Begin(*reader.numbers(_BEGIN))


def _commit(reader: _Reader) -> Commit:
    reader.byte(b"\0")  # flags: none are defined
    return Commit(*reader.numbers(_COMMIT))


def _table(reader: _Reader) -> StreamTable:
    (oid,) = reader.numbers(_TABLE)
    schema, name = reader.name(), reader.name()
    identity = chr(reader.byte(b"dnfi"))
    (count,) = reader.numbers(_INT16)
    if count > MOST_COLUMNS:
        raise DecodeError(f'table "{name}" of {count} columns')
    columns = tuple(
        StreamColumn(bool(reader.byte(b"\0\1")), reader.name(), *reader.numbers(_COLUMN))
        for _ in range(count)
    )
    if len({c.name for c in columns}) < len(columns):
        raise DecodeError(f'table "{name}" has a column twice')
    return StreamTable(oid, schema, name, identity, columns)


def _insert(reader: _Reader) -> Insert:
    (oid,) = reader.numbers(_TABLE)
    reader.byte(b"N")
    return Insert(oid, reader.values())


def _update(reader: _Reader) -> Update:
    (oid,) = reader.numbers(_TABLE)
    kind = reader.byte(b"KON")
    if kind == ord("N"):
        return Update(oid, None, False, reader.values())
    old = reader.values()
    reader.byte(b"N")
    return Update(oid, old, kind == ord("O"), reader.values())


def _delete(reader: _Reader) -> Delete:
    (oid,) = reader.numbers(_TABLE)
    kind = reader.byte(b"KO")
    return Delete(oid, reader.values(), kind == ord("O"))


def _truncate(reader: _Reader) -> Truncate:
    (count,) = reader.numbers(_INT32)
    options = reader.byte(b"\0\1\2\3")
    if count * 4 != len(reader.data) - reader.place:
        raise DecodeError(f"{count} tables truncated, {len(reader.data)} bytes")
    oids = tuple(reader.numbers(_TABLE)[0] for _ in range(count))
    return Truncate(oids, bool(options & 1), bool(options & 2))


def _emitted(reader: _Reader) -> Emitted:
    transactional = bool(reader.byte(b"\0\1"))
    (lsn,) = reader.numbers(_LSN)
    prefix = reader.name()
    (length,) = reader.numbers(_INT32)
    return Emitted(transactional, lsn, prefix, reader.bytes(length))


def _origin(reader: _Reader) -> Origin:
    (lsn,) = reader.numbers(_LSN)
    return Origin(lsn, reader.name())


def _type(reader: _Reader) -> StreamType:
    (oid,) = reader.numbers(_TABLE)
    return StreamType(oid, reader.name(), reader.name())


_READERS: dict[bytes, Callable[[_Reader], Message]] = {
    b"B": _begin,
    b"C": _commit,
    b"R": _table,
    b"I": _insert,
    b"U": _update,
    b"D": _delete,
    b"T": _truncate,
    b"M": _emitted,
    b"O": _origin,
    b"Y": _type,
}
