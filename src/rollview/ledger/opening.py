"""Opening a ledger: found, made if asked for, and checked.

L11  A ledger file appears whole or not at all: it is made under another name and then linked to its
     own. So an empty or half-made ledger.db is always damage, never a beginning.
L12  Without `create` nothing is made, changed or locked (SQLite itself keeps -wal and -shm files
     beside an open ledger).
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from contextlib import ExitStack, closing
from pathlib import Path

from sqlalchemy import Engine

from rollview.errors import ConfigError, LedgerDamaged, WarehouseError
from rollview.failpoints import Failpoint, failpoint
from rollview.ledger import schema
from rollview.ledger.engine import (
    BEGIN,
    RESTORE,
    explained,
    label,
    postgres_engine,
    sqlite_engine,
)
from rollview.ledger.lock import FileLock, SessionLock, held_here
from rollview.ledger.transactions import Transactions

LEDGER = "ledger.db"


def opened(warehouse: Path, url: str | None, create: bool) -> tuple[Transactions, str]:
    """The ledger's transactions and the warehouse's identity."""
    _folder(warehouse, create)
    engine = postgres_engine(url) if url else _file_engine(warehouse, create)
    transactions = Transactions(engine, label(engine, warehouse))
    try:
        return transactions, _prepared(transactions, warehouse, create)
    except BaseException:
        engine.dispose()
        raise


def _folder(warehouse: Path, create: bool) -> None:
    if warehouse.is_dir():
        return
    if not create:
        raise _no_warehouse(warehouse, "there is no such folder")
    try:
        warehouse.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise ConfigError(f'warehouse "{warehouse}" is not a folder') from None
    except OSError as error:
        raise _unusable(f'warehouse "{warehouse}" cannot be made', error) from error


def _file_engine(warehouse: Path, create: bool) -> Engine:
    path = warehouse / LEDGER
    # Asked before the ledger itself, which another process may be making just now.
    logged = Path(f"{path}-wal").exists()
    if not path.exists():
        if logged:  # SQLite would replay it into a new ledger
            raise LedgerDamaged(f'ledger "{path}" is missing', f"{LEDGER}-wal is there", RESTORE)
        if not create:
            raise _no_warehouse(warehouse, f"it has no {LEDGER}")
        _make_file(path)
    _check_size(path)
    return sqlite_engine(path)


def _make_file(path: Path) -> None:
    """Make a whole ledger under another name, then give it its own (L11)."""
    made = path.with_name(f".{LEDGER}.{uuid.uuid4().hex}")
    try:
        os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        engine = sqlite_engine(made)
        with explained(str(path)):
            try:
                with closing(sqlite3.connect(made)) as plain:
                    plain.execute("PRAGMA journal_mode = WAL")  # the file remembers it
                with engine.connect().execution_options(**{BEGIN: "BEGIN"}) as connection:
                    schema.create(connection)
                    connection.commit()
            finally:
                engine.dispose()
        _link(made, path)
    except OSError as error:
        raise _unusable(f'ledger "{path}" cannot be made', error) from error
    finally:
        for name in (made, Path(f"{made}-wal"), Path(f"{made}-shm")):
            name.unlink(missing_ok=True)


def _link(made: Path, path: Path) -> None:
    failpoint(Failpoint.LEDGER_BEFORE_LINK)
    try:
        os.link(made, path)
    except FileExistsError:
        return  # another process was faster, and its ledger is as good
    failpoint(Failpoint.LEDGER_AFTER_LINK)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _check_size(path: Path) -> None:
    """Notice a foreign or truncated file at once."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
        log = Path(f"{path}-wal")
        logged = log.exists() and log.stat().st_size > 0
        size = path.stat().st_size
    except OSError as error:
        raise _unusable(f'ledger "{path}" cannot be read', error) from error
    if not header.startswith(b"SQLite format 3\0"):
        raise schema.damaged(str(path), "it is not a SQLite file")
    page, pages = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
    # With a log beside it the file may rightly be shorter than its header says.
    if not logged and size < pages * (65536 if page == 1 else page):
        raise schema.damaged(str(path), f"it is cut short: {size} bytes are left")


def _prepared(transactions: Transactions, warehouse: Path, create: bool) -> str:
    name = transactions.name
    with transactions.reading() as connection:
        version = schema.found_version(connection, name)
    if version is None:
        _make_tables(transactions, warehouse, create)
    elif version < schema.newest_version():
        _migrate(transactions, warehouse, version, create)
    with transactions.reading() as connection:
        return schema.checked_id(connection, name)


def _make_tables(transactions: Transactions, warehouse: Path, create: bool) -> None:
    if transactions.engine.dialect.name == "sqlite":
        raise schema.damaged(transactions.name, "it has none of a ledger's tables")
    if not create:
        raise _no_warehouse(warehouse, f'there is no ledger in "{transactions.name}"')
    with transactions.writing() as connection:
        if schema.found_version(connection, transactions.name) is None:
            schema.create(connection)


def _migrate(transactions: Transactions, warehouse: Path, version: int, create: bool) -> None:
    if not create:
        raise WarehouseError(
            f'ledger "{transactions.name}" was written by an older rollview',
            f"it has schema version {version}; this rollview reads {schema.newest_version()}",
            "run `rollview init` once: it brings the ledger up to date and changes nothing else",
        )
    with ExitStack() as locks:  # no process may go on with the old schema in mind
        if not held_here(warehouse):
            locks.enter_context(FileLock(warehouse))
        if transactions.engine.dialect.name == "postgresql":
            locks.enter_context(SessionLock(transactions.engine, warehouse, _id(transactions)))
        with transactions.writing() as connection:
            schema.migrate(connection)


def _id(transactions: Transactions) -> str:
    with transactions.reading() as connection:
        return schema.warehouse_id(connection)


def _unusable(what: str, error: OSError) -> WarehouseError:
    return WarehouseError(
        what,
        error.strerror or str(error),
        "the warehouse must be on a local disk with space left, in a folder that you may write to",
    )


def _no_warehouse(warehouse: Path, detail: str) -> ConfigError:
    return ConfigError(
        f'there is no warehouse in "{warehouse}"', detail, f"run `rollview init {warehouse}`"
    )
