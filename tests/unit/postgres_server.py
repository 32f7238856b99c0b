"""A real PostgreSQL server for the tests: temporary, on a Unix socket, and no root."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

DATABASE = Callable[[], str]


def _program(name: str) -> str | None:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return str(found[0]) if found else shutil.which(name)


def _user() -> str | None:
    """The server refuses to run as root: another user has to do it."""
    if os.geteuid() != 0:
        return getpass.getuser()
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


def _ready(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > until:
                pytest.skip("the PostgreSQL server on this machine does not start")
            time.sleep(0.05)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of the server's own database."""
    initdb, postgres, user = _program("initdb"), _program("postgres"), _user()
    if not (initdb and postgres and user):
        pytest.skip("no PostgreSQL server on this machine")
    folder = Path(tempfile.mkdtemp(prefix="rv-pg-", dir="/tmp"))  # a socket's path must be short
    shutil.chown(folder, user)
    run_as = {"user": user} if os.geteuid() == 0 else {}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    data = str(folder / "data")
    made = subprocess.run([initdb, "-D", data, "-U", "rv", "-A", "trust", "-N"], **quiet, **run_as)
    if made.returncode:
        shutil.rmtree(folder)
        pytest.skip("initdb does not work on this machine")
    command = [
        postgres,
        "-D",
        data,
        "-k",
        str(folder),
        "-c",
        "listen_addresses=",
        "-c",
        "fsync=off",
    ]
    server = subprocess.Popen(command, **quiet, **run_as)
    try:
        url = f"postgresql://rv@/postgres?host={folder}"
        _ready(url, server)
        yield url
    finally:
        server.send_signal(signal.SIGINT)  # fast shutdown
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_database(postgres_server: str) -> DATABASE:
    """Makes an empty schema and gives a URL that leads there: quicker than a database each."""

    def make() -> str:
        name = f"rv_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{postgres_server}&options=-csearch_path%3D{name}"

    return make
