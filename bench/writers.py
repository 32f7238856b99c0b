"""What rollview costs those who write to a live database: throughput and latency of clients, with and without it.

Two clients, in processes of their own, run short transactions like pgbench's one after the other: an update, a lookup
and an insert of sales by key. Meanwhile nothing else runs, or rollview captures and refreshes the view without a pause,
on the same two cores. Both alternate.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import psycopg
from pyspark.sql import SparkSession

import rollview

if TYPE_CHECKING:
    from bench.postgresql import Shop

CLIENTS, ROUNDS = 2, 3
NEW_IDS = 10**12
"""From here on clients insert, each in a range of its own."""


def measured(spark: SparkSession, work: Path, made: Shop, seconds: float) -> dict[str, Any]:
    """Transactions a second of all clients, and the 99th percentile of their latency, alone and beside rollview."""
    told: dict[str, list[tuple[float, float]]] = {"alone": [], "beside": []}
    refreshes = 0
    with rollview.open(work / "wh", spark) as wh:
        for number in range(ROUNDS):
            told["alone"].append(_ended(_started(made, seconds, 2 * number), seconds))
            clients = _started(made, seconds, 2 * number + 1)
            while any(client.process.poll() is None for client in clients):
                wh.refresh("kept")
                refreshes += 1
            told["beside"].append(_ended(clients, seconds))
            wh.refresh("kept")
        if sorted(map(tuple, wh.table("kept").collect())) != made.answer():
            raise SystemExit("the view is wrong after the writers")
    return {
        "seconds": seconds, "refreshes": refreshes,
        **{name: {"per_second": round(statistics.median(t for t, _ in runs)),
                  "p99_ms": round(statistics.median(p for _, p in runs), 2)}
           for name, runs in told.items()},
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Client:
    """A process that writes, and the file that its latencies go to: a pipe would be full before anybody reads it."""

    process: subprocess.Popen[bytes]
    told: IO[str]


def _started(made: Shop, seconds: float, turn: int) -> list[Client]:
    clients = []
    for client in range(CLIENTS):
        told = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed when the client has ended)
        clients.append(Client(subprocess.Popen(
            [sys.executable, "-m", "bench.writers", made.url, str(seconds), str(made.rows),
             str(turn * CLIENTS + client)], stdout=told, cwd=Path(__file__).parents[1]), told))  # fmt: skip
    return clients


def _ended(clients: list[Client], seconds: float) -> tuple[float, float]:
    latencies: list[float] = []
    for client in clients:
        if client.process.wait():
            raise SystemExit("a client that writes has failed")
        with client.told as told:
            told.seek(0)
            latencies += json.load(told)
    ordered = sorted(latencies)
    return len(ordered) / seconds, ordered[len(ordered) * 99 // 100] * 1000


def write(url: str, seconds: float, rows: int, client: int) -> list[float]:
    """Transactions for so long; the seconds that each took."""
    choose, new, latencies = random.Random(client), NEW_IDS + client * 10**9, list[float]()
    with psycopg.connect(url, autocommit=True) as connection:
        until = time.perf_counter() + seconds
        while (began := time.perf_counter()) < until:
            new += 1
            with connection.transaction():
                connection.execute("UPDATE sales SET amount = amount + 1 WHERE sale_id = %s",
                                   [choose.randint(1, rows)])  # fmt: skip
                connection.execute("SELECT amount FROM sales WHERE sale_id = %s",
                                   [choose.randint(1, rows)])  # fmt: skip
                connection.execute("INSERT INTO sales VALUES (%s, 1, 1, 9.99)", [new])
            latencies.append(time.perf_counter() - began)
    return latencies


if __name__ == "__main__":
    _, where, how_long, how_many, number = sys.argv
    sys.stdout.write(json.dumps(write(where, float(how_long), int(how_many), int(number))))
