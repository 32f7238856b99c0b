"""The server that the tests and the demo start: logical, private, and gone when it is done."""

import os
import signal
import socket
import stat
import subprocess
import sys
import time

import psycopg
import pytest

from rollview.sources.postgresql import server as servers
from rollview.sources.postgresql.server import Server

pytest_plugins = ["servers"]


def ask(url, query, **more):
    with psycopg.connect(url, **more) as connection:
        return connection.execute(query).fetchone()[0]


def test_it_decodes(postgres):
    assert ask(postgres.url(), "SHOW wal_level") == "logical"
    assert ask(postgres.url(), "SHOW server_encoding") == "UTF8"


def test_y1_only_loopback_and_only_with_the_password(postgres):
    assert ask(postgres.url(), "SHOW listen_addresses") == "127.0.0.1"
    assert stat.S_IMODE(os.stat(postgres.passfile).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(postgres.folder).st_mode) == 0o700
    assert ask(postgres.tcp_url(), "SELECT 1", passfile=str(postgres.passfile)) == 1
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(postgres.tcp_url(), passfile="/dev/null")


def test_y2_not_root(postgres):
    owner = os.stat(f"/proc/{postgres._process.pid}").st_uid
    assert owner != 0


def test_databases_are_dropped_with_their_slots(postgres, database):
    from servers import drop_database

    url = database()
    name = ask(url, "SELECT current_database()")
    ask(url, "SELECT pg_create_logical_replication_slot('left_behind', 'pgoutput')")
    drop_database(postgres, name)
    assert ask(postgres.url(), f"SELECT count(*) FROM pg_database WHERE datname = '{name}'") == 0
    assert ask(postgres.url(), "SELECT count(*) FROM pg_replication_slots"
                               " WHERE slot_name = 'left_behind'") == 0  # fmt: skip
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # the fixture drops it once more


def test_y3_a_crash_keeps_the_rows_and_the_end_takes_all():
    with Server() as server:
        with psycopg.connect(server.url()) as connection:
            connection.execute("CREATE TABLE t AS SELECT 7 AS a")
        server.stop(signal.SIGQUIT)
        server.start()
        assert ask(server.url(), "SELECT a FROM t") == 7
        folder, process = server.folder, server._process.pid
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_y3_it_goes_with_a_process_that_is_killed():
    program = (
        "import os, signal; from rollview.sources.postgresql.server import Server; s = Server();"
        " s.start(); print(s.folder, s.port, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    folder, port = ended.stdout.split()
    until = time.monotonic() + 60
    while os.path.exists(folder) and time.monotonic() < until:
        time.sleep(0.05)
    assert not os.path.exists(folder)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(port))) != 0


def test_a_machine_without_postgresql_says_so(monkeypatch):
    monkeypatch.setattr(servers, "programs", lambda: None)
    with pytest.raises(servers.ConfigError, match="no PostgreSQL server"):
        Server()
