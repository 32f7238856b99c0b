"""One writing process per warehouse, whatever becomes of it (L13, L14, L15)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import text

from rollview.errors import WarehouseError, WarehouseLocked
from rollview.ledger.holder import this_process
from rollview.ledger.lock import LOCK, FileLock, WriteLock, held_here, holder
from rollview.ledger.store import Ledger

pytest_plugins = ["servers"]

HOLD = """
import os, subprocess, sys, time
from pathlib import Path
from rollview.ledger.lock import WriteLock
from rollview.ledger.store import Ledger
warehouse, url, child = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
ledger = Ledger.open(warehouse, url, create=True) if url else None
WriteLock(warehouse, ledger).acquire()
if child == "forked":
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(theirs, b"!")
        time.sleep(60)
        os._exit(0)
    os.read(ours, 1)  # the child runs
    print(pid, flush=True)
if child == "started":
    print(subprocess.Popen(["sleep", "60"], close_fds=False).pid, flush=True)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def process(warehouse: Path, url: str = "", child: str = "") -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until its input ends; `child` says what it starts."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", HOLD, str(warehouse), url, child]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def said(started: subprocess.Popen[str]) -> str:
    assert started.stdout is not None
    return started.stdout.readline().strip()


def acquired(lock: WriteLock) -> None:
    """Wait until the lock is free: a server needs a moment to notice that a client died."""
    until = time.monotonic() + 20
    while True:
        try:
            return lock.acquire()
        except WarehouseLocked:
            if time.monotonic() > until:
                raise


def test_the_second_process_is_told_who_is_there(tmp_path: Path) -> None:
    with process(tmp_path) as other:
        assert said(other) == "held"
        with pytest.raises(WarehouseLocked) as raised:
            WriteLock(tmp_path, None).acquire()
        message = str(raised.value)
        assert str(tmp_path) in message and f"process {other.pid} on" in message
        assert "-c" in message and "since 20" in message and f"kill {other.pid}" in message
        there = holder(tmp_path)
        assert there is not None and there.pid == other.pid
        assert abs(there.started_at - datetime.now(timezone.utc)) < timedelta(minutes=1)
        other.communicate()
    assert holder(tmp_path) is None
    with WriteLock(tmp_path):
        pass


def test_l13_a_killed_holder_frees_the_lock(tmp_path: Path) -> None:
    with process(tmp_path) as other:
        assert said(other) == "held"
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert str(other.pid) in (tmp_path / LOCK).read_text(), "it left its name"
        assert holder(tmp_path) is None
        with WriteLock(tmp_path):
            there = holder(tmp_path)
            assert there is not None and there.pid == os.getpid()


@pytest.mark.parametrize("child", ["started", "forked"])
def test_l14_a_child_that_lives_on_does_not_keep_the_lock(tmp_path: Path, child: str) -> None:
    with process(tmp_path, child=child) as other:
        child_pid = int(said(other))
        try:
            assert said(other) == "held"
            assert holder(tmp_path) is not None, "and closing its copy does not free it"
            other.kill()
            other.wait()
            os.kill(child_pid, 0)
            with WriteLock(tmp_path):
                pass
        finally:
            os.kill(child_pid, signal.SIGKILL)


def test_the_same_process_is_refused_a_second_time(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    first, second = WriteLock(tmp_path), WriteLock(tmp_path / "link")
    with first:
        assert first.held() and held_here(tmp_path) and not second.held()
        with pytest.raises(WarehouseLocked, match="in this process"):
            second.acquire()
        second.release()
        assert first.held() and holder(tmp_path) is not None, (
            "releasing what one has not is nothing"
        )
    assert not first.held() and not held_here(tmp_path)
    with second:
        pass
    first.release()


def test_l15_a_lock_file_that_was_left_is_no_obstacle(tmp_path: Path) -> None:
    for left in (b"", b"\xff\x00 garbage", b'{"pid": 1, "host": "gone"}', b"[]"):
        (tmp_path / LOCK).write_bytes(left)
        assert holder(tmp_path) is None
        with WriteLock(tmp_path):
            assert holder(tmp_path) is not None
        assert (tmp_path / LOCK).read_bytes() == b"", "the file stays, the name goes"


def test_a_holder_that_has_not_said_who_it_is(tmp_path: Path) -> None:
    with process(tmp_path) as other:
        assert said(other) == "held"
        (tmp_path / LOCK).write_text("{")
        there = holder(tmp_path)
        assert there is not None and there.pid == 0
        with pytest.raises(WarehouseLocked, match="has not said who it is"):
            WriteLock(tmp_path).acquire()


def test_asking_who_is_there_does_not_get_in_the_way(tmp_path: Path) -> None:
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            holder(tmp_path)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for _ in range(200):
            with FileLock(tmp_path):
                pass
    finally:
        stop.set()
        asking.join()


def test_asking_makes_nothing(tmp_path: Path) -> None:
    assert holder(tmp_path) is None and holder(tmp_path / "nowhere") is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_locked(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="cannot be locked"):
        WriteLock(tmp_path / "nowhere").acquire()
    (tmp_path / LOCK).mkdir()
    with pytest.raises(WarehouseError, match="cannot be locked"):
        WriteLock(tmp_path).acquire()


def test_passwords_are_not_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://me:sesame@host/shop"
    monkeypatch.setattr(sys, "argv", ["/usr/bin/rollview", "source", "add", "shop", url])
    assert this_process().command == "rollview source add shop postgresql://me:***@host/shop"


def test_a_postgres_ledger_is_locked_for_all_machines(
    postgres_database: Callable[[], str], tmp_path: Path
) -> None:
    url = postgres_database()
    here, there = tmp_path / "here", tmp_path / "there"  # folders of two machines
    with process(there, url) as other:
        assert said(other) == "held"
        ledger = Ledger.open(here, url, create=True)
        lock = WriteLock(here, ledger)
        with pytest.raises(WarehouseLocked, match=f"process {other.pid} on"):
            lock.acquire()
        assert not lock.held() and not held_here(here), "nothing is left half taken"
        assert holder(here) is None, "its folder is free, its ledger is not:"
        found = holder(here, ledger)
        assert found is not None and found.pid == other.pid
        other.kill()
        other.wait()
        acquired(lock)
        assert lock.held()
        lock.release()
        assert holder(here, ledger) is None
        ledger.close()


def test_a_lost_session_is_noticed(postgres_database: Callable[[], str], tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path, postgres_database(), create=True)
    with WriteLock(tmp_path, ledger) as lock:
        assert lock.held()
        with ledger.engine.connect() as connection:
            end = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
            assert len(connection.execute(text(end)).all()) == 1
        assert not lock.held()
    ledger.close()


def test_two_ledgers_in_one_database_do_not_meet(
    postgres_database: Callable[[], str], tmp_path: Path
) -> None:
    ledgers = [Ledger.open(tmp_path / n, postgres_database(), create=True) for n in "ab"]
    with WriteLock(tmp_path / "a", ledgers[0]), WriteLock(tmp_path / "b", ledgers[1]):
        assert ledgers[0].warehouse_id != ledgers[1].warehouse_id
    for ledger in ledgers:
        ledger.close()
