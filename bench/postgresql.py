"""A live PostgreSQL database: sales (N rows), customer (N / 100), product (N / 1,000), and an aggregate over all three.

A batch of B changes is 80 % inserts, 10 % updates of the amount and 10 % deletes of sales, scattered over the table, as
three transactions; every sale has one customer and one product. rollview (mode live: nothing is copied) against REFRESH
MATERIALIZED VIEW in the server and against a recompute by Spark over JDBC. Also here: how fast a stream is captured.
What rollview costs those who write: writers.py.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

import rollview
from bench import baseline, jdbc, writers
from bench.measure import Runner, Samples, Work
from rollview.sources.postgresql.server import Server

STATES, CATEGORIES = 50, 20
STRIDE = 7_919
"""Prime to every size: multiples of it modulo the size meet every sale once."""
SETTINGS = {
    "shared_buffers": "2GB", "work_mem": "64MB", "maintenance_work_mem": "1GB",
    "max_wal_size": "16GB", "checkpoint_timeout": "1h", "autovacuum": "off",
}  # fmt: skip
"""Enough memory for the server to be at its best, and nothing of its own in the background."""
SQL = """SELECT c.state, p.category, COUNT(*) AS n, SUM(s.amount) AS total
FROM shop.sales s JOIN shop.customer c ON s.cust_id = c.cust_id
JOIN shop.product p ON s.prod_id = p.prod_id GROUP BY c.state, p.category"""
JOINED = 2
"""Relations that a change of sales is joined with."""
LARGE, SMALL, LARGEST = 200_000, 5_000, 1_000_000
"""Changes of a large transaction, small transactions in a row, and changes of a very large transaction."""


@dataclass(frozen=True, slots=True)
class Cell:
    """So many changes in a batch; the recomputes, which do not depend on it, in `others` rounds only."""

    changes: int
    rounds: int = 5
    others: int = 1


STANDARD = (Cell(1_000, 5, 3), Cell(100), Cell(10_000))
QUICK = (Cell(1_000, 3, 2),)


class Shop:
    """The server with its tables, and the changes that are made to them."""

    def __init__(self, server: Server, rows: int) -> None:
        self.rows, self.made, self.inserted = rows, 0, rows
        self.url = server.url()
        self.connection = psycopg.connect(self.url, autocommit=True)
        for statement in self._statements():
            self.connection.execute(statement)

    def _statements(self) -> Iterator[str]:
        yield (
            f"CREATE TABLE sales AS SELECT i AS sale_id, {spread('i', self.customers)} AS cust_id,"
            f" {spread('-i', self.products)} AS prod_id, (i % 100000 * 0.01)::numeric(10,2) AS amount"
            f" FROM generate_series(1::bigint, {self.rows}) i"
        )
        yield (
            f"CREATE TABLE customer AS SELECT i AS cust_id, i % {STATES} AS state, i % 7 AS segment"
            f" FROM generate_series(1, {self.customers}) i"
        )
        yield (
            f"CREATE TABLE product AS SELECT i AS prod_id, i % {CATEGORIES} AS category, i AS price"
            f" FROM generate_series(1, {self.products}) i"
        )
        for table, key in (("sales", "sale_id"), ("customer", "cust_id"), ("product", "prod_id")):
            yield f"ALTER TABLE {table} ADD PRIMARY KEY ({key})"
            yield f"ALTER TABLE {table} REPLICA IDENTITY FULL"
            yield f"VACUUM ANALYZE {table}"

    @property
    def customers(self) -> int:
        """Rows of customer."""
        return max(100, self.rows // 100)

    @property
    def products(self) -> int:
        """Rows of product."""
        return max(100, self.rows // 1_000)

    def change(self, changes: int) -> None:
        """A batch, in three transactions."""
        new, some = changes * 8 // 10, changes // 10
        self.connection.execute(
            f"INSERT INTO sales SELECT i, {spread('i', self.customers)}, {spread('-i', self.products)}, 12.34"
            f" FROM generate_series({self.inserted + 1}::bigint, {self.inserted + new}) i"
        )
        self.inserted += new
        updated, deleted = self._ids(some), self._ids(some)
        self.connection.execute(
            "UPDATE sales SET amount = amount + 1 WHERE sale_id = ANY(%s)", [updated]
        )
        self.connection.execute("DELETE FROM sales WHERE sale_id = ANY(%s)", [deleted])

    def _ids(self, count: int) -> list[int]:
        first, self.made = self.made, self.made + count
        return [k * STRIDE % self.rows + 1 for k in range(first, first + count)]

    def refresh(self) -> None:
        """The server's own view, recomputed by it."""
        self.connection.execute("REFRESH MATERIALIZED VIEW kept")

    def answer(self) -> list[tuple[Any, ...]]:
        """What the server says that the view is now."""
        self.refresh()
        return self.connection.execute("SELECT * FROM kept ORDER BY 1, 2").fetchall()

    def close(self) -> None:
        """Let the connection go."""
        self.connection.close()


def spread(number: str, keys: int) -> str:
    """SQL for a key from 1 to `keys` that looks as if drawn, and is always the same for a number."""
    return f"((hashint8({number}) & 2147483647) % {keys} + 1)"


@contextmanager
def shop(rows: int) -> Iterator[tuple[Server, Shop]]:
    """A server with so many sales."""
    with Server(SETTINGS) as server:
        made = Shop(server, rows)
        try:
            yield server, made
        finally:
            made.close()


def measured(
    runner: Runner, work: Path, rows: int, cells: tuple[Cell, ...], seconds: float
) -> list[dict[str, Any]]:
    """Refreshes, what writers pay, and capture."""
    with shop(rows) as (server, made):
        found = _refreshes(runner, work, server, made, cells)
        found.append(
            {"case": "writers", "rows": rows, **writers.measured(runner.spark, work, made, seconds)}
        )
    return [*found, {"case": "capture", **captured()}]


def _refreshes(
    runner: Runner, work: Path, server: Server, made: Shop, cells: tuple[Cell, ...]
) -> list[dict[str, Any]]:
    password = server.passfile.read_text("utf-8").strip().rpartition(":")[2]
    other = jdbc.Recompute(
        runner.spark, f"jdbc:postgresql://127.0.0.1:{server.port}/postgres", password, SQL
    )
    made.connection.execute("CREATE MATERIALIZED VIEW kept AS " + SQL.replace("shop.", ""))
    ranges = {"sales": ("sale_id", made.rows), "customer": ("cust_id", 0), "product": ("prod_id", 0)}  # fmt: skip
    found = []
    with rollview.open(work / "wh", runner.spark) as wh:
        wh.add_source("shop", postgres=made.url, tables=["sales", "customer", "product"], mode="live")  # fmt: skip
        built = runner.once(lambda: wh.create("kept", SQL, policy="incremental"))
        variants: dict[str, Work] = {
            "refresh": lambda: wh.refresh("kept"),
            "server": made.refresh,
            "jdbc": lambda: other.overwrite(ranges, work / "jdbc"),
        }
        for cell in cells:
            samples = {name: Samples() for name in variants}
            for number in range(1 + cell.rounds):
                made.change(cell.changes)
                some = variants if number <= cell.others else {"refresh": variants["refresh"]}
                for name, run in runner.round(number, some).items():
                    if number:
                        samples[name].runs.append(run)
            _check(runner, wh, made, work, variants)
            found.append({"case": "refresh", "rows": made.rows, "changes": cell.changes,
                          "build_seconds": round(built.seconds, 2), **_asked(samples["refresh"]),
                          **{name: s.summary() for name, s in samples.items()}})  # fmt: skip
    return found


def _check(
    runner: Runner, wh: rollview.Warehouse, made: Shop, work: Path, variants: dict[str, Work]
) -> None:
    """Raise unless all variants show the same rows."""
    variants["jdbc"]()
    want = made.answer()
    rows = {"refresh": wh.table("kept"), "jdbc": baseline.load(runner.spark, work / "jdbc")}
    for name, shown in rows.items():
        if sorted(map(tuple, shown.collect())) != want:
            raise SystemExit(f"{name} does not show what the server shows")


def _asked(samples: Samples) -> dict[str, Any]:
    """Round trips of a step, and rows fetched for each change row and joined relation."""
    details = [run.result.details for run in samples.runs]
    asked = [d["asked"]["shop"] for d in details]
    per_row = [a["rows"] / d["read"] / JOINED for a, d in zip(asked, details, strict=True)]
    return {
        "round_trips": max(a["round_trips"] for a in asked),
        "fetched_per_change": round(statistics.median(per_row), 3),
    }


def captured() -> dict[str, Any]:
    """How fast a stream is decoded and stored, in a process of its own whose memory is looked at."""
    done = subprocess.run([sys.executable, "-m", "bench.postgresql"], check=True, capture_output=True,
                          text=True, cwd=Path(__file__).parents[1])  # fmt: skip
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _capture() -> dict[str, Any]:
    with (
        shop(1_000) as (_, made),
        tempfile.TemporaryDirectory() as folder,
        rollview.open(Path(folder) / "wh") as wh,
    ):
        wh.add_source("shop", postgres=made.url, tables=["sales"], mode="live")

        def rate(count: int, *statements: str) -> float:
            for statement in statements:
                made.connection.execute(statement)
            began = time.perf_counter()
            wh.capture()
            return round(count / (time.perf_counter() - began))

        insert = "INSERT INTO sales SELECT i, 1, 1, i * 0.01 FROM generate_series({}, {}) i"
        told: dict[str, Any] = {
            "insert": rate(LARGE, insert.format(10_001, 10_000 + LARGE)),
            "update": rate(LARGE, f"UPDATE sales SET amount = 1 WHERE sale_id BETWEEN 10001 AND {10_000 + LARGE}"),
            "delete": rate(LARGE, f"DELETE FROM sales WHERE sale_id BETWEEN 10001 AND {10_000 + LARGE}"),
            "small": rate(SMALL, *(f"UPDATE sales SET amount = amount + 1 WHERE sale_id = {k % 1_000 + 1}"
                                   for k in range(SMALL))),
        }  # fmt: skip
        before = _memory()
        told["largest"] = rate(LARGEST, insert.format(1_000_001, 1_000_000 + LARGEST))
        return {**told, "memory_mib": before, "largest_memory_mib": _memory()}


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_capture()) + "\n")
