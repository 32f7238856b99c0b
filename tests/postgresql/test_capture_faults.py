"""What can go wrong between a server and capture: nothing is lost and nothing comes twice, or it stops and says so."""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import Random

import psycopg
import pytest
from proxy import Proxy
from shop import Shop, check_captured, unnamed

from rollview import capture as capturer
from rollview.apply import sweep
from rollview.errors import ChangesLost, Unreachable, WarehouseError
from rollview.failpoints import Crash, Failpoint
from rollview.sources.postgresql import capture as capturing
from rollview.sources.postgresql import slot
from rollview.sources.postgresql import slot as slot_module
from rollview.sources.postgresql.connect import connected
from rollview.sources.postgresql.decode import DecodeError, decoded
from rollview.sources.postgresql.server import Server
from rollview.warehouse import Warehouse

pytest_plugins = ["servers", "disks", "by_hand"]
pytestmark = pytest.mark.faults


def unreadable(message: bytes, random: Random) -> bytes:
    """The message cut, lengthened or with a byte changed, so that it is none any more."""
    while True:
        place = random.randrange(len(message))
        found = random.choice([
            message[:place], message + b"x",
            message[:place] + bytes([random.randrange(256)]) + message[place + 1 :],
        ])  # fmt: skip
        try:
            decoded(found)
        except DecodeError:
            return found


def check_tidy(wh: Warehouse) -> None:
    assert wh.ledger.intents() == []
    sweep(wh.ledger, wh.path, 0)
    assert unnamed(wh) == []


@pytest.mark.parametrize("point", [Failpoint.STREAM_AFTER_INTENT, Failpoint.STREAM_AFTER_WRITE])
def test_a_full_disk(shop, wh, monkeypatch, point) -> None:
    for _ in range(3):
        shop.transact()
    monkeypatch.setenv("ROLLVIEW_FAILPOINTS", f"{point.value}=enospc")
    with pytest.raises(WarehouseError, match="cannot be written") as raised:
        wh.capture()
    assert os.strerror(errno.ENOSPC) in raised.value.detail
    monkeypatch.delenv("ROLLVIEW_FAILPOINTS")
    assert wh.ledger.newest_csn() == 0
    assert wh.capture().problems == ()
    check_captured(wh, shop)
    check_tidy(wh)


@pytest.mark.parametrize("identity", ["FULL", "DEFAULT"])
def test_a_disk_that_is_really_full(shop, small_disk, identity, copies_by_hand) -> None:
    """A transaction that is larger than what is left: its rows cannot be put aside while they are read."""
    shop.connection.execute(f"ALTER TABLE orders REPLICA IDENTITY {identity}")
    with Warehouse(small_disk.path / "wh") as wh:
        wh.add_source("shop", postgres=shop.url, mode="live" if identity == "FULL" else "replica")
        shop.transact()
        wh.capture()
        ballast = small_disk.fill(256 * 1024)
        shop.transact([
            "INSERT INTO orders SELECT i, i % 7, i, md5(i::text) FROM generate_series(1000, 21000) i"
        ])  # fmt: skip
        with pytest.raises(WarehouseError, match="cannot be written") as raised:
            wh.capture()
        assert os.strerror(errno.ENOSPC) in raised.value.detail
        assert "free some space" in raised.value.hint
        assert wh.ledger.newest_csn() == 1
        ballast.unlink()
        assert wh.capture().problems == ()
        check_captured(wh, shop)
        check_tidy(wh)


def test_a_damaged_message_stores_nothing(shop, wh, monkeypatch) -> None:
    """Each message of a real stream in turn, damaged on its way so that it cannot be read."""
    for _ in range(4):
        shop.transact()
    right, random = slot.peeked, Random(5)
    place, sent = 0, 1
    while place < sent:

        def peeked(*arguments: object, at: int = place) -> Iterator[bytes]:
            nonlocal sent
            messages = list(right(*arguments))
            sent = len(messages)
            messages[at] = unreadable(messages[at], random)
            yield from messages

        monkeypatch.setattr(slot, "peeked", peeked)
        (problem,) = wh.capture().problems
        assert isinstance(problem, DecodeError), (place, problem)
        assert wh.ledger.newest_csn() == 0 and unnamed(wh) == [] and wh.ledger.intents() == []
        place += 1
    assert sent > 12
    monkeypatch.setattr(slot, "peeked", right)
    assert wh.capture().problems == ()
    check_captured(wh, shop)


@pytest.mark.parametrize("turn", range(1, 4))
def test_an_exception_between_batches(shop, wh, monkeypatch, turn) -> None:
    monkeypatch.setattr(capturing, "BATCH", 10)
    for _ in range(12):
        shop.transact()
    monkeypatch.setenv(
        "ROLLVIEW_FAILPOINTS", f"{Failpoint.CAPTURE_AFTER_COMMIT.value}=raise@{turn}"
    )
    with pytest.raises(Crash):
        wh.capture()
    monkeypatch.delenv("ROLLVIEW_FAILPOINTS")
    assert wh.ledger.newest_csn() > 0
    shop.transact()
    wh.capture()
    check_captured(wh, shop)


def test_the_server_ends_the_session_again_and_again(shop, wh) -> None:
    going = threading.Event()
    going.set()

    def end_sessions() -> None:
        with psycopg.connect(shop.url, autocommit=True) as c:
            while going.is_set():
                c.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                          " WHERE application_name = 'rollview' AND datname = current_database()")  # fmt: skip
                going.wait(0)

    ending = threading.Thread(target=end_sessions)
    ending.start()
    problems = 0
    try:
        for _ in range(15):
            shop.transact()
            problems += len(wh.capture().problems)
    finally:
        going.clear()
        ending.join()
    assert problems, "no session was ended while it was needed"
    assert wh.capture().problems == ()
    check_captured(wh, shop)
    check_tidy(wh)


@pytest.mark.parametrize("how", [signal.SIGQUIT, signal.SIGINT], ids=["immediate", "fast"])
def test_the_server_is_stopped_again_and_again(tmp_path: Path, how: signal.Signals) -> None:
    with Server() as server, Shop(server.url()) as shop, Warehouse(tmp_path / "wh") as wh:
        wh.add_source("shop", postgres=shop.url, mode="live")
        for number in range(3):
            for _ in range(4):
                shop.transact()
            if number % 2:
                wh.capture()
            server.stop(how)
            assert isinstance(wh.capture().problems[0], Unreachable)
            server.start()
            shop.connection.close()
            shop.connection = psycopg.connect(shop.url, autocommit=True)
            wh.capture()
            check_captured(wh, shop)


def test_a_slot_that_reached_the_limit_of_the_wal(tmp_path: Path) -> None:
    settings = {"max_slot_wal_keep_size": "32MB", "max_wal_size": "32MB", "min_wal_size": "32MB"}
    with Server(settings) as server, Shop(server.url()) as shop, Warehouse(tmp_path / "wh") as wh:
        wh.add_source("shop", postgres=shop.url, mode="live")
        shop.transact()
        wh.capture()
        c = shop.connection
        c.execute("CREATE TABLE noise (t text)")
        for _ in range(8):
            c.execute("INSERT INTO noise SELECT repeat('x', 1000) FROM generate_series(1, 20000)")
            c.execute("CHECKPOINT")
        (problem,) = wh.capture().problems
        assert isinstance(problem, ChangesLost) and "max_slot_wal_keep_size" in problem.detail
        assert wh.ledger.newest_csn() == 1


def test_o4_readers_of_one_slot_wait_for_each_other(shop, wh) -> None:
    """As views of a round do, which read what was not captured yet; the server serves one of them at a time."""
    for _ in range(20):
        shop.transact()
    stream = wh.ledger.stream("shop")
    start = threading.Barrier(4)

    def messages() -> list[list[bytes]]:
        with connected(wh.ledger.source("shop").config["postgres"], "shop") as connection:
            start.wait()
            found = []
            for _ in range(25):
                now = slot.mark(connection)
                slot.check(connection, stream, now)
                found.append(list(slot.peeked(connection, stream, now.flushed, None)))
            return found

    with ThreadPoolExecutor(4) as pool:
        told = [
            one for reader in [pool.submit(messages) for _ in range(4)] for one in reader.result()
        ]
    assert len(told) == 100 and len(told[0]) > 20
    assert all(len(one) == len(told[0]) for one in told)


def test_a_second_consumer_is_named(shop, wh, monkeypatch) -> None:
    monkeypatch.setattr(slot_module, "BUSY_SECONDS", 0.1)
    (slot,) = shop.connection.execute(
        "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()"
    ).fetchone()
    other = psycopg.connect(shop.url, autocommit=True, replication="database")
    try:
        other.pgconn.send_query(
            f"START_REPLICATION SLOT \"{slot}\" LOGICAL 0/0 (proto_version '1',"
            " publication_names 'rollview_shop')".encode()
        )
        query = "SELECT active_pid FROM pg_replication_slots WHERE slot_name = %s"
        while shop.connection.execute(query, [slot]).fetchone() == (None,):
            pass
        shop.transact()
        (problem,) = wh.capture().problems
        assert isinstance(problem, Unreachable) and "in use by process" in problem.detail
    finally:
        other.close()
    while shop.connection.execute(query, [slot]).fetchone() != (None,):
        pass
    assert wh.capture().problems == ()
    check_captured(wh, shop)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_connection_that_is_cut_on_the_way(postgres, shop, tmp_path, monkeypatch, share) -> None:
    monkeypatch.setenv("PGPASSFILE", str(postgres.passfile))
    name = shop.connection.info.dbname
    with Proxy(postgres.port) as proxy, Warehouse(tmp_path / "wh") as wh:
        url = postgres.tcp_url(name, port=proxy.port)
        wh.add_source("shop", postgres=url, mode="live")
        for _ in range(5):
            shop.transact()
        before = proxy.passed
        wh.capture()
        whole = proxy.passed - before
        for _ in range(5):
            shop.transact()
        proxy.limit, proxy.passed = int(whole * share), 0
        problems = wh.capture().problems
        assert all(isinstance(p, Unreachable) for p in problems)
        proxy.limit = None
        shop.transact()
        assert wh.capture().problems == ()
        check_captured(wh, shop)
        check_tidy(wh)


@pytest.mark.parametrize("fault", ["stall", "half_open"])
def test_a_server_that_falls_silent(postgres, shop, tmp_path, monkeypatch, fault) -> None:
    monkeypatch.setenv("PGPASSFILE", str(postgres.passfile))
    with Proxy(postgres.port) as proxy, Warehouse(tmp_path / "wh") as wh:
        url = postgres.tcp_url(shop.connection.info.dbname, port=proxy.port)
        wh.add_source("shop", postgres=url, mode="live")
        shop.transact()
        monkeypatch.setattr(capturer, "connected", partial(capturer.connected, silence_seconds=0.5))
        marked = capturer.marked

        def stalled(*arguments):
            now = marked(*arguments)
            getattr(proxy, fault)()
            return now

        monkeypatch.setattr(capturer, "marked", stalled)
        (problem,) = wh.capture().problems
        assert isinstance(problem, Unreachable) and "nothing for 0.5 seconds" in problem.detail
        monkeypatch.setattr(capturer, "marked", marked)
        proxy.heal()
        assert wh.capture().problems == ()
        check_captured(wh, shop)
