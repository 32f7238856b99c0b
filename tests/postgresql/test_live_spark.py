"""Views over live tables on Spark: mixed with a lake, over two databases, beside writers; held to plain recomputes."""

from __future__ import annotations

import random
import threading
from collections import Counter
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest
from decoded import consumed
from psycopg.sql import SQL

from rollview.changes import Csn
from rollview.sources.postgresql import live, probe
from rollview.sources.postgresql.live import TooLong
from rollview.sources.postgresql.ranges import Range
from rollview.spark import live as live_spark
from rollview.spark import probes
from rollview.warehouse import Warehouse

pytest_plugins = ["servers"]
pytestmark = [pytest.mark.spark, pytest.mark.slow]

TABLES = {
    "orders": "id int, customer int, amount numeric(9,2)",
    "customer": "id int, region text, name text",
}
JOINED = """CREATE MATERIALIZED VIEW joined TBLPROPERTIES ('policy' = 'incremental') AS
SELECT o.id, c.name, r.label FROM {a}.orders o JOIN {b}.customer c ON o.customer = c.id
JOIN lake.region r ON c.region = r.code"""
TOTALS = """CREATE MATERIALIZED VIEW totals TBLPROPERTIES ('policy' = 'incremental') AS
SELECT r.label, count(*) AS n, sum(o.amount) AS total FROM {a}.orders o JOIN {b}.customer c
ON o.customer = c.id JOIN lake.region r ON c.region = r.code GROUP BY r.label"""


class Server:
    """One database with both tables, and somebody who writes to it."""

    def __init__(self, url: str, seed: int) -> None:
        self.url, self.choose = url, random.Random(seed)
        self.connection = psycopg.connect(url, autocommit=True)
        for name, columns in TABLES.items():
            self.connection.execute(f"CREATE TABLE {name} ({columns})")
            self.connection.execute(f"ALTER TABLE {name} REPLICA IDENTITY FULL")
            self.connection.execute(f"CREATE INDEX ON {name} (id)")

    def transact(self, connection: psycopg.Connection | None = None) -> None:
        choose = self.choose
        with (connection or self.connection).transaction():
            for _ in range(choose.randint(1, 4)):
                key, customer = choose.randint(1, 40), choose.choice([*range(1, 12), "NULL"])
                (connection or self.connection).execute(choose.choice([
                    f"INSERT INTO orders VALUES ({key}, {customer}, {choose.randint(1, 99)}.25)",
                    f"INSERT INTO orders VALUES ({key}, {customer}, {choose.randint(1, 99)}.25)",
                    f"INSERT INTO customer VALUES ({choose.randint(1, 11)}, '{choose.choice('xyz')}', 'n{key}')",
                    f"UPDATE orders SET amount = amount + 1 WHERE id = {key}",
                    f"UPDATE customer SET region = '{choose.choice('xyz')}' WHERE id = {choose.randint(1, 11)}",
                    f"DELETE FROM orders WHERE id = {key}",
                    f"DELETE FROM customer WHERE id = {choose.randint(1, 11)}",
                ]))  # fmt: skip

    def rows(self, table: str) -> list[tuple]:
        return self.connection.execute(f"SELECT * FROM {table}").fetchall()


@pytest.fixture
def server(database):
    made: list[Server] = []

    def make(seed: int) -> Server:
        made.append(Server(database(), seed))
        return made[-1]

    yield make
    for each in made:
        each.connection.close()


def lake(spark, folder: Path) -> dict[str, str]:
    labels = {"x": "ex", "y": "why"}
    rows = spark.createDataFrame(list(labels.items()), "code string, label string")
    rows.write.format("delta").option("delta.enableChangeDataFeed", "true").save(
        str(folder / "region")
    )
    return labels


def expected(orders, customers, labels) -> tuple[Counter, dict]:
    """Both views by plain Python."""
    joined, totals = Counter(), {}
    for id, customer, amount in orders:
        for key, region, name in customers:
            if customer is not None and customer == key and region in labels:
                joined[id, name, labels[region]] += 1
                n, total = totals.get(labels[region], (0, Decimal(0)))
                totals[labels[region]] = n + 1, total + amount
    return joined, totals


def shown(wh: Warehouse) -> tuple[Counter, dict]:
    joined = Counter(tuple(r) for r in wh.table("joined").collect())
    return joined, {r.label: (r.n, r.total) for r in wh.table("totals").collect()}


def test_a_view_over_two_databases_and_a_lake(server, spark, tmp_path: Path, monkeypatch) -> None:
    names, right = [], probes.bound

    def bound(session, tree, leaves):
        names.extend(leaves)
        return right(session, tree, leaves)

    monkeypatch.setattr(probes, "bound", bound)
    one, two = server(1), server(2)
    labels = lake(spark, tmp_path / "lake")
    for each in (one, two):
        for _ in range(40):
            each.transact()
    with Warehouse(tmp_path / "wh", spark) as wh:
        wh.add_source("lake", delta=tmp_path / "lake")
        wh.add_source("a", postgres=one.url, tables=list(TABLES), mode="live")
        wh.add_source("b", postgres=two.url, tables=list(TABLES), mode="live")
        wh.sql(JOINED.format(a="a", b="b"))
        wh.sql(TOTALS.format(a="a", b="b"))
        assert shown(wh) == expected(one.rows("orders"), two.rows("customer"), labels)
        for number in range(5):
            for each in (one, two) if number % 2 else (two,):
                each.transact()
            if number == 3:
                more = spark.createDataFrame([("z", "zed")], "code string, label string")
                more.write.format("delta").mode("append").save(str(tmp_path / "lake" / "region"))
                labels["z"] = "zed"
            wh.capture()
            wanted = expected(one.rows("orders"), two.rows("customer"), labels)
            for each in (one, two):
                each.transact()  # later than what was captured, and seen by every question
            explanation = wh.explain("joined")
            to = wh.ledger.newest_csn()
            reports = wh.refresh(["joined", "totals"], to=to)
            assert shown(wh) == wanted, number
            # From the lake, database a is reached through b: once more than from the databases themselves.
            most = {"a": 2, "b": 1} if number == 3 else {"a": 1, "b": 1}
            trips = [s.round_trips for s in explanation.steps]
            assert all(each.get(name, 0) <= most[name] for each in trips for name in most)
            for report in reports:
                asked = report.details.get("asked", {})
                for name in asked:
                    assert asked[name]["round_trips"] <= most[name], (number, report)
        assert wh.verify("joined").ok and wh.verify("totals").ok
        assert names and len(names) == len(set(names)), "views of a round are probed side by side"


class History:
    """What a database committed, by a slot of its own that is decoded by hand: an oracle for every captured time."""

    def __init__(self, server: Server) -> None:
        self.server, self.slot = server, f"oracle_{server.connection.info.dbname}"
        server.connection.execute(f"CREATE PUBLICATION oracle FOR TABLE {', '.join(TABLES)}")
        server.connection.execute(
            "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [self.slot]
        )
        self.transactions = []

    def rows(self, wh: Warehouse, source: str, table: str, at: Csn) -> list[tuple]:
        self.transactions += consumed(self.server.connection, self.slot, "oracle")
        known = {c.xid & 0xFFFFFFFF for c in wh.ledger.commits(Csn(0), at, source)}
        bag: Counter = Counter()
        for transaction in (t for t in self.transactions if t.xid in known):
            for (name, row), count in transaction.changes.items():
                if name == table:
                    bag[row] += count
        assert not -bag
        return [_typed(table, row) for row in bag.elements()]


def _typed(table: str, row: tuple) -> tuple:
    number = None if row[1] is None else int(row[1]) if table == "orders" else row[1]
    last = Decimal(row[2]) if table == "orders" else row[2]
    return int(row[0]), number, last


def check_seen(wh: Warehouse, histories: list[History], labels: dict[str, str], seen: dict) -> None:
    """What was shown at each time is what the decoded histories make of it."""
    for at, found in seen.items():
        orders = histories[0].rows(wh, "a", "orders", at)
        customers = histories[1].rows(wh, "b", "customer", at)
        assert found == expected(orders, customers, labels), at


def test_views_beside_writers(server, spark, tmp_path: Path) -> None:
    """Before each refresh the writers may make so many transactions, which they do while it runs."""
    rounds, transactions = 4, 40
    one, two = server(3), server(4)
    labels = lake(spark, tmp_path / "lake")

    def write(each: Server, may: threading.Semaphore) -> None:
        with psycopg.connect(each.url, autocommit=True) as connection:
            for _ in range(rounds * transactions):
                may.acquire()
                each.transact(connection)

    writers = [(threading.Semaphore(0), each) for each in (one, two)]
    threads = [threading.Thread(target=write, args=[each, may]) for may, each in writers]
    histories, seen = [History(each) for each in (one, two)], {}
    with Warehouse(tmp_path / "wh", spark) as wh:
        wh.add_source("lake", delta=tmp_path / "lake")
        wh.add_source("a", postgres=one.url, tables=list(TABLES), mode="live")
        wh.add_source("b", postgres=two.url, tables=list(TABLES), mode="live")
        for thread in threads:
            thread.start()
        try:
            for number in range(rounds):
                for may, _ in writers:
                    may.release(transactions)
                if number == 0:
                    wh.sql(JOINED.format(a="a", b="b"))
                    wh.sql(TOTALS.format(a="a", b="b"))
                wh.refresh(["joined", "totals"])
                seen[wh.status("joined").view_time] = shown(wh)
                for view in ("joined", "totals"):
                    found = wh.verify(view)
                    assert found.ok, found
        finally:
            for may, _ in writers:
                may.release(rounds * transactions)
            for thread in threads:
                thread.join()
        wh.refresh(["joined", "totals"])
        seen[wh.status("joined").view_time] = shown(wh)
        check_seen(wh, histories, labels, seen)
        assert shown(wh) == expected(one.rows("orders"), two.rows("customer"), labels)
        assert len(seen) > 2 and sum(shown(wh)[0].values()) > 10


def test_keys_that_are_shared_out_among_executors(
    server, spark, tmp_path: Path, monkeypatch
) -> None:
    """Very many keys: each executor asks at the moment that is held, patched; twice as long, in shorter pieces."""
    monkeypatch.setattr(probe, "LARGE", 3)
    monkeypatch.setattr(probe, "CHUNK", 2)
    pieces, right = [], probes._Step.by_executors
    one, labels = server(6), lake(spark, tmp_path / "lake")
    turn = threading.Lock()  # both views are probed at the same time

    def by_executors(self, now, query, asked, shared):
        with turn:
            pieces.append(shared)
            one.transact()  # later than the moment: no executor may see it
            if len(pieces) == 2:
                raise live.TooLong("too long")
        return right(self, now, query, asked, shared)

    monkeypatch.setattr(probes._Step, "by_executors", by_executors)
    for _ in range(60):
        one.transact()
    with Warehouse(tmp_path / "wh", spark) as wh:
        wh.add_source("lake", delta=tmp_path / "lake")
        wh.add_source("a", postgres=one.url, tables=list(TABLES), mode="live")
        wh.sql(JOINED.format(a="a", b="a"))
        wh.sql(TOTALS.format(a="a", b="a"))
        one.connection.execute("UPDATE orders SET amount = amount + 1")
        one.connection.execute("UPDATE customer SET name = name || 'x'")
        wh.capture()
        wanted = expected(one.rows("orders"), one.rows("customer"), labels)
        wh.refresh(["joined", "totals"], to=wh.ledger.newest_csn())
        assert shown(wh) == wanted
        assert len(pieces) > 2 and len(pieces[0]) > 1, "the keys of a piece are shared out"
        longest = [max(map(len, piece)) for piece in pieces]
        assert longest[1] == 2 and 1 in longest[2:], "what took too long is asked in shorter pieces"
        assert wh.verify("joined").ok
        assert not list((tmp_path / "wh" / "tables" / "reads").glob("*"))


def test_a_table_that_is_read_by_executors(server, spark, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("rollview.spark.live.SMALL_PAGES", 0)
    one = server(5)
    labels = lake(spark, tmp_path / "lake")
    for _ in range(60):
        one.transact()
    with Warehouse(tmp_path / "wh", spark) as wh:
        wh.add_source("lake", delta=tmp_path / "lake")
        wh.add_source("a", postgres=one.url, tables=list(TABLES), mode="live")
        one.transact()
        wh.capture()
        wanted = expected(one.rows("orders"), one.rows("customer"), labels)
        one.transact()
        wh.sql(JOINED.format(a="a", b="a"))
        wh.sql(TOTALS.format(a="a", b="a"))
        wh.refresh(["joined", "totals"])
        one.transact()
        now = expected(one.rows("orders"), one.rows("customer"), labels)
        wh.refresh(["joined", "totals"])
        assert shown(wh) == now
        assert wanted != now
        assert wh.verify("joined").ok
        assert not list((tmp_path / "wh" / "tables" / "reads").glob("*"))


def bulk(one: Server, key: str) -> psycopg.Connection:
    """A table of 3,000 rows."""
    one.connection.execute(f"CREATE TABLE bulk (id {key} PRIMARY KEY, v text)")
    one.connection.execute("ALTER TABLE bulk REPLICA IDENTITY FULL")
    one.connection.execute("INSERT INTO bulk SELECT i, 'row ' || i FROM generate_series(1, 3000) i")
    return one.connection


def test_e4_a_whole_table_that_takes_too_long_is_read_in_ranges(
    server, spark, tmp_path: Path, monkeypatch
) -> None:
    """Rows change, and move from range to range, between the moments of the ranges: the time asked for is read."""
    one = server(5)
    connection, right, read = bulk(one, "bigint"), live_spark.rows_at, []

    def slow(spark, url, source, table, parts, moment, folder, seconds):
        assert 0 < seconds <= 30
        (keys,) = {part.keys for part in parts}
        inside = keys.condition if keys else SQL("TRUE")
        (rows,) = connection.execute(
            SQL("SELECT count(*) FROM bulk WHERE {}").format(inside)
        ).fetchone()
        if rows > 800:
            raise TooLong("too long", "", "")
        read.append(moment.text)
        rows = right(spark, url, source, table, parts, moment, folder, seconds)
        connection.execute("UPDATE bulk SET id = -id WHERE id %% 50 = %s", [len(read)])
        connection.execute("DELETE FROM bulk WHERE id %% 70 = %s", [len(read)])
        return rows

    monkeypatch.setattr("rollview.spark.live.SMALL_PAGES", 0)
    with Warehouse(tmp_path / "wh", spark) as wh:
        wh.add_source("a", postgres=one.url, tables=["bulk"], mode="live")
        connection.execute("UPDATE bulk SET v = 'other' WHERE id % 3 = 0")
        wh.capture()
        wanted = Counter(connection.execute("SELECT id, v FROM bulk").fetchall())
        connection.execute("UPDATE bulk SET id = id + 2000 * (id % 7) + 100000 WHERE id % 2 = 0")
        monkeypatch.setattr(live_spark, "rows_at", slow)
        found = wh.relations("a.bulk").exact(Csn(1), ["id", "v"])
        assert Counter(map(tuple, found.collect())) == wanted
        assert len(set(read)) == len(read) > 3, "each range at a moment of its own"
        monkeypatch.setattr(Range, "of", lambda _, rows: rows)
        found = wh.relations("a.bulk").exact(Csn(1), ["id", "v"])
        assert Counter(map(tuple, found.collect())) != wanted, (
            "sabotage: ranges patched by all keys"
        )


def test_e4_a_whole_table_that_cannot_be_cut_is_given_up(
    server, spark, tmp_path: Path, monkeypatch
) -> None:
    one = server(5)
    connection = bulk(one, "text")
    connection.execute(
        "INSERT INTO bulk SELECT i, repeat('x', 99) FROM generate_series(9000, 200000) i"
    )
    with Warehouse(tmp_path / "wh", spark) as wh:
        wh.add_source("a", postgres=one.url, tables=["bulk"], mode="live")
        monkeypatch.setattr(live.Reading, "seconds_left", 0.001)
        with pytest.raises(TooLong, match="takes too long to answer") as stopped:
            wh.relations("a.bulk").exact(Csn(0), ["id", "v"])
        assert "--hold" in stopped.value.hint and "statement timeout" in stopped.value.detail
