"""The SQL of the two roles: what the owner of the database runs once, and what rollview's role may do from then on.

Least privilege: the runtime role logs in, reads the registered tables and their slot, and writes nothing. REPLICATION
is strong (it reads every publication of the server), so the role gets a password and a connection limit of its own.
Everything is quoted here; nothing is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from psycopg import sql

ROLE = "rollview"
CONNECTIONS = 20
"""Executors of a large read connect too."""

Place = tuple[str, str]
"""Schema and table."""


def quoted(*names: str) -> str:
    """A name as the server reads it, quoted where it must be or not."""
    return sql.Identifier(*names).as_string()


def owner_sql(
    database: str, tables: Sequence[Place], publication: str, role: str = ROLE
) -> list[str]:
    """What the owner of the tables runs once, as a superuser or as their owner with CREATEROLE.

    The password is set by hand (\\password in psql), so that it is in no script.
    """
    schemas = sorted({schema for schema, _ in tables})
    listed = ", ".join(quoted(*table) for table in tables)
    return [
        f"CREATE ROLE {quoted(role)} LOGIN REPLICATION CONNECTION LIMIT {CONNECTIONS};",
        f"GRANT CONNECT, TEMPORARY ON DATABASE {quoted(database)} TO {quoted(role)};",
        *(f"GRANT USAGE ON SCHEMA {quoted(schema)} TO {quoted(role)};" for schema in schemas),
        f"GRANT SELECT ON {listed} TO {quoted(role)};",
        *(identity_sql(table) for table in tables),
        publication_sql(publication, tables),
        *settings_sql(role),
    ]


def settings_sql(role: str = ROLE) -> list[str]:
    """Settings that keep the runtime role from doing harm, whoever uses it."""
    return [
        f"ALTER ROLE {quoted(role)} SET default_transaction_read_only = on;",
        f"ALTER ROLE {quoted(role)} SET lock_timeout = '10s';",
    ]


def removal_sql(
    database: str, tables: Iterable[Place], publication: str, slot: str, role: str = ROLE
) -> list[str]:
    """What takes everything back."""
    return [
        f"SELECT pg_drop_replication_slot({sql.Literal(slot).as_string()});",
        f"DROP PUBLICATION {quoted(publication)};",
        *(f"ALTER TABLE {quoted(*table)} REPLICA IDENTITY DEFAULT;" for table in tables),
        f"DROP OWNED BY {quoted(role)};",
        f"DROP ROLE {quoted(role)};  -- in database {quoted(database)}",
    ]


def identity_sql(table: Place) -> str:
    """Makes the server log what a row was before a change."""
    return f"ALTER TABLE {quoted(*table)} REPLICA IDENTITY FULL;"


def publication_sql(publication: str, tables: Iterable[Place]) -> str:
    """Makes the publication."""
    listed = ", ".join(quoted(*table) for table in tables)
    return f"CREATE PUBLICATION {quoted(publication)} FOR TABLE {listed};"
