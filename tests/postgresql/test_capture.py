"""Capture from a real server, without Spark: whole transactions, in commit order, exactly once."""

from __future__ import annotations

import resource
import shutil
import signal
import subprocess
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import psycopg
import pytest
from shop import Shop, check_captured, logged

from rollview.changes import Csn
from rollview.errors import ChangesLost, ConfigError, SchemaChanged, SourceError, Unreachable
from rollview.sources.postgresql import capture as capturing
from rollview.sources.postgresql import slot
from rollview.sources.postgresql.live import reading
from rollview.sources.postgresql.server import Server
from rollview.warehouse import Warehouse

pytest_plugins = ["servers"]


def stopped(wh: Warehouse) -> SourceError:
    """The one problem that stops the source; nothing was captured."""
    before = wh.ledger.newest_csn()
    report = wh.capture()
    assert report.csn == before and len(report.problems) == 1
    assert all(r.stopped == str(report.problems[0]) for r in wh.ledger.relations("shop"))
    return report.problems[0]


def test_what_the_timeline_knows(shop, wh) -> None:
    (xid,) = shop.connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()
    shop.transact(["INSERT INTO orders VALUES (100, 1, 1.50, 'c')"])
    shop.transact(["UPDATE orders SET price = 2 WHERE id = 100", "DELETE FROM cust"])
    report = wh.capture()
    assert (report.csn, report.commits, report.problems) == (2, 2, ())
    one, two = wh.ledger.commits(0, 2)
    assert xid < one.xid < two.xid and one.position < two.position
    assert one.committed_at < two.committed_at
    assert logged(wh, "shop.orders") == {
        1: Counter({(100, 1, Decimal("1.50"), "c"): 1}),
        2: Counter({(100, 1, Decimal("2.00"), "c"): 1, (100, 1, Decimal("1.50"), "c"): -1}),
    }
    changes = wh.ledger.changes_of("shop.cust", 0, 2)
    assert [(c.csn, c.inserted, c.deleted) for c in changes] == [(2, 0, 9)]
    stream = wh.ledger.stream("shop")
    assert wh.capture().commits == 0
    assert wh.ledger.stream("shop") == stream  # nothing new, nothing written


def test_a_writer_that_a_new_slot_waits_for_is_named(shop, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(slot.created.__wrapped__, "__defaults__", (False, 0.5))
    with psycopg.connect(shop.url) as writer, Warehouse(tmp_path / "wh") as wh:
        writer.execute("INSERT INTO orders VALUES (600, 1, 1, NULL)")
        with pytest.raises(SourceError, match="cannot be made") as raised:
            wh.add_source("shop", postgres=shop.url, mode="live")
        assert f"pid {writer.info.backend_pid}, rv: idle in transaction" in raised.value.detail
        assert f"pg_terminate_backend({writer.info.backend_pid})" in raised.value.hint
        query = "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()"
        assert shop.connection.execute(query).fetchone() == (0,)
        writer.rollback()
        wh.add_source("shop", postgres=shop.url, mode="live")


def test_tables_that_join_later(shop, tmp_path) -> None:
    with Warehouse(tmp_path / "wh") as wh:
        wh.add_source("shop", postgres=shop.url, tables=["orders"], mode="live")
        shop.transact(["INSERT INTO cust VALUES (5, 'before')", "DELETE FROM orders WHERE id = 1"])
        shop.transact(["INSERT INTO orders VALUES (300, 1, 1, NULL)"])
        report = wh.add_source("shop", postgres=shop.url, tables=["orders", "cust"])
        assert report.added == ("shop.cust",) and report.tables == ("shop.cust", "shop.orders")
        assert wh.ledger.newest_csn() == 2
        assert wh.ledger.relation("shop.cust").base_csn == 2
        shop.transact(["INSERT INTO cust VALUES (6, 'after')", "DELETE FROM orders WHERE id = 2"])
        assert wh.capture().problems == ()
        assert logged(wh, "shop.cust") == {3: Counter({(6, "after"): 1})}
        assert len(logged(wh, "shop.orders")) == 3
        assert wh.add_source("shop", postgres=shop.url).added == ()
        with pytest.raises(ConfigError, match="another database"):
            wh.add_source("shop", postgres=shop.url + "&application_name=x")


def test_sources_with_long_names_have_slots_of_their_own(shop, tmp_path) -> None:
    names = ["s" * 62 + end for end in "ab"]
    with Warehouse(tmp_path / "wh") as wh:
        for name in names:
            wh.add_source(name, postgres=shop.url, mode="live")
        shop.transact()
        report = wh.capture()
        assert report.problems == () and report.commits == 2
        wh.drop_source(names[0])
        shop.transact()
        assert wh.capture().problems == ()


@pytest.mark.parametrize("seed", range(3))
def test_random_transactions(shop, wh, seed) -> None:
    shop.random.seed(seed)
    for _ in range(6):
        for _ in range(shop.random.randint(1, 6)):
            shop.transact()
        wh.capture()
    check_captured(wh, shop)


def test_a_prepared_transaction_counts_when_it_commits(shop, wh) -> None:
    with psycopg.connect(shop.url, autocommit=True) as other:
        other.execute("BEGIN")
        other.execute("INSERT INTO orders VALUES (500, 1, 1, NULL)")
        other.execute("PREPARE TRANSACTION 'p'")
        shop.transact()
        assert wh.capture().commits == 1
        other.execute("COMMIT PREPARED 'p'")
        shop.states.append(shop.state())
        shop.transact()
        assert wh.capture().commits == 2
    check_captured(wh, shop)


def test_a_transaction_that_commits_late(shop, wh) -> None:
    with psycopg.connect(shop.url) as other:
        other.execute("INSERT INTO orders VALUES (500, 1, 1, NULL)")
        shop.transact()
        wh.capture()
        shop.transact()
        other.commit()
    shop.states.append(shop.state())
    wh.capture()
    check_captured(wh, shop)


def test_a_large_value_that_did_not_change(shop, wh) -> None:
    shop.connection.execute("ALTER TABLE orders ALTER note SET STORAGE EXTERNAL")
    shop.transact(["INSERT INTO orders VALUES (700, 1, 1, repeat('y', 100000))"])
    shop.transact(["UPDATE orders SET price = 9 WHERE id = 700"])
    wh.capture()
    check_captured(wh, shop)


def test_partitions_are_captured_as_their_root(database, tmp_path) -> None:
    url = database()
    with psycopg.connect(url, autocommit=True) as c, Warehouse(tmp_path / "wh") as wh:
        c.execute("CREATE TABLE m (k int, v text) PARTITION BY RANGE (k)")
        c.execute("CREATE TABLE m1 PARTITION OF m FOR VALUES FROM (0) TO (10)")
        c.execute("CREATE TABLE m2 (v text, extra int, k int)")
        c.execute("ALTER TABLE m2 DROP COLUMN extra")
        c.execute("ALTER TABLE m ATTACH PARTITION m2 FOR VALUES FROM (10) TO (20)")
        for leaf in ("m1", "m2"):
            c.execute(f"ALTER TABLE {leaf} REPLICA IDENTITY FULL")
        wh.add_source("shop", postgres=url, tables=["public.m"], mode="live")
        c.execute("INSERT INTO m VALUES (1, 'a'), (11, 'b')")
        c.execute("UPDATE m SET k = k + 10 WHERE k = 1")
        wh.capture()
        assert logged(wh, "shop.m") == {
            1: Counter({(1, "a"): 1, (11, "b"): 1}),
            2: Counter({(1, "a"): -1, (11, "a"): 1}),
        }
        c.execute("ALTER TABLE m DETACH PARTITION m2")
        problem = stopped(wh)
        assert isinstance(problem, ChangesLost) and "detached" in problem.detail


def test_a_transaction_that_takes_many_batches(shop, wh, monkeypatch) -> None:
    monkeypatch.setattr(capturing, "BATCH", 50)
    for _ in range(30):
        shop.transact()
    shop.transact(["INSERT INTO orders SELECT i, 1, 1, NULL FROM generate_series(1000, 1500) i"])
    for _ in range(5):
        shop.transact()
    wh.capture()
    check_captured(wh, shop)
    assert len(wh.ledger.steps("shop.orders")) > 3


@pytest.mark.slow
def test_a_million_rows_in_bounded_memory(shop, wh) -> None:
    shop.connection.execute(
        "INSERT INTO orders SELECT i, i % 9, i * 0.5, 'row ' || i FROM generate_series(1000, 1000999) i"
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wh.capture()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    (step,) = wh.ledger.steps("shop.orders")
    assert step.rows == 1_000_000 and step.lo == step.hi == 1
    assert grown < 300_000, f"{grown} KiB"


@pytest.mark.slow
def test_many_small_transactions(shop, wh) -> None:
    for number in range(6_000):
        shop.connection.execute(
            "UPDATE orders SET price = price + 1 WHERE id = %s", [number % 20 + 1]
        )
    assert wh.capture().commits == 6_000
    assert len(wh.ledger.commits(Csn(0), Csn(9_999))) == 6_000


def test_redelivery_after_a_crash_of_the_server(tmp_path) -> None:
    with Server() as server, Shop(server.url()) as shop, Warehouse(tmp_path / "wh") as wh:
        wh.add_source("shop", postgres=shop.url, mode="live")
        for _ in range(5):
            shop.transact()
        wh.capture()
        server.stop(signal.SIGQUIT)
        problem = stopped(wh)
        assert isinstance(problem, Unreachable)
        server.start()
        shop.connection.close()
        shop.connection = psycopg.connect(shop.url, autocommit=True)
        for _ in range(3):
            shop.transact()
        assert wh.capture().problems == ()
        check_captured(wh, shop)
        assert all(r.stopped is None for r in wh.ledger.relations("shop"))


def restored(server: Server, shop: Shop, base_backup: bool) -> None:
    """Put `saved` back; a base backup has no slots, and opens a new timeline."""
    server.stop()
    data, saved = server.folder / "data", server.folder / "saved"
    shutil.rmtree(data)
    saved.rename(data)
    if base_backup:
        for slot in (data / "pg_replslot").iterdir():
            shutil.rmtree(slot)
        (data / "recovery.signal").touch()
        with (data / "postgresql.auto.conf").open("a") as settings:
            settings.write("restore_command = 'false'\n")
    server.start()
    shop.connection.close()
    shop.connection = psycopg.connect(shop.url, autocommit=True)
    while shop.connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):
        pass


@pytest.mark.parametrize("how", ["as it was", "written to", "base backup"])
def test_a_server_restored_from_a_backup(tmp_path, how) -> None:
    with Server() as server, Shop(server.url()) as shop, Warehouse(tmp_path / "wh") as wh:
        wh.add_source("shop", postgres=shop.url, mode="live")
        shop.transact()
        wh.capture()
        server.stop()
        subprocess.run(["cp", "-a", server.folder / "data", server.folder / "saved"], check=True)
        server.start()
        shop.connection.close()
        shop.connection = psycopg.connect(shop.url, autocommit=True)
        for _ in range(3):
            shop.transact()
        wh.capture()
        restored(server, shop, how == "base backup")
        if how != "as it was":  # its WAL goes past the captured position, with another history
            shop.connection.execute("CREATE TABLE noise AS SELECT generate_series(1, 10000)")
            shop.connection.execute("INSERT INTO orders VALUES (888, 1, 1, NULL)")
        with (
            pytest.raises(ChangesLost, match="restored from a backup"),
            reading(wh.ledger, wh.path, "shop", ["shop.orders"]),
        ):
            pass
        problem = stopped(wh)
        assert isinstance(problem, ChangesLost) and "restored from a backup" in problem.detail
        assert ("not the one that was registered" in problem.detail) == (how == "base backup")
        assert str(stopped(wh)) == str(problem), "a restored server stays what it is"
        newest = wh.ledger.newest_csn()
        wh.resync("shop")
        shop.states.append(shop.state())
        shop.transact()
        assert wh.capture().problems == ()
        found = wh.ledger.commits(newest, wh.ledger.newest_csn())
        assert [c.operation for c in found] == ["RESYNC", "TRANSACTION"]


def test_a_standby_and_a_failover(tmp_path) -> None:
    """A server that only follows another one is not captured from; once it has taken over, it is another one."""
    with Server() as server, Shop(server.url()) as shop, Warehouse(tmp_path / "wh") as wh:
        wh.add_source("shop", postgres=shop.url, mode="live")
        shop.transact()
        wh.capture()
        server.stop()
        (server.folder / "data" / "standby.signal").touch()
        server.start()
        problem = stopped(wh)
        assert isinstance(problem, Unreachable) and "standby" in problem.detail
        with psycopg.connect(shop.url, autocommit=True) as owner:
            owner.execute("SELECT pg_promote()")
        problem = stopped(wh)
        assert isinstance(problem, ChangesLost) and "another one has taken over" in problem.detail


def test_another_server_in_its_place(tmp_path) -> None:
    with (
        Server() as one,
        Server() as two,
        Shop(one.url()) as shop,
        Shop(two.url()) as other,
        Warehouse(tmp_path / "wh") as wh,
    ):
        wh.add_source("shop", postgres=shop.url, mode="live")
        row = wh.ledger.source("shop")
        with wh.ledger.atomic():
            stream, relations = wh.ledger.stream("shop"), wh.ledger.relations("shop")
            blocks = [wh.ledger.block(r.name) for r in relations]
            wh.ledger.drop_source("shop")
            wh.ledger.add_source(replace(row, config={**row.config, "postgres": other.url}))
            wh.ledger.put_stream(stream)
            for relation, block in zip(relations, blocks, strict=True):
                wh.ledger.put_relation(relation)
                wh.ledger.add_block(block)
        assert "not the one that was registered" in stopped(wh).detail


def test_an_idle_database_lets_the_server_forget(shop, wh, database, postgres) -> None:
    with psycopg.connect(database(), autocommit=True) as busy:
        busy.execute("CREATE TABLE noise (t text)")
        busy.execute("INSERT INTO noise SELECT repeat('x', 1000) FROM generate_series(1, 5000)")
    before = wh.ledger.stream("shop").position
    assert wh.capture().commits == 0
    assert wh.ledger.stream("shop").position > before + capturing.HEARTBEAT
    query = "SELECT (confirmed_flush_lsn - '0/0')::bigint FROM pg_replication_slots WHERE database = current_database()"
    assert shop.connection.execute(query).fetchone()[0] == wh.ledger.stream("shop").position
    shop.transact()
    wh.capture()
    check_captured(wh, shop)


def test_the_texts_do_not_depend_on_what_a_role_has_set(shop, wh) -> None:
    (name,) = shop.connection.execute("SELECT current_database()").fetchone()
    for setting in ("TimeZone = 'Asia/Tokyo'", "DateStyle = 'German'", "bytea_output = 'escape'",
                    "extra_float_digits = -15", "IntervalStyle = 'sql_standard'"):  # fmt: skip
        shop.connection.execute(f'ALTER DATABASE "{name}" SET {setting}')
    c = shop.connection
    c.execute("CREATE TABLE odd (t timestamptz, d date, b bytea, f float8, i interval)")
    c.execute("ALTER TABLE odd REPLICA IDENTITY FULL")
    wh.drop_source("shop")
    wh.add_source("shop", postgres=shop.url, tables=["odd"], mode="live")
    c.execute(
        "INSERT INTO odd VALUES ('2020-01-01 00:00+00', '2020-02-03', '\\x0001', 0.1, '1 day 2 hours')"
    )
    wh.capture()
    ((row, count),) = logged(wh, "shop.odd")[1].items()
    assert (count, row[0].isoformat(), row[1].isoformat()) == (
        1, "2020-01-01T00:00:00+00:00", "2020-02-03",
    )  # fmt: skip
    assert row[2:] == (b"\0\1", 0.1, "P1DT2H")


# What the stream does not say: the source stops at its last good point, and says what happened.


def test_a_rewrite_stops_the_source(shop, wh) -> None:
    shop.transact()
    wh.capture()
    shop.transact()
    shop.connection.execute(
        "ALTER TABLE orders ALTER COLUMN price TYPE numeric(12,3) USING price * 2"
    )
    problem = stopped(wh)
    assert isinstance(problem, ChangesLost) and 'column "price"' in problem.detail
    assert "rollview source resync shop" in problem.hint


def test_a_volatile_default_stops_the_source(shop, wh) -> None:
    shop.connection.execute("ALTER TABLE orders ADD COLUMN r float8 DEFAULT random()")
    assert "was rewritten" in stopped(wh).detail


def test_i3_a_column_that_is_added_in_place_stops_nothing(shop, wh) -> None:
    shop.transact()
    shop.connection.execute(
        "ALTER TABLE orders ADD COLUMN seven int DEFAULT 7, ADD COLUMN none text"
    )
    shop.connection.execute("UPDATE orders SET none = 'x'")
    shop.connection.execute("INSERT INTO orders VALUES (990, 1, 1, 'n', 8, 'y')")
    assert wh.capture().problems == ()
    assert logged(wh, "shop.orders")[wh.ledger.newest_csn()] == {(990, 1, Decimal("1.00"), "n"): 1}
    assert [c for c, _ in wh.ledger.relation("shop.orders").columns] == [
        "id",
        "cust",
        "price",
        "note",
    ]


@pytest.mark.parametrize("way", ["made", "made and filled", "attached"])
def test_i3_a_partition_that_is_made_stops_nothing(database, tmp_path, way) -> None:
    url = database()
    with psycopg.connect(url, autocommit=True) as c, Warehouse(tmp_path / "wh") as wh:
        c.execute("CREATE TABLE m (k int, v text) PARTITION BY RANGE (k)")
        c.execute("CREATE TABLE m1 PARTITION OF m FOR VALUES FROM (0) TO (10)")
        c.execute("ALTER TABLE m1 REPLICA IDENTITY FULL")
        wh.add_source("shop", postgres=url, tables=["public.m"], mode="live")
        with c.transaction():
            if way == "made":
                c.execute("CREATE TABLE m2 PARTITION OF m FOR VALUES FROM (10) TO (20)")
            else:
                c.execute("CREATE TABLE m2 (k int, v text)")
                if way == "made and filled":
                    c.execute("INSERT INTO m2 VALUES (11, 'unseen')")
                else:
                    c.execute("COMMIT")
                    c.execute("BEGIN")
                c.execute("ALTER TABLE m ATTACH PARTITION m2 FOR VALUES FROM (10) TO (20)")
            c.execute("ALTER TABLE m2 REPLICA IDENTITY FULL")
        c.execute("INSERT INTO m VALUES (12, 'seen')")
        if way == "made":
            assert wh.capture().problems == ()
            c.execute("UPDATE m SET v = 'again'")
            assert wh.capture().problems == ()
            assert logged(wh, "shop.m") == {
                1: Counter({(12, "seen"): 1}),
                2: Counter({(12, "seen"): -1, (12, "again"): 1}),
            }
        else:
            assert "attached" in stopped(wh).detail


def test_rewritten_storage_stops_the_source(shop, wh) -> None:
    shop.connection.execute("VACUUM FULL orders")
    assert "was rewritten" in stopped(wh).detail


@pytest.mark.parametrize("statement", [
    "ALTER TABLE orders RENAME COLUMN note TO remark", "ALTER TABLE orders DROP COLUMN note",
    "DROP TABLE cust", "ALTER TABLE cust RENAME TO customers",
    "ALTER TABLE cust REPLICA IDENTITY DEFAULT", "ALTER PUBLICATION rollview_shop DROP TABLE cust",
    "ALTER PUBLICATION rollview_shop SET (publish = 'insert')",
])  # fmt: skip
def test_ddl_stops_the_source(shop, wh, statement) -> None:
    shop.transact()
    shop.connection.execute(statement)
    assert isinstance(stopped(wh), ChangesLost | SchemaChanged)


def test_a_publication_made_anew_stops_the_source(shop, wh) -> None:
    shop.connection.execute("DROP PUBLICATION rollview_shop")
    shop.connection.execute("CREATE PUBLICATION rollview_shop FOR TABLE orders, cust")
    shop.transact()
    problem = stopped(wh)
    assert isinstance(problem, ChangesLost)


@pytest.mark.parametrize(("out", "back"), [
    ("DROP TABLE orders", "ADD TABLE orders"),
    ("SET TABLE cust", "SET TABLE orders, cust"),
    ("SET TABLE cust, orders WHERE (id > 100)", "SET TABLE orders, cust"),
    ("SET (publish = 'insert')", "SET (publish = 'insert, update, delete, truncate')"),
])  # fmt: skip
def test_what_was_not_published_for_a_while_stops_the_source(shop, wh, out, back) -> None:
    """Between two looks: both see the same publication, and the change was in no stream."""
    shop.transact()
    wh.capture()
    shop.connection.execute(f"ALTER PUBLICATION rollview_shop {out}")
    shop.transact(["DELETE FROM orders WHERE id = 1"])
    shop.connection.execute(f"ALTER PUBLICATION rollview_shop {back}")
    shop.transact()
    problem = stopped(wh)
    assert isinstance(problem, ChangesLost) and "published" in problem.detail
    wh.resync("shop")
    assert wh.capture().problems == ()


def test_a_truncate_of_a_live_table_stops_the_source(shop, wh) -> None:
    shop.transact(["TRUNCATE orders"])
    assert "TRUNCATE" in stopped(wh).what


def test_a_slot_that_is_gone(shop, wh) -> None:
    shop.connection.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
                            " WHERE database = current_database()")  # fmt: skip
    assert "is gone" in stopped(wh).detail


def test_a_slot_that_somebody_moved(shop, wh) -> None:
    shop.transact()
    shop.connection.execute("SELECT pg_replication_slot_advance(slot_name, pg_current_wal_lsn())"
                            " FROM pg_replication_slots WHERE database = current_database()")  # fmt: skip
    problem = stopped(wh)
    assert isinstance(problem, ChangesLost) and "somebody moved" in problem.detail


@pytest.mark.parametrize("statement", [
    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = current_database()",
    "VACUUM FULL orders", "ALTER TABLE orders ADD COLUMN r float8 DEFAULT random()", "TRUNCATE orders",
])  # fmt: skip
def test_r5_a_table_without_a_copy_is_registered_anew(shop, wh, statement) -> None:
    shop.transact()
    wh.capture()
    shop.connection.execute(statement)
    stopped(wh)
    csn = wh.ledger.newest_csn() + 1
    report = wh.resync("shop")
    assert report.added == ("shop.cust", "shop.orders")
    commit = wh.ledger.commits(csn - 1, csn)[0]
    assert (commit.csn, commit.operation, commit.xid) == (csn, "RESYNC", None)
    for name in ("shop.cust", "shop.orders"):
        row = wh.ledger.relation(name)
        assert (row.stopped, row.base_csn, wh.ledger.steps(name)) == (None, csn, [])
    shop.states[:] = [shop.state()]
    for _ in range(3):
        shop.transact(["INSERT INTO cust VALUES (1, 'more')"])
    assert wh.capture().problems == ()
    assert len(wh.ledger.commits(csn, wh.ledger.newest_csn(), "shop")) == 3
    assert wh.ledger.intents() == []


def test_a_value_that_does_not_fit_is_named(shop, wh) -> None:
    shop.connection.execute("CREATE TABLE d (k int PRIMARY KEY, at timestamp)")
    shop.connection.execute("ALTER TABLE d REPLICA IDENTITY FULL")
    wh.drop_source("shop")
    wh.add_source("shop", postgres=shop.url, tables=["d"], mode="live")
    shop.connection.execute("INSERT INTO d VALUES (1, '2020-01-01')")
    wh.capture()
    shop.connection.execute("INSERT INTO d VALUES (2, '2020-01-02')")
    shop.connection.execute("INSERT INTO d VALUES (7, 'infinity')")
    shop.connection.execute("INSERT INTO d VALUES (8, '2020-01-08')")
    assert wh.capture().csn == 2  # the last good point
    problem = stopped(wh)
    assert 'column "at", row k = 7' in problem.what and "infinity" in problem.detail


@pytest.mark.parametrize(("statement", "word"), [
    ("CREATE TABLE t (k int PRIMARY KEY)", "REPLICA IDENTITY FULL"),
    ("CREATE UNLOGGED TABLE t (k int)", "unlogged"),
    ("CREATE TABLE t (k int, p point)", 'column "p" is of type point'),
    ("CREATE TABLE t (k int, n numeric(50,2))", "more than 38 digits"),
    ('CREATE TABLE t (k int, "K" int)', "differ only by case"),
    ("CREATE TABLE t (k int, _rv_stamp int)", "_rv_stamp"),
    ("CREATE TABLE t (k int); CREATE TABLE u () INHERITS (t)", "inherit"),
    ("SELECT 1", "has no table"),
])  # fmt: skip
def test_tables_that_are_refused(shop, wh, statement, word) -> None:
    shop.connection.execute(statement)
    with pytest.raises(ConfigError) as raised:
        wh.add_source("more", postgres=shop.url, tables=["public.t"], mode="live")
    assert word in str(raised.value)
    assert wh.ledger.source("more") is None
    query = "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()"
    assert shop.connection.execute(query).fetchone() == (1,)
