"""Other processes, other versions, damage, and a full disk: a clear error, nothing half done, and it works again."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scenarios import SCENARIOS
from world import World, check_finished, check_shown

from rollview.errors import (
    ConfigError,
    LedgerDamaged,
    RefreshError,
    RollviewError,
    WarehouseError,
    WarehouseLocked,
    WarehouseTooNew,
)
from rollview.failpoints import Failpoint
from rollview.warehouse import Warehouse

if TYPE_CHECKING:
    from disks import Disk

pytest_plugins = ["disks"]
pytestmark = [pytest.mark.faults]

WRITER = """
import sys
from rollview.warehouse import Warehouse
wh = Warehouse(sys.argv[1])
wh.write()
if sys.argv[2] == "in a transaction":
    transaction = wh.ledger.atomic()
    transaction.__enter__()
    wh.ledger.set_view("g", state="stopped", reason="never committed")
print("ready", flush=True)
sys.stdin.read()
"""
READER = """
import sys
from rollview.warehouse import Warehouse
wh = Warehouse(sys.argv[1], create=False)
print([(s.name, s.view_time, s.state) for s in wh.status()], len(wh.history()))
"""


WITHOUT_JVM = """
import os, signal, sys
from rollview.errors import RefreshError
from rollview.spark.session import make_session
from rollview.warehouse import Warehouse
spark = make_session({"spark.driver.memory": "1g"}, "local[2]")
jvm = spark._jvm.java.lang.ProcessHandle.current().pid()
wh = Warehouse(sys.argv[1], spark)
wh.capture()
relations, view = wh.relations, wh.view("g")
os.kill(jvm, signal.SIGKILL)
from rollview.propagate import propagate
try:
    propagate(relations, view.definition, wh.ledger.newest_csn(), view.options)
except RefreshError as error:
    print(type(error).__name__, error.what, len(wh.ledger.intents()))
"""


@contextmanager
def process(program: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Another Python; it is killed at the end, if it still runs."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", program, *map(str, arguments)]
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


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below the folder, but for those that SQLite keeps beside an open ledger."""
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and not p.name.endswith(("-wal", "-shm"))
    }


def test_the_second_writer_is_told_who_writes_and_since_when(tmp_path: Path) -> None:
    with process(WRITER, tmp_path, "") as writer:
        assert said(writer) == "ready"
        with Warehouse(tmp_path) as wh, pytest.raises(WarehouseLocked) as caught:
            wh.capture()
    error = caught.value
    assert str(tmp_path) in error.what
    assert f"process {writer.pid}" in error.detail
    assert re.search(r"since 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC", error.detail)
    assert f"kill {writer.pid}" in error.hint


@pytest.mark.spark
@pytest.mark.slow
def test_readers_work_while_another_process_writes(world: World) -> None:
    with process(WRITER, world.warehouse, "in a transaction") as writer:
        assert said(writer) == "ready"
        with world.open() as wh:
            check_shown(world, wh)
            assert {s.state for s in wh.status()} == {"ready"}
        with process(READER, world.warehouse) as reader:
            assert said(reader) == "[('g', 1, 'ready'), ('j', 1, 'ready')] 4"
        for write in (lambda w: w.refresh(), lambda w: w.drop("g"), lambda w: w.alter("g", {})):
            with world.open() as wh, pytest.raises(WarehouseLocked):
                write(wh)


@pytest.mark.spark
@pytest.mark.slow
def test_a_kill_frees_the_lock_and_undoes_what_was_not_committed(world: World) -> None:
    with process(WRITER, world.warehouse, "in a transaction") as writer:
        assert said(writer) == "ready"
        writer.send_signal(signal.SIGKILL)
        assert writer.wait() == -signal.SIGKILL
    with world.open() as wh:
        assert wh.status("g").state == "ready"
        wh.refresh()
        check_finished(world, wh, ("g", "j"))


@pytest.mark.spark
@pytest.mark.slow
def test_a_jvm_that_dies_is_not_taken_for_a_bad_row(world: World) -> None:
    with process(WITHOUT_JVM, world.warehouse) as orphan:
        assert (
            said(orphan)
            == 'RefreshError view "g" cannot be refreshed: the Spark session has ended 0'
        )
    with world.open() as wh:
        wh.refresh("g")
        check_finished(world, wh, ("g",))


def test_a_second_warehouse_object_in_one_process_is_refused_too(tmp_path: Path) -> None:
    with Warehouse(tmp_path) as first, Warehouse(tmp_path) as second:
        first.write()
        with pytest.raises(WarehouseLocked, match="already open for writing in this process"):
            second.write()
        assert second.status() == []


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A warehouse that nobody has open."""
    with Warehouse(tmp_path / "wh") as wh:
        wh.write()
    return tmp_path / "wh"


def test_a_warehouse_of_a_newer_rollview_is_not_touched(closed: Path) -> None:
    with closing(sqlite3.connect(closed / "ledger.db")) as ledger, ledger:
        ledger.execute("UPDATE rv_warehouse SET schema_version = 99")
    before = contents(closed)
    with pytest.raises(WarehouseTooNew) as caught:
        Warehouse(closed)
    assert "99" in caught.value.detail and caught.value.hint == "upgrade rollview"
    assert contents(closed) == before


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no ledger " * 500)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def scribbled(path: Path) -> None:
    """The first page is as it was, so that only reading on tells."""
    data = path.read_bytes()
    path.write_bytes(data[:4096] + bytes(byte ^ 0xA5 for byte in data[4096:]))


def of_another_program(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE theirs (x INT)")


@pytest.mark.parametrize("damage", [garbage, truncated, emptied, scribbled, of_another_program])
def test_a_damaged_ledger_is_named_and_not_made_worse(closed: Path, damage: object) -> None:
    assert callable(damage)
    damage(closed / "ledger.db")
    before = contents(closed)
    with pytest.raises(LedgerDamaged) as caught, Warehouse(closed) as wh:
        wh.status()
        wh.capture()
    assert str(closed / "ledger.db") in caught.value.what
    assert "backup" in caught.value.hint
    assert contents(closed) == before


def test_a_missing_warehouse_is_not_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no warehouse"):
        Warehouse(tmp_path / "nothing", create=False)
    assert not (tmp_path / "nothing").exists()


FULL_AT = [
    (Failpoint.BUILD_BEFORE_RENAME, "create in pieces"),
    (Failpoint.STEP_AFTER_INTENT, "refresh groups"),
    (Failpoint.STEP_AFTER_WRITE, "refresh groups"),
    (Failpoint.FOLD_AFTER_INTENT, "fold buckets"),
    (Failpoint.FOLD_AFTER_DELTA_COMMIT, "fold buckets"),
]
"""Where files are written; the ledger's own writes are tried on a disk that is really full."""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(("point", "name"), FULL_AT, ids=[p.value for p, _ in FULL_AT])
def test_a_disk_that_is_full_at_a_failpoint(
    origin: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: Failpoint, name: str
) -> None:
    """The same process goes on once there is space."""
    world = SCENARIOS[name].world(origin, tmp_path)
    with world.open() as wh:
        monkeypatch.setenv("ROLLVIEW_FAILPOINTS", f"{point.value}=enospc")
        with pytest.raises((RefreshError, WarehouseError), match="the disk is full") as caught:
            SCENARIOS[name].act(wh)
        assert "free some space" in caught.value.hint
        monkeypatch.delenv("ROLLVIEW_FAILPOINTS")
        check_shown(world, wh)
        SCENARIOS[name].again(wh)
        check_finished(world, wh, SCENARIOS[name].views)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("leave", [0, 96 * 1024], ids=["no-byte", "room-for-the-ledger"])
def test_a_disk_that_is_really_full(world: World, small_disk: Disk, leave: int) -> None:
    """With nothing left the ledger cannot write; with some left, Spark cannot."""
    shutil.move(world.warehouse, small_disk.path / "wh")
    world.warehouse.symlink_to(small_disk.path / "wh")
    ballast = small_disk.fill(leave)
    for attempt in (
        lambda w: w.refresh(),
        lambda w: w.refresh("j", full=True),
        lambda w: w.fold("g"),
    ):
        with pytest.raises(RollviewError) as caught, world.open() as wh:
            attempt(wh)
        assert isinstance(caught.value, (RefreshError, WarehouseError))
        assert re.search("full|[Ss]pace left", str(caught.value)), caught.value
        if leave:  # without a byte SQLite cannot even be opened
            with world.open() as wh:
                check_shown(world, wh)
    ballast.unlink()
    with world.open() as wh:
        check_shown(world, wh)
    with world.open() as wh:
        wh.refresh()
        for view in ("g", "j"):
            wh.fold(view)
        check_finished(world, wh, ("g", "j"))


LIMITED = """
import resource, signal, sys
from rollview.errors import WarehouseError
from rollview.warehouse import Warehouse
wh = Warehouse(sys.argv[1])
wh.write()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
try:
    wh.ledger.begin("step", "v", {"folder": "x" * 100_000})
except WarehouseError as error:
    print(str(error).replace(chr(10), " / "))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(len(wh.ledger.intents()))
wh.ledger.begin("step", "v", {"folder": "views/v"})
print(len(wh.ledger.intents()))
"""


def test_a_ledger_that_may_not_grow(closed: Path) -> None:
    """No write is half there, and the same process goes on once it may."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    with process(LIMITED, closed) as limited:
        assert re.match(
            f'ledger "{closed}/ledger.db" cannot be .*written.* / .* / hint: ', said(limited)
        )
        assert [said(limited), said(limited)] == ["0", "1"]
    with Warehouse(closed) as wh:
        wh.write()
        assert wh.recovered and wh.ledger.intents() == []
