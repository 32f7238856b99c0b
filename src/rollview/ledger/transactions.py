"""Transactions of the ledger: one at a time per thread, nested ones join the outermost.

L6  Everything inside the outermost atomic() is committed together or not at all.
L7  An exception that leaves an inner atomic() undoes the outermost one, even if it is caught on the
    way: half of an intended change is never committed.
L8  Everything read inside snapshot() or atomic() is of one moment. A write inside snapshot() is
    refused.
Writes exclude each other (BEGIN IMMEDIATE, or an advisory lock in PostgreSQL); reads never wait.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, Engine

from rollview.errors import WarehouseError
from rollview.ledger.engine import BEGIN, explained

# Two-number advisory locks do not meet the one-number lock of ledger/lock.py.
ONE_WRITE = "SELECT pg_advisory_xact_lock(29302, 1)"


@dataclass(slots=True)
class _Transaction:
    connection: Connection
    writes: bool
    failed: bool = False

    @contextmanager
    def part(self) -> Iterator[None]:
        """A part of the transaction: if it fails, the whole has failed (L7)."""
        try:
            yield
        except BaseException:
            self.failed = True
            raise


class Transactions:
    """An engine, and the transaction that each thread has open on it."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine, self.name = engine, name
        self._local = threading.local()

    @property
    def open(self) -> bool:
        """Whether this thread has a transaction open."""
        return self._current() is not None

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """One write transaction (L6), or a part of the one that is open (L7)."""
        current = self._current()
        if current is None:
            with self._outermost(writes=True):
                yield
            return
        if not current.writes:
            raise RuntimeError("a write inside snapshot(): use atomic() around both")
        with current.part():
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One read transaction (L8), or a part of the one that is open."""
        if self._current() is not None:
            yield
            return
        with self._outermost(writes=False):
            yield

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read on."""
        current = self._current()
        with explained(self.name):
            if current is not None:
                with current.part():
                    yield current.connection
            else:
                with self.engine.connect() as connection:
                    yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection to write on, inside atomic()."""
        with self.atomic(), explained(self.name):
            current = self._current()
            assert current is not None
            yield current.connection

    def _current(self) -> _Transaction | None:
        current: _Transaction | None = getattr(self._local, "current", None)
        if current is not None and current.failed:
            raise self._undone()
        return current

    @contextmanager
    def _outermost(self, *, writes: bool) -> Iterator[None]:
        with explained(self.name):
            connection = self._begun(writes)
        current = self._local.current = _Transaction(connection, writes)
        try:
            yield
            if current.failed:
                raise self._undone()
            with explained(self.name):
                self._commit(connection)
        finally:
            self._local.current = None
            connection.close()  # rolls back whatever was not committed

    def _begun(self, writes: bool) -> Connection:
        sqlite = self.engine.dialect.name == "sqlite"
        connection = self.engine.connect()
        try:
            if sqlite:
                how = "BEGIN IMMEDIATE" if writes else "BEGIN"
                connection = connection.execution_options(**{BEGIN: how})
            elif not writes:
                connection = connection.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            connection.begin()
            # The first read fixes the moment (L8): without one, BEGIN alone would leave it open.
            first = ONE_WRITE if writes and not sqlite else "SELECT count(*) FROM rv_warehouse"
            if not (sqlite and writes):
                connection.exec_driver_sql(first)
        except BaseException:
            connection.close()
            raise
        return connection

    def _commit(self, connection: Connection) -> None:
        try:
            connection.commit()
        except BaseException:
            # SQLite keeps a transaction open whose commit failed: closing the connection undoes it.
            connection.invalidate()
            raise

    def _undone(self) -> WarehouseError:
        return WarehouseError(
            f'ledger "{self.name}": the transaction was undone',
            "a part of it had failed and the failure was passed over",
        )
