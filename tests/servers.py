"""Real PostgreSQL servers for the tests. Use: `pytest_plugins = ["servers"]`, then ask for a fixture."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg import sql

from rollview.sources.postgresql.server import Server

DATABASE = Callable[[], str]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One running server for the whole run (wal_level = logical)."""
    with Server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server(postgres: Server) -> str:
    """The URL of the server's own database."""
    return postgres.url()


@pytest.fixture
def postgres_database(postgres_server: str) -> DATABASE:
    """Makes an empty schema and gives a URL that leads there: quicker than a database each."""

    def make() -> str:
        name = f"rv_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{postgres_server}&options=-csearch_path%3D{name}"

    return make


@pytest.fixture
def database(postgres: Server) -> Iterator[DATABASE]:
    """Makes empty databases and gives their URLs; their slots, connections and rows go at the end."""
    made: list[str] = []

    def make() -> str:
        made.append(f"rv_{uuid.uuid4().hex[:12]}")
        with psycopg.connect(postgres.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(made[-1])))
        return postgres.url(made[-1])

    yield make
    for name in made:
        drop_database(postgres, name)


def drop_database(server: Server, name: str) -> None:
    """Drop a database with everything that keeps it: sessions, slots, prepared transactions."""
    with psycopg.connect(
        server.url(name), autocommit=True, options="-cstatement_timeout=0"
    ) as inside:
        for (gid,) in inside.execute(
            "SELECT gid FROM pg_prepared_xacts WHERE database = %s", [name]
        ).fetchall():
            inside.execute(sql.SQL("ROLLBACK PREPARED {}").format(sql.Literal(gid)))
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
            [name],
        )
        connection.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
            " WHERE database = %s",
            [name],
        )
        connection.execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        )
