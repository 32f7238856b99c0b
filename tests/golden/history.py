"""Random histories of tables: rows come, go, change, come back, change nothing; and the smallest one that fails.

A history comes from a seed, so that a failure can be repeated. Values are few, so that rows meet; `hot`: one value
of each pool, its first, holds most rows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from random import Random
from typing import Any

from golden.case import Row, Schema, Transaction

Pools = Mapping[str, tuple[Any, ...]]

POOLS: Pools = {
    "int": (1, 2, 3, 0, None),
    "bigint": (1, 2, 3, 4, None),
    "string": ("a", "b", "", "c", None),
    "double": (0.5, 1.5, -2.25, 4.0, None),
    "decimal(10,2)": (Decimal("1.25"), Decimal("-7.10"), Decimal("0.00"), Decimal("3.33"), None),
    "date": (dt.date(2026, 1, 1), dt.date(2026, 1, 2), dt.date(2026, 2, 1), None),
    "boolean": (True, False, None),
    "array<int>": ([1, 2], [2, 2], [], [None, 3], None),
    "array<string>": (["a", "b"], ["b"], [], None),
}
"""Values by type."""


def history(
    pick: Random,
    tables: Schema,
    length: int,
    pools: Pools = POOLS,
    most: int = 8,
    hot: bool = False,
) -> list[Transaction]:
    """So many transactions over tables that start empty and have about `most` rows; `hot` for sure, or by chance."""
    writer = Writer(pick, tables, pools, most)
    writer.hot |= hot
    first = writer.filling() if pick.random() < 0.7 else writer.transaction()
    return [first, *(writer.transaction() for _ in range(length - 1))]


class Writer:
    """Writes transactions, and knows what is there."""

    def __init__(self, pick: Random, tables: Schema, pools: Pools, most: int) -> None:
        self.pick, self.tables, self.pools, self.most = pick, tables, pools, most
        self.hot = pick.random() < 0.25
        self.present: dict[str, list[Row]] = {name: [] for name in tables}
        self.gone: list[tuple[str, Row]] = []
        self.changes: Transaction = {}

    def filling(self) -> Transaction:
        """Rows for every table."""
        self.changes = {}
        for table in self.tables:
            for _ in range(self.most - 1):
                self._put(table, self._fresh(table))
        return self.changes

    def transaction(self) -> Transaction:
        """One to three things that happen at once."""
        self.changes = {}
        for _ in range(self.pick.randint(1, 3)):
            table = self.pick.choice(list(self.tables))
            verb = self.pick.choice(self._possible(table))
            if verb == "again":  # what was deleted earlier comes back
                self._put(*self.pick.choice(self.gone))
            elif verb in ("insert", "twice", "undone"):
                self._add(table, verb)
            else:
                self._change(table, verb)
        return self.changes

    def _possible(self, table: str) -> list[str]:
        verbs = ["insert"] * 4 + ["twice", "undone"]
        if self.present[table]:
            verbs += ["delete"] * 2 + ["update"] * 2 + ["same", "one value"]
            verbs += ["clear"] if self.pick.random() < 0.2 else []
            verbs += ["delete"] * 6 if len(self.present[table]) > self.most else []
        return verbs + (["again"] if self.gone else [])

    def _add(self, table: str, verb: str) -> None:
        row = self._fresh(table)
        self._put(table, row, 2 if verb == "twice" else 1)
        if verb == "undone":  # by its own transaction
            self._take(table, row)

    def _change(self, table: str, verb: str) -> None:
        old, fresh = self.pick.choice(self.present[table]), self._fresh(table)
        k = self.pick.randrange(len(old))
        for row in list(self.present[table]) if verb == "clear" else [old]:
            self._take(table, row)
        match verb:
            case "update":
                self._put(table, fresh)
            case "one value":
                self._put(table, (*old[:k], fresh[k], *old[k + 1 :]))
            case "same":  # an update that changes nothing
                self._put(table, old)

    def _fresh(self, table: str) -> Row:
        """A row of few values; of the pools' first ones where they are hot."""
        return tuple(
            self.pools[kind][0]
            if self.hot and self.pick.random() < 0.8
            else self.pick.choice(self.pools[kind])
            for _, kind in self.tables[table]
        )

    def _put(self, table: str, row: Row, copies: int = 1) -> None:
        self.present[table] += [row] * copies
        self.changes.setdefault(table, []).append((copies, row))

    def _take(self, table: str, row: Row) -> None:
        self.present[table].remove(row)
        self.gone.append((table, row))
        self.changes.setdefault(table, []).append((-1, row))


def smallest(
    commits: list[Transaction], fails: Callable[[list[Transaction]], bool]
) -> list[Transaction]:
    """A short history that still fails: transactions, then single changes are left out, while they can be."""
    shrunk = True
    while shrunk:
        shrunk = False
        for k in range(len(commits)):
            for shorter in _shorter(commits, k):
                if _possible(shorter) and fails(shorter):
                    commits, shrunk = shorter, True
                    break
            if shrunk:
                break
    return commits


def _shorter(commits: list[Transaction], k: int) -> Iterable[list[Transaction]]:
    yield commits[:k] + commits[k + 1 :]
    for table, counted in commits[k].items():
        for n in range(len(counted)):
            fewer = {**commits[k], table: counted[:n] + counted[n + 1 :]}
            yield [*commits[:k], fewer, *commits[k + 1 :]]


def _possible(commits: Iterable[Transaction]) -> bool:
    """Nothing is deleted that is not there."""
    present: list[tuple[str, Row]] = []
    for changes in commits:
        for table, counted in changes.items():
            for count, row in counted:
                for _ in range(abs(count)):
                    if count > 0:
                        present.append((table, row))
                    elif (table, row) in present:
                        present.remove((table, row))
                    else:
                        return False
    return True
