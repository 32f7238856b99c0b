"""What atomic() and snapshot() promise (L6, L7, L8), alone, beside others and under a kill."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import ledger_rows as make
import pytest
from sqlalchemy import event

from rollview.changes import Csn
from rollview.errors import StepConflict, WarehouseError
from rollview.ledger.store import Ledger

pytest_plugins = ["servers"]

KILLED = """
import os, signal, sys
from pathlib import Path
import ledger_rows as make
from rollview.ledger.store import Ledger
ledger = Ledger.open(Path(sys.argv[1]))
with ledger.atomic():
    ledger.add_commit(make.commit(1), [make.change(1)])
with ledger.atomic():
    ledger.add_commit(make.commit(2), [make.change(2)])
    ledger.set_subscriber("v", "me", 2)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str | None]:
    url = request.getfixturevalue("postgres_database")() if request.param == "postgres" else None
    return tmp_path / "wh", url


@pytest.fixture
def ledger(place: tuple[Path, str | None]) -> Iterator[Ledger]:
    opened = make.registered(Ledger.open(*place, create=True))
    yield opened
    opened.close()


def in_thread(work: object) -> list:
    """The results of `work`, run in another thread."""
    results: list = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results


def test_l6_an_exception_leaves_nothing(ledger: Ledger) -> None:
    with pytest.raises(KeyError), ledger.atomic():
        ledger.add_commit(make.commit(1), [make.change(1)])
        ledger.add_view(make.view(), make.blocks())
        intent = ledger.begin("step", "v", {})
        assert ledger.newest_csn() == 1 and ledger.intents() == [intent], "seen inside"
        raise KeyError
    assert ledger.newest_csn() == 0 and ledger.intents() == [] and ledger.views() == []
    with ledger.atomic():
        ledger.add_commit(make.commit(1), [])
    assert ledger.newest_csn() == 1


def test_an_inner_transaction_joins_the_outer(ledger: Ledger) -> None:
    with pytest.raises(KeyError), ledger.atomic():
        with ledger.atomic():
            ledger.set_subscriber("v", "a", Csn(1))
        with ledger.snapshot():
            assert ledger.subscribers("v") == {"a": 1}
        raise KeyError
    assert ledger.subscribers("v") == {}


def test_l7_a_swallowed_failure_still_undoes_the_whole(ledger: Ledger) -> None:
    with pytest.raises(WarehouseError, match="undone"), ledger.atomic():
        ledger.set_subscriber("v", "a", Csn(1))
        with pytest.raises(StepConflict):
            ledger.add_commit(make.commit(7), [])
    with pytest.raises(WarehouseError, match="undone"), ledger.atomic():
        with pytest.raises(StepConflict):
            ledger.set_view("nothing", state="ready")
        ledger.set_subscriber("v", "a", Csn(1))
    assert ledger.subscribers("v") == {}
    ledger.set_subscriber("v", "b", Csn(1))
    assert ledger.subscribers("v") == {"b": 1}, "the next one is free again"


def test_a_failed_commit_leaves_nothing(ledger: Ledger) -> None:
    with pytest.raises(StepConflict), ledger.atomic():
        ledger.set_subscriber("v", "a", Csn(1))
        ledger.put_relation(make.relation("nowhere.sales"))
        if ledger.engine.dialect.name == "postgresql":  # checked at the end, in both
            assert ledger.relation("nowhere.sales") is not None
    assert ledger.subscribers("v") == {} and ledger.relation("nowhere.sales") is None
    ledger.set_subscriber("v", "b", Csn(1))


def test_readers_go_on_while_a_writer_is_inside(place: tuple, ledger: Ledger) -> None:
    other = Ledger.open(*place)
    with ledger.atomic():
        ledger.add_commit(make.commit(1), [make.change(1)])
        assert in_thread(ledger.newest_csn) == [0], "another thread, the same ledger"
        assert other.newest_csn() == 0, "another ledger, as another process has it"
        with other.snapshot():
            assert other.changes_of("lake.sales", Csn(0), Csn(9)) == []
    assert other.newest_csn() == 1 and in_thread(ledger.newest_csn) == [1]
    other.close()


def test_l8_a_snapshot_is_of_one_moment(place: tuple, ledger: Ledger) -> None:
    other = Ledger.open(*place)
    with other.snapshot():
        ledger.add_commit(make.commit(1), [make.change(1)])
        assert other.newest_csn() == 0 and other.commits(Csn(0), Csn(9)) == []
        with other.snapshot():
            assert other.newest_csn() == 0
    assert other.newest_csn() == 1
    other.close()


def test_l8_a_write_inside_a_snapshot_is_refused(ledger: Ledger) -> None:
    with ledger.snapshot():
        with pytest.raises(RuntimeError, match="snapshot"):
            ledger.set_subscriber("v", "a", Csn(1))
        assert ledger.subscribers("v") == {}
    ledger.set_subscriber("v", "a", Csn(1))


def test_writers_wait_for_each_other(ledger: Ledger) -> None:
    def extend() -> None:
        for _ in range(10):
            with ledger.atomic():
                ledger.add_commit(make.commit(ledger.newest_csn() + 1), [])

    threads = [threading.Thread(target=extend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.newest_csn() == 40


def test_a_killed_process_leaves_whole_transactions(tmp_path: Path) -> None:
    make.registered(Ledger.open(tmp_path, create=True)).close()
    here = [str(Path(__file__).parent), *(p for p in sys.path if p)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(here)}
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], env=environment)
    assert killed.returncode == -signal.SIGKILL
    ledger = Ledger.open(tmp_path)
    assert ledger.newest_csn() == 1 and ledger.subscribers("v") == {}
    assert ledger.changes_of("lake.sales", Csn(0), Csn(9)) == [make.change(1)]
    ledger.add_commit(make.commit(2), [])
    ledger.close()


def test_a_full_disk_leaves_nothing_half_done(tmp_path: Path) -> None:
    ledger = make.registered(Ledger.open(tmp_path, create=True))
    with sqlite3.connect(tmp_path / "ledger.db") as plain:
        pages = plain.execute("PRAGMA page_count").fetchone()[0]
    plain.close()

    @event.listens_for(ledger.engine, "checkout")
    def _limit(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {limit}")

    limit = pages
    large = {"text": json.dumps(["x" * 100] * 10_000)}
    with pytest.raises(WarehouseError, match="disk is full") as raised, ledger.atomic():
        ledger.set_subscriber("v", "a", Csn(1))
        ledger.begin("step", "v", large)
    assert "ledger.db" in raised.value.what and "free some space" in raised.value.hint
    assert ledger.subscribers("v") == {} and ledger.intents() == []
    limit = 1 << 20
    ledger.begin("step", "v", large)
    assert len(ledger.intents()) == 1
    ledger.close()


def test_a_swallowed_full_disk_commits_nothing_either(tmp_path: Path) -> None:
    ledger = make.registered(Ledger.open(tmp_path, create=True))

    @event.listens_for(ledger.engine, "checkout")
    def _limit(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute("PRAGMA max_page_count = 1")

    with pytest.raises(WarehouseError, match="undone"), ledger.atomic():
        ledger.set_subscriber("v", "a", Csn(1))
        with pytest.raises(WarehouseError, match="disk is full"):
            ledger.begin("step", "v", {"text": "x" * 1_000_000})
        ledger.set_subscriber("v", "b", Csn(1))
    assert ledger.subscribers("v") == {}
    ledger.close()
