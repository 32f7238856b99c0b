"""The Relation contract (P1-P3) for PostgreSQL tables, copied and live, with every kind of value, duplicates and NULLs.

The oracle is what the server showed after each of its transactions, as its own texts.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from rollview.changes import COUNT, STAMP, Csn
from rollview.spark.relations import Relations
from rollview.warehouse import Warehouse

pytest_plugins = ["servers"]
pytestmark = pytest.mark.spark

COLUMNS = {
    "i": "int", "b": "bigint", "n": "numeric(12,3)", "f": "double precision", "t": "text",
    "c": "char(4)", "o": "boolean", "d": "date", "w": "timestamp", "z": "timestamptz", "x": "bytea",
    "u": "uuid", "a": "int[]",
}  # fmt: skip
VALUES = {
    "i": ["1", "-2147483648", "NULL"], "b": ["9223372036854775807", "0", "NULL"],
    "n": ["123456789.125", "-0.001", "NULL"], "f": ["'NaN'", "'-Infinity'", "0.1", "NULL"],
    "t": ["''", "'it''s'", "E'a\\\\tb\\n\"{,}'", "'ünï'", "NULL"], "c": ["'ab'", "''", "NULL"],
    "o": ["true", "false", "NULL"], "d": ["'0001-01-01'", "'2026-11-16'", "NULL"],
    "w": ["'2026-11-16 01:02:03.000004'", "NULL"], "z": ["'2026-03-29 01:30:00+00'", "NULL"],
    "x": ["'\\x00ff'", "''", "NULL"], "u": ["'00000000-0000-0000-0000-00000000000a'", "NULL"],
    "a": ["'{1,NULL,3}'", "'{}'", "NULL"],
}  # fmt: skip


class Table:
    """A table on the server, and every state it went through."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True, options="-ctimezone=UTC")
        self.choose = random.Random(11)
        listed = ", ".join(f"{c} {kind}" for c, kind in COLUMNS.items())
        self.connection.execute(f"CREATE TABLE many (k int, {listed})")
        self.connection.execute("ALTER TABLE many REPLICA IDENTITY FULL")
        for _ in range(12):
            self.change()
        self.states = [self.state()]

    def change(self) -> None:
        key, values = self.choose.randint(1, 4), [self.choose.choice(v) for v in VALUES.values()]
        column = self.choose.choice(list(COLUMNS))
        self.connection.execute(self.choose.choice([
            f"INSERT INTO many VALUES ({key}, {', '.join(values)})",
            f"INSERT INTO many SELECT * FROM many WHERE k = {key} LIMIT 1",
            f"UPDATE many SET {column} = {self.choose.choice(VALUES[column])} WHERE k = {key}",
            f"DELETE FROM many WHERE k = {key} AND i IS NULL",
        ]))  # fmt: skip

    def transact(self) -> None:
        before = self.state()
        while self.state() == before:
            with self.connection.transaction():
                for _ in range(self.choose.randint(1, 3)):
                    self.change()
        self.states.append(self.state())

    def state(self) -> Counter:
        rows = self.connection.execute("SELECT * FROM many").fetchall()
        return Counter(tuple(map(plain, row)) for row in rows)


def plain(value: object) -> object:
    """A value of the server or of Spark, comparable."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return value.rstrip(" ") if len(value) <= 4 else value  # char(4)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, list):
        return tuple(value)
    if hasattr(value, "tzinfo") and value.tzinfo is not None:
        return value.replace(tzinfo=None) - value.utcoffset()
    return str(value) if type(value).__name__ == "UUID" else value


def bag(rows) -> Counter:
    """Collected rows with counts, netted."""
    names = [n for n in rows.columns if n not in (COUNT, STAMP)]
    total: Counter = Counter()
    for row in rows.collect():
        total[tuple(plain(row[n]) for n in names)] += row[COUNT] if COUNT in rows.columns else 1
    assert all(n > 0 for n in total.values() if n) or STAMP in rows.columns
    return Counter({k: n for k, n in total.items() if n})


@pytest.mark.parametrize("mode", ["replica", "live"])
def test_the_contract(database, spark, tmp_path: Path, mode: str) -> None:
    table = Table(database())
    with Warehouse(tmp_path / "wh", spark) as wh:
        wh.add_source("s", postgres=f"{wh_url(table)}", tables=["many"], mode=mode)
        for _ in range(3):
            table.transact()
            table.transact()
            wh.capture()
        table.transact()  # not captured
        relation = Relations(spark, wh.ledger, wh.path)("s.many")
        columns = ["k", *COLUMNS]
        assert (relation.oldest, relation.mark) == (0, 6)
        for time in (0, 2, 5, 6):
            assert bag(relation.at(Csn(time), columns)) == table.states[time], f"P2 at {time}"
            assert bag(relation.exact(Csn(time), columns)) == table.states[time], f"P3 at {time}"
        for lo, hi in ((0, 6), (1, 4), (3, 3)):
            change = bag(relation.changes(Csn(lo), Csn(hi), columns))
            after = Counter(table.states[lo])
            for row, n in change.items():
                after[row] += n
            assert Counter({k: n for k, n in after.items() if n}) == table.states[hi], (
                f"P1 ({lo}, {hi}]"
            )
        assert bag(relation.at(Csn(3), ["t", "k"])) == narrowed(
            table.states[3], columns, ["t", "k"]
        )
    table.connection.close()


def narrowed(state: Counter, columns: list[str], wanted: list[str]) -> Counter:
    total: Counter = Counter()
    for row, n in state.items():
        total[tuple(row[columns.index(c)] for c in wanted)] += n
    return total


def wh_url(table: Table) -> str:
    info = table.connection.info
    return f"postgresql://{info.user}@/{info.dbname}?host={info.host}&port={info.port}"
