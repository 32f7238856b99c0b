"""One timeline over several sources: each source's own order, merged by commit time, waiting for nobody."""

from __future__ import annotations

import random
import signal
import threading
import time
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from proxy import Proxy
from shop import Shop, check_captured

from rollview import capture as capturer
from rollview.errors import Unreachable
from rollview.sources.postgresql import capture as capturing
from rollview.sources.postgresql import connect
from rollview.sources.postgresql.server import Server
from rollview.warehouse import Warehouse

pytest_plugins = ["servers"]


@pytest.fixture
def shops(database):
    with Shop(database(), 1) as one, Shop(database(), 2) as two:
        yield one, two


@pytest.fixture
def wh(shops, tmp_path: Path):
    with Warehouse(tmp_path / "wh") as wh:
        for name, shop in zip(("one", "two"), shops, strict=True):
            wh.add_source(name, postgres=shop.url, mode="live")
        yield wh


def check_order(wh: Warehouse, slack: float = 0.0) -> None:
    """No gap, and by commit time; `slack`: a server takes its time before it writes the commit itself."""
    commits = wh.ledger.commits(0, wh.ledger.newest_csn())
    assert [c.csn for c in commits] == list(range(1, len(commits) + 1))
    for one, next_one in pairwise(commits):
        assert next_one.committed_at >= one.committed_at - timedelta(seconds=slack)


@pytest.mark.parametrize("batch", [5, 100_000])
def test_k1_sources_are_merged_by_commit_time(shops, wh, batch, monkeypatch) -> None:
    monkeypatch.setattr(capturing, "BATCH", batch)
    r = random.Random(batch)
    for _ in range(4):
        for _ in range(8):
            r.choice(shops).transact()
        assert wh.capture().problems == ()
    for name, shop in zip(("one", "two"), shops, strict=True):
        check_captured(wh, shop, name)
    check_order(wh)


def test_k1_while_both_are_written_to(shops, wh) -> None:
    """Transactions that commit while capture looks are not put out of order."""
    going = threading.Event()
    going.set()

    def write(shop: Shop) -> None:
        while going.is_set():
            shop.transact()

    writers = [threading.Thread(target=write, args=[shop]) for shop in shops]
    for writer in writers:
        writer.start()
    try:
        for _ in range(15):
            wh.capture()
    finally:
        going.clear()
        for writer in writers:
            writer.join()
    wh.capture()
    for name, shop in zip(("one", "two"), shops, strict=True):
        check_captured(wh, shop, name)
    check_order(wh, 0.5)


def test_a_source_that_cannot_be_reached_is_not_waited_for(tmp_path, database) -> None:
    with (
        Server() as server,
        Shop(server.url()) as gone,
        Shop(database()) as here,
        Warehouse(tmp_path / "wh") as wh,
    ):
        wh.add_source("gone", postgres=gone.url, mode="live")
        wh.add_source("here", postgres=here.url, mode="live")
        gone.transact()
        server.stop(signal.SIGQUIT)
        here.transact()
        report = wh.capture()
        assert report.commits == 1 and isinstance(report.problems[0], Unreachable)
        assert wh.ledger.relation("here.orders").stopped is None
        server.start()
        report = wh.capture()
        assert report.commits == 1 and report.problems == ()
        check_captured(wh, gone, "gone")
        check_captured(wh, here, "here")


@pytest.mark.parametrize("when", ["before it is marked", "before it is read"])
def test_k1_silent_sources_are_not_waited_for(
    postgres, database, tmp_path, monkeypatch, when
) -> None:
    """Connections stay open and nothing comes through, of two of three databases: the third goes on meanwhile."""
    monkeypatch.setitem(connect.WATCHED, "connect_timeout", 2)
    monkeypatch.setattr(connect.Patient, "doubt_seconds", 0.5)
    monkeypatch.setenv("PGPASSFILE", str(postgres.passfile))
    with (
        Shop(database()) as one, Shop(database()) as two, Shop(database()) as here,
        Proxy(postgres.port) as proxy, Warehouse(tmp_path / "wh") as wh,
    ):  # fmt: skip
        for name, shop in (("one", one), ("two", two)):
            url = postgres.tcp_url(shop.connection.info.dbname, port=proxy.port)
            wh.add_source(name, postgres=url, mode="live")
        wh.add_source("here", postgres=here.url, mode="live")
        for shop in (one, two, here):
            shop.transact()
        right = capturer.read_batch

        def read_batch(*arguments):
            proxy.stall()
            return right(*arguments)

        if when == "before it is read":
            monkeypatch.setattr(capturer, "read_batch", read_batch)
        else:
            proxy.stall()
        started = time.monotonic()
        report = wh.capture()
        assert time.monotonic() - started < (8 if when == "before it is marked" else 15)
        assert report.commits == 1 and len(report.problems) == 2
        check_captured(wh, here, "here")
        monkeypatch.setattr(capturer, "read_batch", right)
        proxy.heal()
        assert wh.capture().problems == ()
        for name, shop in (("one", one), ("two", two)):
            check_captured(wh, shop, name)


def test_a_time_of_day_means_what_it_says_for_each_source(shops, wh) -> None:
    one, two = shops
    moments = []
    for _ in range(3):
        one.transact()
        two.transact()
        query = "SELECT clock_timestamp()"
        moments.append(
            (one.connection.execute(query).fetchone()[0], len(one.states), len(two.states))
        )
    wh.capture()
    for moment, ones, twos in moments:
        csn = wh.ledger.csn_at(moment)
        assert len(wh.ledger.commits(0, csn, "one")) == ones - 1
        assert len(wh.ledger.commits(0, csn, "two")) == twos - 1


def test_clocks_that_disagree_hold_nothing_back(shops, wh, monkeypatch) -> None:
    """The second server's clock seems to be an hour behind: its transactions are captured at once all the same."""
    marked = capturing.slot.mark
    behind = shops[1].connection.info.dbname

    def mark(connection):
        now = marked(connection)
        if connection.info.dbname != behind:
            return now
        return capturing.replace(now, clock=now.clock - timedelta(hours=1))

    monkeypatch.setattr(capturing.slot, "mark", mark)
    for shop in shops:
        shop.transact()
    assert wh.capture().commits == 2
