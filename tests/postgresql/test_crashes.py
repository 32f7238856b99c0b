"""rollview killed at every failpoint of a PostgreSQL source: nothing lost, nothing twice, nothing left over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from shop import Shop, check_captured, unnamed

from rollview.apply import sweep
from rollview.cli.doctor import orphans
from rollview.failpoints import Failpoint as F
from rollview.ledger.rows import READS
from rollview.warehouse import Warehouse

pytest_plugins = ["servers"]
pytestmark = pytest.mark.faults

PROGRAM = """
import sys
from rollview.warehouse import Warehouse
with Warehouse(sys.argv[1]) as wh:
    {action}
"""
ADD = "wh.add_source('shop', postgres=sys.argv[2], mode='{mode}')"
CAPTURE = [
    (F.CAPTURE_BEFORE_COMMIT, 1),
    (F.CAPTURE_AFTER_COMMIT, 1),
    (F.STREAM_AFTER_INTENT, 1),
    (F.STREAM_AFTER_WRITE, 1),
    (F.STREAM_AFTER_WRITE, 2),
    (F.STREAM_BEFORE_CONFIRM, 1),
    (F.STREAM_AFTER_CONFIRM, 1),
]
ADDED = (F.SLOT_BEFORE_CREATE, F.SLOT_AFTER_CREATE, F.SOURCE_BEFORE_COMMIT, F.SOURCE_AFTER_COMMIT)
DROPPED = (F.SLOT_BEFORE_DROP, F.SLOT_AFTER_DROP, F.SOURCE_BEFORE_DROP, F.SOURCE_AFTER_DROP)


def killed(action: str, warehouse: Path, url: str, point: F, turn: int = 1) -> None:
    """Run a process until the failpoint kills it."""
    environment = {**os.environ, "ROLLVIEW_FAILPOINTS": f"{point.value}=kill@{turn}"}
    command = [sys.executable, "-c", PROGRAM.format(action=action), str(warehouse), url]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def slots(url: str) -> list[str]:
    with psycopg.connect(url) as c:
        query = "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()"
        return [name for (name,) in c.execute(query).fetchall()]


def publications(url: str) -> int:
    with psycopg.connect(url) as c:
        return c.execute("SELECT count(*) FROM pg_publication").fetchone()[0]


def check_tidy(wh: Warehouse) -> None:
    assert wh.ledger.intents() == []
    sweep(wh.ledger, wh.path, 0)
    assert wh.ledger.trash() == [] and unnamed(wh) == []


@pytest.mark.parametrize(("point", "turn"), CAPTURE, ids=str)
def test_killed_while_capturing(database, tmp_path: Path, point: F, turn: int) -> None:
    with Shop(database()) as shop:
        with Warehouse(tmp_path / "wh") as wh:
            wh.add_source("shop", postgres=shop.url, mode="live")
        for _ in range(6):
            shop.transact()
        killed("wh.capture()", tmp_path / "wh", shop.url, point, turn)
        for _ in range(3):
            shop.transact()
        with Warehouse(tmp_path / "wh") as wh:
            wh.capture()
            check_captured(wh, shop)
            check_tidy(wh)


@pytest.mark.parametrize("point", ADDED, ids=str)
def test_killed_while_a_source_is_added(database, tmp_path: Path, point: F) -> None:
    with Shop(database()) as shop:
        killed(ADD.format(mode="live"), tmp_path / "wh", shop.url, point)
        shop.transact()
        with Warehouse(tmp_path / "wh") as wh:
            base = 0
            if wh.ledger.source("shop") is None:
                base = len(shop.states) - 1
                wh.add_source("shop", postgres=shop.url, mode="live")
            shop.transact()
            wh.capture()
            check_captured(wh, shop, base=base)
            check_tidy(wh)
            assert len(slots(shop.url)) == 1


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("point", [F.LOAD_AFTER_WRITE, F.SOURCE_BEFORE_COMMIT], ids=str)
def test_killed_while_a_copy_is_made(database, spark, tmp_path: Path, point: F) -> None:
    with Shop(database()) as shop:
        killed(ADD.format(mode="replica"), tmp_path / "wh", shop.url, point)
        shop.transact()
        with Warehouse(tmp_path / "wh", spark) as wh:
            wh.add_source("shop", postgres=shop.url, mode="replica")
            base = len(shop.states) - 1
            shop.transact()
            wh.capture()
            check_captured(wh, shop, base=base)
            check_tidy(wh)
            rows = wh.query("SELECT * FROM shop.orders").collect()
            assert sorted(map(tuple, rows)) == sorted(shop.states[-1]["orders"].elements())
            assert len(slots(shop.url)) == 1


def test_what_a_killed_reader_left_is_swept_up(tmp_path: Path) -> None:
    """It may still be at work: only the grace time tells."""
    folder = tmp_path / "wh" / READS / "some"
    with Warehouse(tmp_path / "wh") as wh:
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").touch()
        assert orphans(wh.path, wh.ledger) == []
    with Warehouse(tmp_path / "wh") as wh:
        wh.write()
        assert [name for name, _ in wh.ledger.trash()] == [f"{READS}/some"]
        sweep(wh.ledger, wh.path)
        assert folder.exists() and orphans(wh.path, wh.ledger) == []
        sweep(wh.ledger, wh.path, 0)
        assert not folder.exists() and wh.ledger.trash() == []


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("point", [F.LOAD_AFTER_WRITE, F.SOURCE_BEFORE_COMMIT], ids=str)
def test_killed_while_a_source_is_mended(database, spark, tmp_path: Path, point: F) -> None:
    with Shop(database()) as shop:
        with Warehouse(tmp_path / "wh", spark) as wh:
            wh.add_source("shop", postgres=shop.url, mode="replica")
        with psycopg.connect(shop.url, autocommit=True) as c:
            c.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
                      " WHERE database = current_database()")  # fmt: skip
        shop.transact()
        killed("wh.resync('shop')", tmp_path / "wh", shop.url, point)
        shop.transact()
        with Warehouse(tmp_path / "wh", spark) as wh:
            wh.resync("shop")
            shop.transact()
            wh.capture()
            check_tidy(wh)
            for table in ("orders", "cust"):
                rows = wh.query(f"SELECT * FROM shop.{table}").collect()
                assert sorted(map(tuple, rows)) == sorted(shop.states[-1][table].elements())
            assert len(slots(shop.url)) == 1


@pytest.mark.parametrize("point", DROPPED, ids=str)
def test_killed_while_a_source_is_dropped(database, tmp_path: Path, point: F) -> None:
    with Shop(database()) as shop:
        with Warehouse(tmp_path / "wh") as wh:
            wh.add_source("shop", postgres=shop.url, mode="live")
            shop.transact()
            wh.capture()
        killed("wh.drop_source('shop')", tmp_path / "wh", shop.url, point)
        with Warehouse(tmp_path / "wh") as wh:
            if wh.ledger.source("shop") is not None:
                wh.drop_source("shop")
            assert wh.sources() == [] and wh.ledger.relations() == []
            check_tidy(wh)
        assert slots(shop.url) == [] and publications(shop.url) == 0
