"""The ledger's schema version: made, checked and brought up to date.

L9   MIGRATIONS[k] takes schema k + 1 to k + 2. A fresh ledger is made from ledger/tables.py at
     once; a migrated one must end up with the same columns, and opening checks that.
L10  A ledger of a newer schema is not touched: it may mean things that this code does not know.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime, timezone

from sqlalchemy import Connection, insert, select, text, update

from rollview.errors import LedgerDamaged, WarehouseTooNew
from rollview.ledger import tables
from rollview.ledger.engine import RESTORE


def _to_2(connection: Connection) -> None:
    """PostgreSQL sources: their streams, and rolled tables that belong to no view."""
    sqlite = connection.dialect.name == "sqlite"
    whole = "INTEGER" if sqlite else "BIGINT"
    for statement in (*(_BLOCKS_2 if sqlite else _BLOCKS_2_POSTGRESQL), _STREAMS_2):
        connection.execute(text(statement.format(whole=whole)))


_STREAMS_2 = (
    "CREATE TABLE rv_streams (source TEXT NOT NULL PRIMARY KEY REFERENCES rv_sources (name)"
    " ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, slot TEXT NOT NULL, publication TEXT NOT NULL,"
    " publication_oid {whole} NOT NULL, system_id TEXT NOT NULL, timeline {whole} NOT NULL,"
    " position {whole} NOT NULL, fingerprint TEXT NOT NULL)"
)
_BLOCKS_2_POSTGRESQL = ("ALTER TABLE rv_blocks ALTER COLUMN view DROP NOT NULL",)
# SQLite cannot drop a NOT NULL: both tables are made anew, so that no cascade meets a row on the way.
_BLOCKS_2 = (
    "ALTER TABLE rv_steps RENAME TO rv_steps_1",
    "ALTER TABLE rv_blocks RENAME TO rv_blocks_1",
    "DROP INDEX rv_steps_block",
    "CREATE TABLE rv_blocks (name TEXT NOT NULL PRIMARY KEY, view TEXT REFERENCES rv_views (name)"
    " ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, number INTEGER NOT NULL,"
    " folder TEXT NOT NULL UNIQUE, frontier TEXT NOT NULL, oldest INTEGER NOT NULL,"
    " folded_version INTEGER, fold_times TEXT NOT NULL, rows INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL, UNIQUE (view, number))",
    "CREATE TABLE rv_steps (id TEXT NOT NULL PRIMARY KEY, block TEXT NOT NULL REFERENCES rv_blocks (name)"
    " ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, folder TEXT NOT NULL UNIQUE, lo INTEGER NOT NULL,"
    " hi INTEGER NOT NULL, rows INTEGER NOT NULL, taken INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " committed_at DATETIME NOT NULL)",
    "INSERT INTO rv_blocks SELECT name, view, number, folder, frontier, oldest, folded_version,"
    " fold_times, rows, bytes FROM rv_blocks_1",
    "INSERT INTO rv_steps SELECT id, block, folder, lo, hi, rows, taken, bytes, committed_at FROM rv_steps_1",
    "DROP TABLE rv_steps_1",
    "DROP TABLE rv_blocks_1",
    "CREATE INDEX rv_steps_block ON rv_steps (block, hi)",
)


def _to_3(connection: Connection) -> None:
    """Transactions are found by the id and the position that they have at their source."""
    for column in ("xid", "position"):
        connection.execute(
            text(f"CREATE INDEX rv_commits_{column} ON rv_commits (source, {column})")
        )


def _to_4(connection: Connection) -> None:
    """Which columns tell folded rows apart."""
    connection.execute(text("ALTER TABLE rv_blocks ADD COLUMN told_by TEXT"))


MIGRATIONS: list[Callable[[Connection], None]] = [_to_2, _to_3, _to_4]

SHAPE = {
    "sqlite": "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c "
    "WHERE m.type = 'table'",
    "postgresql": "SELECT table_name, column_name FROM information_schema.columns "
    "WHERE table_schema = current_schema()",
}


def newest_version() -> int:
    """The schema version that this code writes."""
    return 1 + len(MIGRATIONS)


def create(connection: Connection) -> None:
    """Make all tables, and the warehouse's identity."""
    tables.metadata.create_all(connection, checkfirst=False)
    connection.execute(
        insert(tables.warehouse).values(
            id=uuid.uuid4().hex,
            schema_version=newest_version(),
            created_at=datetime.now(timezone.utc),
        )
    )


def migrate(connection: Connection) -> None:
    """Bring an older ledger up to date, one version after the other (L9)."""
    version = connection.execute(select(tables.warehouse.c.schema_version)).scalar_one()
    for migration in MIGRATIONS[version - 1 :]:
        migration(connection)
    connection.execute(update(tables.warehouse).values(schema_version=newest_version()))


def found_version(connection: Connection, name: str) -> int | None:
    """The schema version of the ledger; None if the database has no table of ours at all."""
    found = {table for table, _ in _shape(connection)}
    if tables.warehouse.name not in found:
        if any(table.name in found for table in tables.metadata.sorted_tables):
            raise damaged(name, f"it has no table {tables.warehouse.name}")
        return None
    row = connection.execute(text(f"SELECT schema_version FROM {tables.warehouse.name}")).first()
    if row is None:
        raise damaged(name, f"table {tables.warehouse.name} is empty")
    if row[0] > newest_version():
        raise WarehouseTooNew(
            f'ledger "{name}" was written by a newer rollview',
            f"it has schema version {row[0]}; this rollview knows them up to {newest_version()}",
            "upgrade rollview",
        )
    return int(row[0])


def checked_id(connection: Connection, name: str) -> str:
    """The warehouse's identity, once every table and column is found to be there (L9)."""
    wanted = {(t.name, c.name) for t in tables.metadata.sorted_tables for c in t.columns}
    missing = sorted(wanted - _shape(connection))
    if missing:
        table, column = missing[0]
        raise damaged(name, f"it has no column {column} in table {table}")
    return warehouse_id(connection)


def warehouse_id(connection: Connection) -> str:
    """The warehouse's identity."""
    return str(connection.execute(select(tables.warehouse.c.id)).scalar_one())


def _shape(connection: Connection) -> set[tuple[str, str]]:
    rows = connection.execute(text(SHAPE[connection.dialect.name]))
    return {(table, column) for table, column in rows}


def damaged(name: str, detail: str) -> LedgerDamaged:
    """The error for a ledger that cannot be used as it is."""
    return LedgerDamaged(f'ledger "{name}" is damaged or is no ledger', detail, RESTORE)
