"""What a slot delivers, decoded by hand: an oracle for the tests that shares no code with the product."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass, field

import psycopg

PEEK = """
SELECT (lsn - '0/0')::bigint, data FROM pg_logical_slot_get_binary_changes(%s, NULL, NULL,
    'proto_version', '1', 'publication_names', %s)"""


@dataclass
class Transaction:
    """A committed transaction: its 32-bit id, where it ends in the WAL, and (table, row) -> count."""

    xid: int
    end_lsn: int = 0
    changes: Counter = field(default_factory=Counter)


def consumed(connection: psycopg.Connection, slot: str, publication: str) -> list[Transaction]:
    """Every transaction that waits in the slot, in commit order; the slot moves past them."""
    tables: dict[int, str] = {}
    found: list[Transaction] = []
    with connection.cursor(binary=True) as cursor:
        for _, data in cursor.execute(PEEK, [slot, publication]).fetchall():
            kind, rest = chr(data[0]), data[1:]
            if kind == "B":
                found.append(Transaction(struct.unpack(">I", rest[16:20])[0]))
            elif kind == "C":
                found[-1].end_lsn = struct.unpack(">Q", rest[9:17])[0]
            elif kind == "R":
                oid, names = struct.unpack(">I", rest[:4])[0], rest[4:].split(b"\0", 2)
                tables[oid] = names[1].decode()
            elif kind in "IUD":
                _change(found[-1], tables, kind, rest)
    return found


def _change(transaction: Transaction, tables: dict[int, str], kind: str, rest: bytes) -> None:
    table, place = tables[struct.unpack(">I", rest[:4])[0]], 4
    while place < len(rest):
        mark = chr(rest[place])
        row, place = _row(rest, place + 1)
        transaction.changes[table, row] += -1 if mark in "OK" else 1
    assert kind != "U" or len(transaction.changes) >= 1


def _row(data: bytes, place: int) -> tuple[tuple[str | None, ...], int]:
    (columns,), place = struct.unpack(">H", data[place : place + 2]), place + 2
    values: list[str | None] = []
    for _ in range(columns):
        mark, place = chr(data[place]), place + 1
        if mark == "n":
            values.append(None)
            continue
        assert mark == "t", f"a value of kind {mark}"
        (length,), place = struct.unpack(">I", data[place : place + 4]), place + 4
        values.append(data[place : place + length].decode())
        place += length
    return tuple(values), place
