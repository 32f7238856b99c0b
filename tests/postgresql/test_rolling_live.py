"""Random steps of a three-table view over live databases, each table at its own pace; every time is checked.

The oracle is plain SQL: what each database showed after each of its transactions, joined by Python.
"""

import random
from collections import Counter
from contextlib import ExitStack

import psycopg
import pytest
from maintained import Maintained

from rollview.calculus.probing import Edge
from rollview.calculus.rolling import high_water_mark
from rollview.changes import Csn
from rollview.sources.postgresql import live, probe
from rollview.warehouse import Warehouse

pytest_plugins = ["servers"]

TABLES = {
    "orders": ("id", "customer", "shop"),
    "customer": ("id", "region"),
    "region": ("code", "shop", "label"),
}
EDGES = [
    Edge(0, 1, (("customer", "id"),)),
    Edge(1, 2, (("region", "code"),)),
    Edge(0, 2, (("shop", "shop"),)),
]
SHOWN = [(0, "id"), (1, "region"), (2, "label")]


class Database:
    """A database with all tables; `states[k]` is what they were after its k-th transaction."""

    def __init__(self, url, choose):
        self.url, self.choose = url, choose
        self.connection = psycopg.connect(url, autocommit=True)
        for name, columns in TABLES.items():
            self.connection.execute(
                f"CREATE TABLE {name} ({', '.join(f'{c} int' for c in columns)})"
            )
            self.connection.execute(f"ALTER TABLE {name} REPLICA IDENTITY FULL")
        self.states = [self.state()]

    def state(self):
        return {
            t: Counter(self.connection.execute(f"SELECT * FROM {t}").fetchall()) for t in TABLES
        }

    def transact(self):
        """One transaction that leaves another state; those that do not are rolled back, and are none."""
        now = before = self.states[-1]
        while now == before:
            with self.connection.transaction():
                for _ in range(self.choose.randint(1, 3)):
                    self.change()
                now = self.state()
                if now == before:
                    raise psycopg.Rollback
        self.states.append(now)

    def change(self):
        name = self.choose.choice(list(TABLES))
        columns, value = TABLES[name], lambda: self.choose.choice(["1", "2", "1", "2", "NULL"])
        row = ", ".join(value() for _ in columns)
        column = self.choose.choice(columns)
        where = f"WHERE {self.choose.choice(columns)} = {self.choose.randint(1, 2)}"
        self.connection.execute(self.choose.choice([
            f"INSERT INTO {name} VALUES ({row})", f"INSERT INTO {name} VALUES ({row}), ({row})",
            f"INSERT INTO {name} VALUES ({row})",
            f"UPDATE {name} SET {column} = {value()} {where}", f"DELETE FROM {name} {where}",
        ]))  # fmt: skip


def joined(orders, customer, region):
    found = Counter()
    for (id, c, shop), n in orders.items():
        for (key, r), m in customer.items():
            for (code, s, label), k in region.items():
                if None not in (c, r, shop) and c == key and r == code and shop == s:
                    found[id, r, label] += n * m * k
    return dict(found)


def expected(wh, databases, sources, at):
    """The view at a CSN, by the states that the databases went through."""
    states = {}
    for name, database in databases.items():
        states[name] = database.states[len(wh.ledger.commits(Csn(0), at, name)) + database.base]
    return joined(*(states[s][t] for s, t in zip(sources, TABLES, strict=True)))


def rolled(database, tmp_path, seed, rounds=8):
    choose = random.Random(seed)
    databases = {f"s{n}": Database(database(), choose) for n in range(choose.choice([1, 2, 3]))}
    for each in databases.values():
        for _ in range(8):
            each.transact()
        each.base = len(each.states) - 1
    sources = [choose.choice(list(databases)) for _ in TABLES]
    with ExitStack() as stack:
        wh = stack.enter_context(Warehouse(tmp_path / f"wh{seed}"))
        for name, each in databases.items():
            stack.callback(each.connection.close)
            wh.add_source(name, postgres=each.url, tables=list(TABLES), mode="live")
        view = Maintained(
            wh, [f"{s}.{t}" for s, t in zip(sources, TABLES, strict=True)], EDGES, SHOWN
        )
        for _ in range(rounds):
            moved(wh, view, databases, choose)
            for at in range(high_water_mark(view.frontier) + 1):
                assert view.view(Csn(at)) == expected(wh, databases, sources, Csn(at)), (seed, at)


def moved(wh, view, databases, choose):
    """Some transactions, perhaps a capture, some more that nobody has captured, and a step of one table."""
    for _ in range(choose.randint(1, 3)):
        choose.choice(list(databases.values())).transact()
    if choose.random() < 0.7:
        wh.capture()
    if choose.random() < 0.6:
        choose.choice(list(databases.values())).transact()
    n, newest = choose.randrange(3), wh.ledger.newest_csn()
    if newest > view.frontier[n]:
        view.step(n, Csn(choose.randint(view.frontier[n] + 1, newest)))


@pytest.mark.parametrize("seed", range(3))
def test_any_steps_give_every_time(database, tmp_path, seed):
    rolled(database, tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_any_steps_give_every_time_again(database, tmp_path, seed, monkeypatch):
    if seed % 3 == 0:
        monkeypatch.setattr(probe, "INLINE", 1)
        monkeypatch.setattr(probe, "CHUNK", 1)
        monkeypatch.setattr(live, "HOLD_SECONDS", 0.0 if seed % 2 else 30.0)
    rolled(database, tmp_path, seed, rounds=15)


def _wrong_sign(monkeypatch):
    original = live.patches
    monkeypatch.setattr(
        live, "patches", lambda *a: {csn: -sign for csn, sign in original(*a).items()}
    )


def _without(name, value):
    return lambda monkeypatch: monkeypatch.setattr(live, name, value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "broken", [_wrong_sign, _without("patches", lambda *_: {}), _without("_tail", lambda *_: {})]
)
def test_sabotage(database, tmp_path, monkeypatch, broken):
    broken(monkeypatch)
    with pytest.raises(AssertionError):
        for seed in range(10):
            rolled(database, tmp_path, seed)
