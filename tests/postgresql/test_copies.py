"""Tables with a copy, as capture knows them: TRUNCATE, and old rows that the stream names by their key only."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path

import psycopg
import pytest
from shop import Shop, check_captured, logged

from rollview.errors import ChangesLost
from rollview.sources.postgresql import capture as capturing
from rollview.sources.postgresql import keyed, spool
from rollview.sources.postgresql.registration import points_now
from rollview.tables import forget_table
from rollview.warehouse import Warehouse

pytest_plugins = ["servers", "by_hand"]
pytestmark = pytest.mark.usefixtures("copies_by_hand")


@pytest.fixture(params=["FULL", "DEFAULT"])
def shop(database, request):
    with Shop(database()) as shop:
        shop.connection.execute(f"ALTER TABLE orders REPLICA IDENTITY {request.param}")
        yield shop


@pytest.fixture
def wh(shop, tmp_path: Path):
    with Warehouse(tmp_path / "wh") as wh:
        wh.add_source("shop", postgres=shop.url, mode="replica")
        yield wh


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("chunk", [1, 3, 20_000])
def test_random_transactions(shop, wh, seed, chunk, monkeypatch) -> None:
    monkeypatch.setattr(keyed, "CHUNK", chunk)
    monkeypatch.setattr(spool, "CHUNK", chunk)
    shop.random.seed(seed)
    for _ in range(4):
        for _ in range(shop.random.randint(1, 6)):
            shop.transact()
        wh.capture()
    check_captured(wh, shop)


def test_a_truncate_takes_every_row(shop, wh, monkeypatch) -> None:
    shop.transact()
    wh.capture()
    shop.transact()
    shop.transact(["INSERT INTO orders VALUES (900, 1, 1, NULL)", "TRUNCATE orders, cust",
                   "INSERT INTO orders VALUES (901, 1, 1, NULL)"])  # fmt: skip
    shop.transact(["UPDATE orders SET price = 2"])
    shop.transact(["TRUNCATE orders"])
    shop.transact(["INSERT INTO orders VALUES (902, 1, 1, NULL)"])
    report = wh.capture()
    assert report.problems == ()
    check_captured(wh, shop)
    assert wh.ledger.relation("shop.orders").rows == 1


def test_a_truncate_behind_many_batches(shop, wh, monkeypatch) -> None:
    monkeypatch.setattr(capturing, "BATCH", 10)
    for _ in range(5):
        shop.transact()
    shop.transact(["TRUNCATE orders"])
    for _ in range(5):
        shop.transact()
    assert wh.capture().problems == ()
    check_captured(wh, shop)


def test_a_large_value_that_did_not_change(shop, wh) -> None:
    shop.transact(["ALTER TABLE orders ALTER note SET STORAGE EXTERNAL",
                   "INSERT INTO orders VALUES (700, 1, 1, repeat('y', 100000))"])  # fmt: skip
    shop.transact(["UPDATE orders SET price = 9 WHERE id = 700"])
    shop.transact(["UPDATE orders SET id = 701 WHERE id = 700"])
    wh.capture()
    shop.transact(["UPDATE orders SET cust = 4 WHERE id = 701"])
    wh.capture()
    check_captured(wh, shop)


def test_a_truncate_of_one_partition_stops_the_source(database, tmp_path) -> None:
    url = database()
    with psycopg.connect(url, autocommit=True) as c, Warehouse(tmp_path / "wh") as wh:
        c.execute("CREATE TABLE m (k int PRIMARY KEY, v text) PARTITION BY RANGE (k)")
        c.execute("CREATE TABLE m1 PARTITION OF m FOR VALUES FROM (0) TO (10)")
        c.execute("CREATE TABLE m2 PARTITION OF m FOR VALUES FROM (10) TO (20)")
        c.execute("INSERT INTO m VALUES (1, 'a'), (11, 'b')")
        wh.add_source("shop", postgres=url, tables=["public.m"], mode="replica")
        c.execute("UPDATE m SET k = k + 10, v = 'c' WHERE k = 1 AND false OR k = 1 AND v = 'x'")
        c.execute("UPDATE m SET k = 12 WHERE k = 1")
        c.execute("TRUNCATE m")
        assert wh.capture().problems == ()
        assert logged(wh, "shop.m") == {
            1: Counter({(1, "a"): -1, (12, "a"): 1}),
            2: Counter({(12, "a"): -1, (11, "b"): -1}),
        }
        c.execute("TRUNCATE m1")
        (problem,) = wh.capture().problems
        assert isinstance(problem, ChangesLost) and "partition" in problem.detail


def test_a_copy_that_lacks_a_row_is_found_out(shop, wh) -> None:
    (identity,) = shop.connection.execute(
        "SELECT relreplident::text FROM pg_class WHERE relname = 'orders'"
    ).fetchone()
    block = wh.ledger.block("shop.orders")
    log = wh.path / block.folder / "folded" / "_delta_log" / f"{0:020d}.json"
    log.write_text('{"commitInfo": {"timestamp": 0, "operation": "WRITE"}}\n')
    shop.transact(["UPDATE orders SET price = 9 WHERE id = 7"])
    problems = wh.capture().problems
    if identity == "d":
        assert isinstance(problems[0], ChangesLost) and "no row with id = 7" in problems[0].detail
    else:
        assert problems == ()


def test_t4_history_goes_as_far_as_nobody_needs_it(shop, wh) -> None:
    for _ in range(3):
        shop.transact()
        wh.capture()
    relation = wh.ledger.relation("shop.orders")
    later = datetime.now(timezone.utc) + timedelta(days=8)
    assert forget_table(wh.ledger, relation, later) == 0  # the copy has not been folded
    wh.ledger.set_block("shop.orders", fold_times=(2,))
    wh.ledger.set_subscriber("shop.orders", "somebody", 1)
    assert forget_table(wh.ledger, relation) == 0  # it is young
    assert forget_table(wh.ledger, relation, later) == 1
    assert {step.hi for step in wh.ledger.steps("shop.orders")} <= {2, 3}
    assert wh.ledger.relation("shop.orders").base_csn == 1


def test_a_source_with_live_tables_and_copies(shop, tmp_path: Path) -> None:
    """A mode for each table: the copy needs a key only, and knows what a TRUNCATE took."""
    shop.connection.execute("ALTER TABLE orders REPLICA IDENTITY DEFAULT")
    with Warehouse(tmp_path / "mixed") as wh:
        wh.add_source("shop", postgres=shop.url, tables=["public.cust"], mode="live")
        shop.transact(["INSERT INTO cust VALUES (1, 'before')"])
        wh.add_source("shop", postgres=shop.url, tables=["public.orders"], mode="replica")
        modes = {r.name: r.properties["mode"] for r in wh.ledger.relations("shop")}
        assert modes == {"shop.cust": "live", "shop.orders": "replica"}
        bad = [p for p in points_now(wh.ledger, wh.ledger.source("shop")) if p.state == "bad"]
        assert bad == [], "the copy is allowed to have no replica identity but its key"
        for _ in range(4):
            shop.transact()
        shop.transact(["TRUNCATE orders"])
        assert wh.capture().problems == ()
        check_captured(wh, shop)
        shop.connection.execute("ALTER TABLE cust REPLICA IDENTITY DEFAULT")
        (bad,) = [p for p in points_now(wh.ledger, wh.ledger.source("shop")) if p.state == "bad"]
        assert "public.cust" in bad.subject
