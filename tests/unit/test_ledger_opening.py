"""Opening a ledger: made, missing, too new, too old, damaged (L9 to L12)."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import ledger_rows as make
import pytest
from sqlalchemy import Connection, text

from rollview.changes import Csn
from rollview.errors import (
    ConfigError,
    LedgerDamaged,
    RollviewError,
    StepConflict,
    WarehouseError,
    WarehouseLocked,
    WarehouseTooNew,
)
from rollview.ledger import schema
from rollview.ledger.engine import explained
from rollview.ledger.lock import WriteLock
from rollview.ledger.store import BlockRow, Ledger

pytest_plugins = ["servers"]


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """A warehouse with three commits, closed."""
    ledger = make.registered(Ledger.open(tmp_path / "wh", create=True))
    for csn in (1, 2, 3):
        ledger.add_commit(make.commit(csn), [make.change(csn)])
    ledger.close()
    return tmp_path / "wh"


def run_sql(warehouse: Path, *statements: str) -> None:
    with closing(sqlite3.connect(warehouse / "ledger.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_a_new_warehouse_is_private(tmp_path: Path) -> None:
    warehouse = tmp_path / "deep" / "wh"
    ledger = Ledger.open(warehouse, create=True)
    assert stat.S_IMODE(warehouse.stat().st_mode) == 0o700
    assert stat.S_IMODE((warehouse / "ledger.db").stat().st_mode) == 0o600
    assert len(ledger.warehouse_id) == 32
    again = Ledger.open(warehouse, create=True)
    assert again.warehouse_id == ledger.warehouse_id
    again.close()
    ledger.close()
    assert [path.name for path in warehouse.iterdir()] == ["ledger.db"]


def test_the_settings_of_sqlite(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path, create=True)
    with ledger.engine.connect() as connection:
        for name, value in {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}.items():
            assert connection.exec_driver_sql(f"PRAGMA {name}").scalar() == value
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() >= 10_000
    ledger.close()


def test_one_of_many_creators_wins(tmp_path: Path) -> None:
    def create(_: int) -> str:
        ledger = Ledger.open(tmp_path / "wh", create=True)
        ledger.close()
        return ledger.warehouse_id

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(create, range(8)))) == 1
    assert [path.name for path in (tmp_path / "wh").iterdir()] == ["ledger.db"]


def test_l12_a_missing_warehouse_is_named_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="rollview init") as raised:
        Ledger.open(tmp_path / "nowhere")
    assert str(tmp_path / "nowhere") in raised.value.what
    assert not (tmp_path / "nowhere").exists()
    with pytest.raises(ConfigError, match=r"ledger\.db"):
        Ledger.open(tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="not a folder"):
        Ledger.open(tmp_path / "file", create=True)


def test_l12_a_reader_changes_nothing_and_needs_no_lock(warehouse: Path) -> None:
    before = (warehouse / "ledger.db").read_bytes()
    with WriteLock(warehouse):
        ledger = Ledger.open(warehouse)
        assert ledger.newest_csn() == 3
        ledger.close()
    assert (warehouse / "ledger.db").read_bytes() == before
    assert {path.name for path in warehouse.iterdir()} == {"ledger.db", ".rollview.lock"}


def test_reading_loads_no_spark(warehouse: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from rollview.ledger.store import Ledger; "
        "Ledger.open(Path(sys.argv[1])).close(); sys.exit('pyspark' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", script, str(warehouse)]
    assert subprocess.run(command, env=environment).returncode == 0


def test_l10_a_newer_ledger_is_left_alone(warehouse: Path) -> None:
    run_sql(warehouse, "UPDATE rv_warehouse SET schema_version = 99")
    for create in (False, True):
        with pytest.raises(WarehouseTooNew, match="99") as raised:
            Ledger.open(warehouse, create=create)
        assert f"up to {schema.newest_version()}" in raised.value.detail
        assert "upgrade" in raised.value.hint


def _garbage(path: Path) -> None:
    path.write_bytes(os.urandom(8192))


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _cut_in_header(path: Path) -> None:
    os.truncate(path, 50)


def _scribbled(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        file.write(os.urandom(4000))


def _table_gone(path: Path) -> None:
    run_sql(path.parent, "DROP TABLE rv_steps")


def _column_gone(path: Path) -> None:
    run_sql(path.parent, "ALTER TABLE rv_views DROP COLUMN reason")


def _first_table_gone(path: Path) -> None:
    run_sql(path.parent, "DROP TABLE rv_warehouse")


def _no_identity(path: Path) -> None:
    run_sql(path.parent, "DELETE FROM rv_warehouse")


def _foreign(path: Path) -> None:
    path.unlink()
    run_sql(path.parent, "CREATE TABLE songs (title TEXT)")


@pytest.mark.parametrize(
    "damage",
    [
        _garbage, _empty, _cut, _cut_in_header, _scribbled, _table_gone, _column_gone,
        _first_table_gone, _no_identity, _foreign,
    ],
)  # fmt: skip
def test_l11_damage_is_named_and_not_made_worse(
    warehouse: Path, damage: Callable[[Path], None]
) -> None:
    path = warehouse / "ledger.db"
    damage(path)
    before = path.read_bytes()
    for create in (False, True):
        with pytest.raises(LedgerDamaged) as raised:
            Ledger.open(warehouse, create=create)
        assert str(path) in raised.value.what and "backup" in raised.value.hint
    assert path.read_bytes() == before


def test_the_missing_table_is_named(warehouse: Path) -> None:
    _table_gone(warehouse / "ledger.db")
    with pytest.raises(LedgerDamaged, match="rv_steps"):
        Ledger.open(warehouse)


def test_damage_found_later_is_named_too(warehouse: Path) -> None:
    ledger = Ledger.open(warehouse)
    run_sql(warehouse, "DROP TABLE rv_intents")
    with pytest.raises(LedgerDamaged, match=r"ledger\.db"):
        ledger.intents()
    ledger.close()


def test_a_log_without_its_ledger_is_damage(warehouse: Path) -> None:
    (warehouse / "ledger.db").rename(warehouse / "ledger.db-wal")
    with pytest.raises(LedgerDamaged, match="missing"):
        Ledger.open(warehouse, create=True)


def _add_colour(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE rv_views ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'"))


def _add_size(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE rv_views ADD COLUMN size INTEGER"))


def test_l9_an_older_ledger_is_brought_up_to_date(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = schema.newest_version()
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, _add_colour, _add_size])
    with pytest.raises(WarehouseError, match="older rollview") as raised:
        Ledger.open(warehouse)
    assert f"version {known}" in raised.value.detail
    assert f"reads {known + 2}" in raised.value.detail
    Ledger.open(warehouse, create=True).close()
    ledger = Ledger.open(warehouse)
    with ledger.engine.connect() as connection:
        found = connection.execute(text("SELECT schema_version FROM rv_warehouse")).scalar()
        connection.execute(text("SELECT colour, size FROM rv_views"))
    assert found == known + 2 and ledger.newest_csn() == 3
    assert ledger.changes_of("lake.sales", Csn(2), Csn(3)) == [make.change(3)]
    ledger.close()
    Ledger.open(warehouse, create=True).close()


def test_a_ledger_of_the_first_schema(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        connection.executescript((Path(__file__).parent / "ledger-1.sql").read_text("utf-8"))
    with pytest.raises(WarehouseError, match="older rollview"):
        Ledger.open(tmp_path)
    ledger = Ledger.open(tmp_path, create=True)
    assert ledger.blocks("v") == sorted(make.blocks(), key=lambda b: b.number)
    assert ledger.steps("v") == [make.step("s1", 1, 2)]
    assert ledger.steps("v#0") == [make.step("s2", 3, 3, "v#0")]
    table = BlockRow("lake.sales", None, 0, "tables/s", (), Csn(3), None, (Csn(3),), 0, 0)
    ledger.add_block(table)
    assert ledger.block("lake.sales") == table and ledger.stream("lake") is None
    ledger.drop_view("v")
    assert ledger.steps("v") == [] and len(ledger.trash()) == 4
    ledger.close()
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        made = _indexes(connection)
    Ledger.open(tmp_path / "fresh", create=True).close()
    with closing(sqlite3.connect(tmp_path / "fresh" / "ledger.db")) as connection:
        assert made == _indexes(connection)


def _indexes(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    query = "SELECT m.name, i.name FROM sqlite_master m, pragma_index_info(m.name) i WHERE m.name LIKE 'rv_%'"
    return sorted(connection.execute(query).fetchall())


def test_the_first_schema_in_postgres(postgres_database: Callable[[], str], tmp_path: Path) -> None:
    url = postgres_database()
    ledger = make.registered(Ledger.open(tmp_path, url, create=True))
    with ledger.engine.begin() as connection:
        connection.execute(text("ALTER TABLE rv_blocks ALTER COLUMN view SET NOT NULL"))
        connection.execute(text("ALTER TABLE rv_blocks DROP COLUMN told_by"))
        connection.execute(text("DROP TABLE rv_streams"))
        for index in ("rv_commits_xid", "rv_commits_position"):
            connection.execute(text(f"DROP INDEX {index}"))
        connection.execute(text("UPDATE rv_warehouse SET schema_version = 1"))
    ledger.close()
    ledger = Ledger.open(tmp_path, url, create=True)
    ledger.add_block(BlockRow("lake.sales", None, 0, "t", (), Csn(3), None, (Csn(3),), 0, 0))
    ledger.put_stream(make.stream())
    assert ledger.stream("lake") == make.stream()
    ledger.drop_source("lake")
    assert ledger.stream("lake") is None and ledger.block("lake.sales") is None
    assert [folder for folder, _ in ledger.trash()] == ["t"]
    ledger.close()


def test_a_failed_migration_leaves_the_old_ledger(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(connection: Connection) -> None:
        raise KeyError("half way")

    known = schema.MIGRATIONS
    monkeypatch.setattr(schema, "MIGRATIONS", [*known, _add_colour, fail])
    with pytest.raises(KeyError):
        Ledger.open(warehouse, create=True)
    monkeypatch.setattr(schema, "MIGRATIONS", [*known, _add_colour])
    Ledger.open(warehouse, create=True).close()


def test_migration_needs_the_lock(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", "import fcntl, sys; f = open(sys.argv[1], 'w'); "
         "fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()",
         str(warehouse / ".rollview.lock")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    with holder:
        assert holder.stdout is not None and holder.stdout.readline()
        monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, _add_colour])
        with pytest.raises(WarehouseLocked):
            Ledger.open(warehouse, create=True)
        holder.communicate()
    with WriteLock(warehouse):
        Ledger.open(warehouse, create=True).close()


def test_a_ledger_in_postgres(postgres_database: Callable[[], str], tmp_path: Path) -> None:
    url, warehouse = postgres_database(), tmp_path / "wh"
    with pytest.raises(ConfigError, match="rollview init"):
        Ledger.open(warehouse, url)
    warehouse.mkdir()
    with pytest.raises(ConfigError, match="no ledger"):
        Ledger.open(warehouse, url)
    ledger = Ledger.open(warehouse, url, create=True)
    ledger.close()
    assert list(warehouse.iterdir()) == []
    again = Ledger.open(warehouse, url)
    assert again.warehouse_id == ledger.warehouse_id
    with again.engine.begin() as connection:
        connection.execute(text("DROP TABLE rv_steps"))
    with pytest.raises(LedgerDamaged):
        again.steps("v")
    again.close()
    with pytest.raises(LedgerDamaged, match="rv_steps"):
        Ledger.open(warehouse, url)


def test_migration_in_postgres(
    postgres_database: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres_database()
    Ledger.open(tmp_path, url, create=True).close()
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, _add_colour])
    with pytest.raises(WarehouseError, match="older rollview"):
        Ledger.open(tmp_path, url)
    Ledger.open(tmp_path, url, create=True).close()
    Ledger.open(tmp_path, url).close()


@pytest.mark.parametrize("url", ["mysql://u:sesame@h/d", "sesame", "postgresql://u:sesame@h:x/d"])
def test_l5_a_bad_url_is_refused_without_being_shown(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigError, match="postgresql://") as raised:
        Ledger.open(tmp_path, url, create=True)
    assert "sesame" not in str(raised.value)
    assert raised.value.__context__ is None or raised.value.__suppress_context__


def test_l5_an_unreachable_server_is_named_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="cannot be reached") as raised:
        Ledger.open(tmp_path, "postgresql://user:sesame@127.0.0.1:1/ledger", create=True)
    assert "127.0.0.1:1/ledger" in raised.value.what and "sesame" not in str(raised.value)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (sqlite3.OperationalError("database or disk is full"), WarehouseError),
        (sqlite3.OperationalError("database is locked"), WarehouseError),
        (sqlite3.OperationalError("attempt to write a readonly database"), WarehouseError),
        (sqlite3.DatabaseError("database disk image is malformed"), LedgerDamaged),
        (sqlite3.IntegrityError("UNIQUE constraint failed: rv_steps.id"), StepConflict),
        (sqlite3.OperationalError("something new"), WarehouseError),
    ],
)
def test_errors_in_our_words(error: Exception, kind: type[RollviewError]) -> None:
    with pytest.raises(kind) as raised, explained("/wh/ledger.db"):
        raise error
    assert type(raised.value) is kind and "/wh/ledger.db" in raised.value.what
    assert raised.value.detail == str(error)
