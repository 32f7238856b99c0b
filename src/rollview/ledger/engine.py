"""Connections to the ledger's database, and its errors in rollview's words.

L4  SQLite: write-ahead log, synchronous=FULL, foreign keys on; the driver starts no transaction by
    itself: a write starts with BEGIN IMMEDIATE, a lone read with nothing. Connecting never creates a file.
L5  PostgreSQL: an error never shows the password of the URL.
Knows no table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from rollview.errors import ConfigError, LedgerDamaged, RollviewError, StepConflict, WarehouseError

BUSY_SECONDS = 30
"""How long a write waits for another one; each is a matter of milliseconds."""

BEGIN = "rollview_begin"
"""The execution option that says how a SQLite transaction begins."""

RESTORE = (
    "restore it from a backup; without one, move the warehouse away, run `rollview init` and "
    "create the views again: source tables are never touched"
)

# (SQLSTATEs of PostgreSQL, fragments of SQLite's message) -> what it means here
MEANINGS: list[tuple[tuple[str, ...], tuple[str, ...], type[RollviewError], str, str]] = [
    (
        ("53100",),
        ("disk is full",),
        WarehouseError,
        "cannot be written: the disk is full",
        "nothing was half done; free some space and try again",
    ),
    (
        ("42P01", "42703"),
        ("not a database", "malformed", "no such table", "no such column", "file format"),
        LedgerDamaged,
        "is damaged or is no ledger",
        RESTORE,
    ),
    (
        ("23503", "23505", "23502"),
        ("constraint failed",),
        StepConflict,
        "does not accept this: it contradicts what is there",
        "",
    ),
    (
        ("55P03", "40001", "40P01"),
        ("is locked",),
        WarehouseError,
        "is busy: another process writes to it",
        "try again; `rollview doctor` shows who holds the warehouse",
    ),
    (
        ("25006", "42501"),
        ("readonly database",),
        WarehouseError,
        "cannot be written: no permission",
        "check who owns the warehouse folder and its files",
    ),
    (
        (),
        ("unable to open", "disk I/O error"),
        WarehouseError,
        "cannot be read or written",
        "check that the disk has space left and works, and that the folder and its files are yours",
    ),
]


def sqlite_engine(path: Path) -> Engine:
    """Connections to an existing SQLite file (L4)."""
    uri = f"file:{quote(str(path.absolute()))}?mode=rw"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(
            uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )

    engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool, max_overflow=-1)

    @event.listens_for(engine, "connect")
    def _set(connection: Any, _record: Any) -> None:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        how = connection.get_execution_options().get(BEGIN)
        if how is not None:  # else a statement is a transaction of its own
            connection.exec_driver_sql(how)

    return engine


def postgres_engine(url: str) -> Engine:
    """Connections to a PostgreSQL database, through psycopg."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise _bad_url() from None  # the parser's message would show the password (L5)
    if parsed.drivername not in ("postgres", "postgresql", "postgresql+psycopg"):
        raise _bad_url()
    parsed = parsed.set(drivername="postgresql+psycopg")
    return create_engine(
        parsed, connect_args={"connect_timeout": 10}, max_overflow=-1, pool_pre_ping=True
    )


def label(engine: Engine, warehouse: Path) -> str:
    """How errors name the ledger: its file, or its URL without the password (L5)."""
    if engine.dialect.name == "sqlite":
        return str(warehouse / "ledger.db")
    return engine.url.set(drivername="postgresql").render_as_string(hide_password=True)


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn what the database raises into an error that names the ledger and says what to do."""
    try:
        yield
    except (sqlite3.Error, DBAPIError) as error:
        raise _explained(error, name) from error


def _explained(error: Exception, name: str) -> RollviewError:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    state, message = getattr(cause, "sqlstate", None), str(cause).strip()
    for states, fragments, kind, what, hint in MEANINGS:
        if state in states or (not state and any(part in message for part in fragments)):
            return kind(f'ledger "{name}" {what}', message, hint)
    if isinstance(cause, sqlite3.Error):
        return WarehouseError(f'ledger "{name}" cannot be used', message)
    return WarehouseError(
        f'ledger "{name}" cannot be reached or used',
        message,
        "check that the server runs and that the URL, user and password are right",
    )


def _bad_url() -> ConfigError:
    return ConfigError(
        "the ledger's URL cannot be used",
        "it is not a PostgreSQL URL",
        "write postgresql://user@host:5432/database, or leave it out for a file in the warehouse",
    )
