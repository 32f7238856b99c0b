"""Who holds a warehouse's lock: what is written beside the lock, and the message made of it.

It serves the reader of an error only; whether the lock is held, the kernel or the server knows.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from sqlalchemy import Connection, delete, insert, select

from rollview.errors import WarehouseLocked
from rollview.ledger.tables import writers


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that writes to a warehouse; pid 0 if it did not say who it is."""

    pid: int
    host: str
    command: str
    started_at: datetime

    def __str__(self) -> str:
        if not self.pid:
            return "a process that has not said who it is"
        since = self.started_at.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"process {self.pid} on {self.host} ({self.command}) since {since}"


def this_process() -> Holder:
    """This process, without the passwords that its command line may have."""
    program, *arguments = sys.argv or [""]
    command = " ".join([Path(program).name or "python", *arguments])
    command = re.sub(r"(://[^:/@\s]*):[^@\s]*@", r"\1:***@", command)
    return Holder(os.getpid(), socket.gethostname(), command[:200], datetime.now(timezone.utc))


def write_file(descriptor: int, holder: Holder) -> None:
    """Write into the lock file who holds it."""
    said = {"pid": holder.pid, "host": holder.host, "command": holder.command}
    said["started_at"] = holder.started_at.isoformat()
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(said).encode(), 0)


def read_file(descriptor: int) -> Holder:
    """Who holds the lock file, as far as it is written there."""
    try:
        said = json.loads(os.pread(descriptor, 65536, 0))
        started_at = datetime.fromisoformat(said["started_at"])
        return Holder(int(said["pid"]), str(said["host"]), str(said["command"]), started_at)
    except (ValueError, KeyError, TypeError):
        return _nameless()  # it has the lock and has not written yet who it is


def write_table(connection: Connection, holder: Holder) -> None:
    """Write into the ledger who holds its lock."""
    row = {"id": 1, "pid": holder.pid, "host": holder.host, "command": holder.command}
    connection.execute(delete(writers))
    connection.execute(insert(writers).values(**row, started_at=holder.started_at))


def read_table(connection: Connection) -> Holder:
    """Who holds the ledger's lock, as far as it is written there."""
    columns = (writers.c.pid, writers.c.host, writers.c.command, writers.c.started_at)
    row = connection.execute(select(*columns)).first()
    return Holder(*row) if row else _nameless()


def locked(warehouse: Path, holder: Holder) -> WarehouseLocked:
    """The error for the process that comes second."""
    there = "" if holder.host == socket.gethostname() else f" on {holder.host}"
    stop = f"stop it (kill {holder.pid}{there})" if holder.pid else "stop it"
    return WarehouseLocked(
        f'warehouse "{warehouse}" is in use by another process',
        f"{holder} writes to it",
        f"wait until it ends, or {stop} and try again; reading needs no lock",
    )


def _nameless() -> Holder:
    return Holder(0, "", "", datetime.now(timezone.utc))
