"""One writing process per warehouse.

L13  The lock dies with the process that holds it, however it dies: flock on a file and, for a
     PostgreSQL ledger, also an advisory lock of a session of its own.
L14  No child process inherits the lock, so that a JVM that outlives rollview does not keep it.
L15  The lock file is never deleted: otherwise two processes could lock two files of the same name.
Readers need no lock.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, delete, func, select
from sqlalchemy.exc import SQLAlchemyError

from rollview.errors import WarehouseError, WarehouseLocked
from rollview.ledger.engine import explained
from rollview.ledger.holder import (
    Holder,
    locked,
    read_file,
    read_table,
    this_process,
    write_file,
    write_table,
)
from rollview.ledger.tables import writers

if TYPE_CHECKING:
    from rollview.ledger.store import Ledger

__all__ = ["FileLock", "Holder", "SessionLock", "WriteLock", "held_here", "holder"]

LOCK = ".rollview.lock"

# Whoever asks for the holder takes the lock, shared, for an instant: a writer tries for a while.
TRIES, PAUSE_SECONDS = 6, 0.05

_here: dict[Path, int] = {}  # lock files that this process holds, and their descriptors
_guard = threading.Lock()


class FileLock:
    """The lock of the warehouse folder."""

    def __init__(self, warehouse: Path) -> None:
        self.warehouse = warehouse
        self.path = warehouse.resolve() / LOCK
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock, or say who has it."""
        with _guard:
            if self.path in _here:
                raise WarehouseLocked(
                    f'warehouse "{self.warehouse}" is already open for writing in this process',
                    hint="use the warehouse that is open, or close it first",
                )
            descriptor = self._opened()
            try:
                self._lock(descriptor)
                write_file(descriptor, this_process())
            except OSError as error:
                os.close(descriptor)
                raise _cannot_lock(self.warehouse, error) from error
            except BaseException:
                os.close(descriptor)
                raise
            self._descriptor = _here[self.path] = descriptor

    def release(self) -> None:
        """Give the lock back; nothing happens if it is not held."""
        with _guard:
            if self._held():
                descriptor = _here.pop(self.path)
                os.ftruncate(descriptor, 0)
                os.close(descriptor)
            self._descriptor = None

    def held(self) -> bool:
        """Whether this object holds the lock."""
        with _guard:
            return self._held()

    def __enter__(self) -> FileLock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _held(self) -> bool:
        # A forked child has a copy of this object, but not the lock (L14).
        return self._descriptor is not None and _here.get(self.path) == self._descriptor

    def _opened(self) -> int:
        try:
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _cannot_lock(self.warehouse, error) from error

    def _lock(self, descriptor: int) -> None:
        for left in reversed(range(TRIES)):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise _cannot_lock(self.warehouse, error) from error
                if not left:
                    raise locked(self.warehouse, read_file(descriptor)) from None
            time.sleep(PAUSE_SECONDS)


class SessionLock:
    """The lock of a PostgreSQL ledger: held by a connection that does nothing else."""

    def __init__(self, engine: Engine, warehouse: Path, warehouse_id: str) -> None:
        self.engine, self.warehouse = engine, warehouse
        self.name = engine.url.render_as_string(hide_password=True)
        self.key = _key(warehouse_id)
        self._connection: Connection | None = None

    def acquire(self) -> None:
        """Take the lock, or say who has it."""
        with explained(self.name):
            connection = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            connection.detach()  # closing it closes the session, and with it the lock
            try:
                if not connection.scalar(select(func.pg_try_advisory_lock(self.key))):
                    raise locked(self.warehouse, read_table(connection))
                write_table(connection, this_process())
            except BaseException:
                connection.close()
                raise
        self._connection = connection

    def release(self) -> None:
        """Give the lock back; nothing happens if it is not held."""
        if self.held():
            assert self._connection is not None
            self._connection.execute(delete(writers))
            self._drop()

    def held(self) -> bool:
        """Whether the session that holds the lock still lives; once lost, it stays lost."""
        try:
            return self._connection is not None and bool(self._connection.scalar(select(1)))
        except SQLAlchemyError:
            self._drop()
            return False

    def __enter__(self) -> SessionLock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class WriteLock:
    """The right to write to a warehouse: to its folder, and to its ledger if in PostgreSQL."""

    def __init__(self, warehouse: Path, ledger: Ledger | None = None) -> None:
        self._parts: list[FileLock | SessionLock] = [FileLock(Path(warehouse))]
        if ledger is not None and ledger.engine.dialect.name == "postgresql":
            self._parts.append(SessionLock(ledger.engine, warehouse, ledger.warehouse_id))

    def acquire(self) -> None:
        """Take the lock, or raise WarehouseLocked saying who has it."""
        with ExitStack() as undo:
            for part in self._parts:
                part.acquire()
                undo.callback(part.release)
            undo.pop_all()

    def release(self) -> None:
        """Give the lock back; nothing happens if it is not held."""
        for part in reversed(self._parts):
            part.release()

    def held(self) -> bool:
        """Whether the lock is still ours: the session in PostgreSQL can be lost."""
        return all(part.held() for part in self._parts)

    def __enter__(self) -> WriteLock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def holder(warehouse: Path, ledger: Ledger | None = None) -> Holder | None:
    """Who writes to the warehouse just now; None if nobody does.

    A writer on another machine is seen only with its PostgreSQL `ledger` given.
    """
    return _file_holder(Path(warehouse)) or (None if ledger is None else _session_holder(ledger))


def held_here(warehouse: Path) -> bool:
    """Whether this very process has the lock of the warehouse's folder."""
    return warehouse.resolve() / LOCK in _here


def _file_holder(warehouse: Path) -> Holder | None:
    try:
        descriptor = os.open(warehouse / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _cannot_lock(warehouse, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return read_file(descriptor)
    finally:
        os.close(descriptor)
    return None


def _session_holder(ledger: Ledger) -> Holder | None:
    if ledger.engine.dialect.name != "postgresql":
        return None
    key = _key(ledger.warehouse_id)
    with explained(ledger.name), ledger.engine.connect() as connection:
        # The server shows a one-number key as two halves, with objsubid 1.
        held = connection.exec_driver_sql(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            " AND classid::bigint = %(high)s AND objid::bigint = %(low)s",
            {"high": key >> 32, "low": key & 0xFFFFFFFF},
        ).scalar()
        return read_table(connection) if held else None


def _key(warehouse_id: str) -> int:
    """The number to lock: 60 bits of the identity, which fit a signed bigint."""
    return int(warehouse_id[:15], 16)


def _cannot_lock(warehouse: Path, error: OSError) -> WarehouseError:
    return WarehouseError(
        f'warehouse "{warehouse}" cannot be locked',
        error.strerror or str(error),
        "the warehouse must be a folder that you may write to, with space left, on a file system that has flock",
    )


def _close_in_child() -> None:
    """After a fork, let the child drop its copies: the lock stays with the parent (L14)."""
    global _guard
    _guard = threading.Lock()  # a thread of the parent may have held it
    for descriptor in _here.values():
        os.close(descriptor)
    _here.clear()


os.register_at_fork(after_in_child=_close_in_child)
