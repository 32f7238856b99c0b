"""The decoder: what it reads, and that damage is either found or is a message of its own.

The encoder here is the test's own. A damaged message must raise DecodeError, or be exactly what the encoder makes of
what was read: then the bytes are a valid message, and no decoder could know that another one was meant.
"""

from __future__ import annotations

import os
import random
import struct

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollview.sources.postgresql.decode import (
    UNCHANGED,
    Begin,
    Commit,
    DecodeError,
    Delete,
    Emitted,
    Insert,
    Message,
    Origin,
    StreamColumn,
    StreamTable,
    StreamType,
    Truncate,
    Update,
    Values,
    decoded,
)
from rollview.sources.postgresql.transactions import Ended, Started, events, wide_xid

pytest_plugins = ["servers"]


def zero(text: str) -> bytes:
    return text.encode() + b"\0"


def row(values: Values) -> bytes:
    parts = [struct.pack(">H", len(values))]
    for value in values:
        if value is None:
            parts.append(b"n")
        elif value is UNCHANGED:
            parts.append(b"u")
        else:
            assert isinstance(value, str)
            parts.append(b"t" + struct.pack(">I", len(value.encode())) + value.encode())
    return b"".join(parts)


def encoded(message: Message) -> bytes:  # noqa: C901
    match message:
        case Begin(lsn, micros, xid):
            return b"B" + struct.pack(">QqI", lsn, micros, xid)
        case Commit(lsn, end, micros):
            return b"C\0" + struct.pack(">QQq", lsn, end, micros)
        case StreamTable(oid, schema, name, identity, columns):
            head = b"R" + struct.pack(">I", oid) + zero(schema) + zero(name) + identity.encode()
            return head + struct.pack(">H", len(columns)) + b"".join(
                bytes([c.key]) + zero(c.name) + struct.pack(">Ii", c.type_oid, c.modifier) for c in columns
            )  # fmt: skip
        case Insert(oid, new):
            return b"I" + struct.pack(">I", oid) + b"N" + row(new)
        case Update(oid, old, whole, new):
            before = b"" if old is None else (b"O" if whole else b"K") + row(old)
            return b"U" + struct.pack(">I", oid) + before + b"N" + row(new)
        case Delete(oid, old, whole):
            return b"D" + struct.pack(">I", oid) + (b"O" if whole else b"K") + row(old)
        case Truncate(oids, cascade, restart):
            return b"T" + struct.pack(">IB", len(oids), cascade | restart << 1) + b"".join(
                struct.pack(">I", oid) for oid in oids
            )  # fmt: skip
        case Emitted(transactional, lsn, prefix, content):
            head = b"M" + bytes([transactional]) + struct.pack(">Q", lsn) + zero(prefix)
            return head + struct.pack(">I", len(content)) + content
        case Origin(lsn, name):
            return b"O" + struct.pack(">Q", lsn) + zero(name)
        case StreamType(oid, schema, name):
            return b"Y" + struct.pack(">I", oid) + zero(schema) + zero(name)


oids = st.integers(0, 2**32 - 1)
lsns = st.integers(0, 2**64 - 1)
micros = st.integers(-(2**63), 2**63 - 1)
names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
values = st.lists(st.one_of(st.none(), st.just(UNCHANGED), names), max_size=5).map(tuple)
columns = st.lists(
    st.builds(StreamColumn, st.booleans(), names, oids, st.integers(-(2**31), 2**31 - 1)),
    max_size=5, unique_by=lambda c: c.name,
).map(tuple)  # fmt: skip
messages = st.one_of(
    st.builds(Begin, lsns, micros, oids),
    st.builds(Commit, lsns, lsns, micros),
    st.builds(StreamTable, oids, names, names, st.sampled_from("dnfi"), columns),
    st.builds(Insert, oids, values),
    st.builds(Update, oids, values, st.booleans(), values),
    st.builds(Update, oids, st.none(), st.just(False), values),
    st.builds(Delete, oids, values, st.booleans()),
    st.builds(Truncate, st.lists(oids, max_size=4).map(tuple), st.booleans(), st.booleans()),
    st.builds(Emitted, st.booleans(), lsns, names, st.binary(max_size=9)),
    st.builds(Origin, lsns, names),
    st.builds(StreamType, oids, names, names),
)


@given(messages)
def test_m1_what_was_encoded_is_read(message: Message) -> None:
    assert decoded(encoded(message)) == message


@given(st.binary(max_size=60))
def test_m1_any_bytes_are_a_message_or_an_error(data: bytes) -> None:
    check(data)


def check(data: bytes) -> bool:
    """Whether the bytes are a message; if so, exactly what they say (M1)."""
    try:
        message = decoded(data)
    except DecodeError:
        return False
    assert encoded(message) == data
    return True


SAMPLES = [
    Begin(2**40, 8 * 10**14, 7000),
    Commit(2**40, 2**40 + 48, 8 * 10**14),
    StreamTable(16400, "public", "orders", "f", (
        StreamColumn(True, "id", 23, -1), StreamColumn(True, "näme", 25, -1),
        StreamColumn(False, "price", 1700, 655366))),
    Insert(16400, ("1", "añ€", None)),
    Update(16400, ("1", "a" * 40, None), True, ("1", UNCHANGED, "2.50")),
    Update(16400, ("1", None, None), False, ("2", "b", None)),
    Update(16400, None, False, ("2", UNCHANGED, None)),
    Delete(16400, ("1", "a", "0.00"), True),
    Truncate((16400, 16401), True, False),
    Emitted(True, 2**40, "prefix", b"\0content"),
    Origin(2**33, "other"),
    StreamType(90000, "public", "mood"),
]  # fmt: skip


def damaged(data: bytes, r: random.Random) -> bytes:
    """The message cut, lengthened, or with bits, bytes and lengths changed."""
    found = bytearray(data)
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        place = r.randrange(len(found) + 1)
        kind = r.randrange(7)
        if kind == 0:
            del found[place:]
        elif kind == 1:
            found[place:place] = bytes(r.randrange(256) for _ in range(r.randint(1, 6)))
        elif kind == 2:
            found += bytes(r.randrange(256) for _ in range(r.randint(1, 6)))
        elif place < len(found):
            if kind == 3:
                found[place] ^= 1 << r.randrange(8)
            elif kind == 4:
                found[place] = r.randrange(256)
            elif kind == 5:
                del found[place : place + r.randint(1, 8)]
            else:
                found[place : place + 4] = struct.pack(">I", r.choice((0, 1, 2**31, 2**32 - 1)))
    return bytes(found)


def fuzz(count: int, seed: int) -> tuple[int, int]:
    r, read, refused = random.Random(seed), 0, 0
    originals = [encoded(m) for m in SAMPLES]
    for number in range(count):
        data = damaged(originals[number % len(originals)], r)
        if check(data):
            read += 1
        else:
            refused += 1
    return read, refused


def test_damaged_messages() -> None:
    read, refused = fuzz(5_000, 1)
    assert refused > read  # most damage is to the structure


@pytest.mark.slow
def test_half_a_million_damaged_messages() -> None:
    read, refused = fuzz(500_000, int(os.environ.get("ROLLVIEW_FAULT_SEED", "2")))
    assert read + refused == 500_000 and refused > read


def stream() -> list[bytes]:
    """Two transactions of one table."""
    table = SAMPLES[2]
    return [encoded(m) for m in (
        Begin(1000, 5, 7), table, Insert(16400, ("1", "a", None)), Commit(1000, 1048, 5),
        Begin(1100, 6, 9), Delete(16400, ("1", "a", None), True), Commit(1100, 1148, 6),
    )]  # fmt: skip


def test_x1_whole_transactions() -> None:
    found = list(events(stream(), next_xid=100))
    assert [type(e).__name__ for e in found] == [
        "Started", "StreamTable", "Insert", "Ended", "Started", "Delete", "Ended",
    ]  # fmt: skip
    assert isinstance(found[3], Ended) and (found[3].xid, found[3].end_lsn) == (7, 1048)
    assert isinstance(found[4], Started) and found[4].xid == 9


@pytest.mark.parametrize("number", range(7))
@pytest.mark.parametrize("how", ["dropped", "twice", "last"])
def test_messages_out_of_place_are_found(number: int, how: str) -> None:
    messages = stream()
    moved = messages.pop(number)
    if how == "twice":
        messages[number:number] = [moved, moved]
    elif how == "last":
        messages.append(moved)
    if (number, how) in {
        (1, "twice"),
        (2, "dropped"),
        (2, "twice"),
        (5, "dropped"),
        (5, "twice"),
        (6, "last"),
    }:
        return  # a table described twice, or a stream that says another thing
    with pytest.raises(DecodeError):
        list(events(messages, next_xid=100))


@pytest.mark.parametrize(
    ("xid", "next_xid", "wide"),
    [
        (7, 100, 7),
        (7, (3 << 32) + 100, (3 << 32) + 7),
        (2**32 - 5, (3 << 32) + 100, (3 << 32) - 5),
        (2**32 - 5, (1 << 32) - 1, 2**32 - 5),
        (102, (3 << 32) + 100, (3 << 32) + 102),  # committed, and still running for snapshots
        (3, (3 << 32) - 2, (3 << 32) + 3),
    ],
)
def test_ids_of_transactions_are_widened(xid: int, next_xid: int, wide: int) -> None:
    assert wide_xid(xid, next_xid) == wide


@settings(max_examples=200)
@given(st.lists(st.sampled_from(range(7)), min_size=1, max_size=12))
def test_any_order_is_a_stream_or_an_error(order: list[int]) -> None:
    messages = stream()
    try:
        found = list(events((messages[k] for k in order), next_xid=100))
    except DecodeError:
        return
    ends = [e.end_lsn for e in found if isinstance(e, Ended)]
    assert ends == sorted(set(ends))
    assert sum(isinstance(e, Started) for e in found) == len(ends)


def test_what_a_server_sends_is_read_to_the_last_byte(database) -> None:
    with psycopg.connect(database(), autocommit=True) as c:
        c.execute("CREATE TYPE mood AS ENUM ('fine')")
        c.execute("CREATE TABLE t (a int PRIMARY KEY, b text, m mood)")
        c.execute("ALTER TABLE t ALTER b SET STORAGE EXTERNAL")
        c.execute("CREATE PUBLICATION p FOR TABLE t")
        c.execute("SELECT pg_create_logical_replication_slot('s', 'pgoutput')")
        c.execute("INSERT INTO t VALUES (1, repeat('x', 5000), 'fine'), (2, NULL, NULL)")
        c.execute("UPDATE t SET m = NULL")
        c.execute("ALTER TABLE t REPLICA IDENTITY FULL")
        c.execute("UPDATE t SET a = a + 10")
        c.execute("SELECT pg_logical_emit_message(true, 'here', 'content')")
        c.execute("DELETE FROM t WHERE a = 11")
        c.execute("TRUNCATE t")
        query = (
            "SELECT data FROM pg_logical_slot_peek_binary_changes('s', NULL, NULL,"
            " 'proto_version', '1', 'publication_names', 'p', 'messages', 'true')"
        )
        found = [data for (data,) in c.execute(query).fetchall()]
        assert {data[:1] for data in found} == {
            b"B",
            b"C",
            b"R",
            b"Y",
            b"I",
            b"U",
            b"D",
            b"T",
            b"M",
        }
        assert all(check(data) for data in found)
        assert sum(UNCHANGED in m.row for m in map(decoded, found) if isinstance(m, Update)) == 2
        assert len([e for e in events(found, 2**31) if isinstance(e, Ended)]) == 6
