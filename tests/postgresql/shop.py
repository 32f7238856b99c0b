"""Random transactions on a real server, with every state they lead through; and what capture made of them.

The states are read from the server by plain SQL right after each commit: nothing of the product is used.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet

from rollview.warehouse import Warehouse

Bag = Counter[tuple[Any, ...]]
TABLES = (
    "CREATE TABLE orders (id int PRIMARY KEY, cust int, price numeric(10,2), note text)",
    "CREATE TABLE cust (cust int, name text)",  # duplicates are possible
    "ALTER TABLE orders REPLICA IDENTITY FULL",
    "ALTER TABLE cust REPLICA IDENTITY FULL",
    "INSERT INTO orders SELECT i, i % 5, i * 1.5, repeat('x', i) FROM generate_series(1, 20) i",
    "INSERT INTO cust SELECT i % 4, 'c' || i % 3 FROM generate_series(1, 9) i",
)
NAMES = ("orders", "cust")


class Shop:
    """One writer and what it did: `states[k]` is what the tables were after k transactions."""

    def __init__(self, url: str, seed: int = 1) -> None:
        self.url, self.random = url, random.Random(seed)
        self.connection = psycopg.connect(url, autocommit=True)
        self.states: list[dict[str, Bag]] = []

    def __enter__(self) -> Shop:
        for statement in TABLES:
            self.connection.execute(statement)
        self.states.append(self.state())
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def state(self) -> dict[str, Bag]:
        """The tables now."""
        return {
            name: Counter(self.connection.execute(f"SELECT * FROM {name}").fetchall())
            for name in NAMES
        }

    def transact(self, statements: list[str] | None = None) -> None:
        """One transaction that leaves another state; those that do not are rolled back, and are none."""
        now = before = self.states[-1]
        while now == before:
            with self.connection.transaction():
                for statement in statements or self.statements():
                    self.connection.execute(statement)
                now = self.state()
                if now == before:
                    assert statements is None, "it changed nothing"
                    raise psycopg.Rollback
        self.states.append(now)

    def statements(self) -> list[str]:
        """A few random changes, some of them rolled back to a savepoint."""
        r = self.random
        chosen = []
        for _ in range(r.randint(1, 4)):
            a, b = r.randint(1, 40), r.randint(0, 5)
            chosen.append(
                r.choice([
                    f"INSERT INTO orders VALUES ({a}, {b}, {a}.5, NULL) ON CONFLICT DO NOTHING",
                    f"UPDATE orders SET price = price + 1, cust = {b} WHERE id % 5 = {b}",
                    f"UPDATE orders SET id = id + 100 WHERE id = {a}"
                    f" AND NOT EXISTS (SELECT FROM orders WHERE id = {a + 100})",
                    f"DELETE FROM orders WHERE id = {a}",
                    f"INSERT INTO cust VALUES ({b}, 'n{b}'), ({b}, 'n{b}')",
                    f"UPDATE cust SET name = 'u' || {b} WHERE cust = {b}",
                    f"DELETE FROM cust WHERE ctid IN (SELECT ctid FROM cust WHERE cust = {b} LIMIT 1)",
                ])
            )  # fmt: skip
        if r.random() < 0.3:
            undone = ["SAVEPOINT s", "DELETE FROM orders", "INSERT INTO cust VALUES (9, NULL)"]
            chosen[1:1] = [*undone, "ROLLBACK TO s"]
        return chosen


def logged(wh: Warehouse, table: str) -> dict[int, Bag]:
    """A table's log by stamp, with the counts of its rows; zeros dropped."""
    found: dict[int, Bag] = {}
    for step in wh.ledger.steps(table):
        for file in (wh.path / step.folder).glob("*.parquet"):
            for row in pyarrow.parquet.read_table(file).to_pylist():
                stamp, count = row.pop("_rv_stamp"), row.pop("_rv_count")
                found.setdefault(stamp, Counter())[tuple(row.values())] += count
    return {s: Counter({r: n for r, n in bag.items() if n}) for s, bag in sorted(found.items())}


def check_captured(wh: Warehouse, shop: Shop, source: str = "shop", base: int = 0) -> None:
    """Each captured transaction leads from one state to the next, and all were captured; none twice.

    `base`: the state that the source was registered in.
    """
    logs = {name: logged(wh, f"{source}.{name}") for name in NAMES}
    commits = wh.ledger.commits(0, wh.ledger.newest_csn(), source)
    assert [c.position for c in commits] == sorted({c.position for c in commits})
    assert {csn for log in logs.values() for csn in log} <= {c.csn for c in commits}
    # One that undoes itself is captured, and leads nowhere.
    commits = [c for c in commits if any(log.get(c.csn) for log in logs.values())]
    assert len(commits) == len(shop.states) - 1 - base
    for name, log in logs.items():
        state = Counter(shop.states[base][name])
        for commit, wanted in zip(commits, shop.states[base + 1 :], strict=True):
            state.update(log.get(commit.csn, Counter()))
            assert not -state, f"{name} at {commit.csn}"
            assert +state == wanted[name], f"{name} at {commit.csn}"


def unnamed(wh: Warehouse) -> list[str]:
    """Files below tables/ that the ledger does not name."""
    named = set()
    for relation in wh.ledger.relations():
        block = wh.ledger.block(relation.name)
        if block is not None:
            named |= {step.folder for step in wh.ledger.steps(block.name)}
            named.add(f"{block.folder}/folded")
    files = (p.relative_to(wh.path) for p in Path(wh.path / "tables").rglob("*") if p.is_file())
    return sorted(str(f) for f in files if not named & {str(parent) for parent in f.parents})
