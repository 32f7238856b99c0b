"""The check-list of a PostgreSQL source: everything that capture and exact reads need, looked at before it is needed.

M1  Every point is looked at, whatever was found before: one run shows all that is to do.
M2  A point that fails comes with the SQL that mends it.
M3  Looking changes nothing.
Points come in the order in which they must be mended: a table without an identity that is published refuses updates.
Points are of three kinds: fine, worth a look, in the way. Whether a source is added is decided by whoever asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rollview.errors import ConfigError
from rollview.sources.postgresql import roles
from rollview.sources.postgresql.catalogue import unmapped
from rollview.sources.postgresql.connect import Connection
from rollview.sources.postgresql.roles import Place, quoted
from rollview.sources.postgresql.table import Modes, mode_of

OLDEST_VERSION = 150000
"""Older ones have no row filters and column lists in their catalogue, which the fingerprint reads."""
SAFE_VERSIONS = {15: 19, 16: 15, 17: 11, 18: 6}
"""The releases with the fix of CVE-2026-6471, which concerns plug-ins of logical decoding."""
LONG_SECONDS = 10
"""A write transaction that is open for so long makes a new slot wait for it."""

FINE, LOOK, BAD = "ok", "look", "bad"


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the list: `state` is "ok", "look" or "bad"; `mend` is SQL, one statement a line."""

    state: str
    subject: str
    text: str
    mend: str = ""


def checklist(
    connection: Connection,
    tables: Sequence[Place],
    publication: str,
    slot: str,
    modes: Modes = "live",
) -> list[Point]:
    """Every point, for these tables of the connection's database (M1)."""
    server = _server(connection, slot)
    role = _role(connection, tables)
    each = [
        p for table in tables for p in _table(connection, table, mode_of(modes, ".".join(table)))
    ]
    published = _publication(connection, publication, tables)
    return [*server, *role, *each, *published, *_waiting(connection)]


def refuse(source: str, points: Sequence[Point]) -> None:
    """Raise if a point is in the way, with all of them and the SQL that mends them."""
    bad = [p for p in points if p.state == BAD]
    if bad:
        mends = [line for p in bad for line in p.mend.splitlines()]
        raise ConfigError(
            f'source "{source}" cannot be added: its server is not ready',
            "\n".join(f"{p.subject}: {p.text}" for p in bad),
            "let the owner run:\n" + "\n".join(mends) if mends else "",
        )


def _settings(connection: Connection, *names: str) -> dict[str, str]:
    rows = connection.execute(
        "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [list(names)]
    )
    return dict(rows.fetchall())


def _server(connection: Connection, slot: str) -> Iterator[Point]:
    version = connection.info.server_version
    if version < OLDEST_VERSION:
        yield Point(
            BAD,
            "version",
            f"the server is PostgreSQL {version // 10000}; {OLDEST_VERSION // 10000} is the oldest",
        )
    elif version % 10000 < SAFE_VERSIONS.get(version // 10000, 0):
        safe = f"{version // 10000}.{SAFE_VERSIONS[version // 10000]}"
        yield Point(LOOK, "version", f"the server is older than {safe}, which closes CVE-2026-6471")
    else:
        yield Point(FINE, "version", f"PostgreSQL {version // 10000}.{version % 10000}")
    set_to = _settings(connection, "wal_level", "max_replication_slots", "max_wal_senders",
                       "max_slot_wal_keep_size", "server_encoding")  # fmt: skip
    if set_to["wal_level"] == "logical":
        yield Point(FINE, "wal_level", "logical")
    else:
        yield Point(BAD, "wal_level", f"it is {set_to['wal_level']}: changes cannot be decoded",
                    "ALTER SYSTEM SET wal_level = 'logical';  -- then restart the server")  # fmt: skip
    row = connection.execute(
        "SELECT pg_is_in_recovery(), count(*), count(*) FILTER (WHERE slot_name = %s),"
        " (SELECT count(*) FROM pg_stat_replication) FROM pg_replication_slots", [slot],
    ).fetchone()  # fmt: skip
    assert row is not None, "an aggregate without GROUP BY has one row"
    standby, slots, ours, senders = row
    if standby:
        yield Point(BAD, "server", "it is a standby: its snapshots are not those of the primary")
    yield _free("max_replication_slots", slots - ours, int(set_to["max_replication_slots"]))
    yield _free("max_wal_senders", senders, int(set_to["max_wal_senders"]))
    yield _kept(int(set_to["max_slot_wal_keep_size"]))
    if set_to["server_encoding"] == "SQL_ASCII":
        yield Point(BAD, "encoding", "the database does not know what its texts are (SQL_ASCII)")


def _free(setting: str, used: int, limit: int) -> Point:
    if used < limit:
        return Point(FINE, setting, f"{limit - used} of {limit} free")
    return Point(BAD, setting, f"all {limit} are in use",
                 f"ALTER SYSTEM SET {setting} = {limit + 5};  -- then restart the server")  # fmt: skip


def _kept(megabytes: int) -> Point:
    if megabytes < 0:
        return Point(
            LOOK, "max_slot_wal_keep_size",
            "it is unlimited: if rollview stops for long, its slot can fill the server's disk",
            "ALTER SYSTEM SET max_slot_wal_keep_size = '50GB'; SELECT pg_reload_conf();",
        )  # fmt: skip
    return Point(FINE, "max_slot_wal_keep_size",
                 f"{megabytes:,} MB: a slot that is further behind is dropped")  # fmt: skip


def _role(connection: Connection, tables: Sequence[Place]) -> Iterator[Point]:
    row = connection.execute(
        "SELECT rolname, rolsuper, rolreplication, rolbypassrls, current_database(),"
        " has_database_privilege(current_database(), 'TEMPORARY')"
        " FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    assert row is not None, "the current user is a role"
    role, superuser, replication, _, database, temporary = row
    if superuser:
        yield Point(
            LOOK, "role", f'"{role}" is a superuser: rollview needs far less',
            "\n".join(roles.owner_sql(database, tables, "rollview", roles.ROLE)[:4]),
        )  # fmt: skip
    elif not replication:
        yield Point(BAD, "role", f'"{role}" may not read the stream of changes',
                    f"ALTER ROLE {quoted(role)} REPLICATION;")  # fmt: skip
    else:
        yield Point(FINE, "role", f'"{role}": LOGIN REPLICATION')
    if not temporary:
        yield Point(
            LOOK, "temporary tables", "the role may make none: keys are sent as arrays, in chunks",
            f"GRANT TEMPORARY ON DATABASE {quoted(database)} TO {quoted(role)};",
        )  # fmt: skip


TABLE = """
SELECT c.oid, c.relkind::text, c.relpersistence::text, c.relrowsecurity, row_security_active(c.oid),
    has_schema_privilege(n.oid, 'USAGE'), has_table_privilege(c.oid, 'SELECT'), c.relispartition,
    EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid) AND c.relkind = 'r', current_user
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s"""

KINDS = {"v": "a view", "m": "a materialized view", "f": "a foreign table", "S": "a sequence",
         "i": "an index", "c": "a type"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Found:
    oid: int
    kind: str
    persistence: str
    row_security: bool
    row_security_active: bool
    usage: bool
    select: bool
    partition: bool
    inherited: bool
    role: str


def _table(connection: Connection, table: Place, mode: str) -> Iterator[Point]:
    subject = f"table {'.'.join(table)}"
    row = connection.execute(TABLE, list(table)).fetchone()
    if row is None:
        yield Point(BAD, subject, "it is not there, or the role may not see it")
        return
    found = _Found(*row)
    checks = (_kind, _privileges, _identities(mode), _columns, _types)
    points = [p for check in checks for p in check(connection, table, found)]
    wrong = [Point(state, subject, text, mend) for state, text, mend in points]
    yield from wrong or [
        Point(FINE, subject, "logged, readable, says what rows were before a change")
    ]


Problem = tuple[str, str, str]
Check = Callable[[Connection, Place, _Found], Iterator[Problem]]


def _kind(_: Connection, table: Place, found: _Found) -> Iterator[Problem]:
    if found.kind not in ("r", "p"):
        yield BAD, f"it is {KINDS.get(found.kind, 'no table')}", ""
    elif found.persistence != "p":
        yield (
            BAD,
            "it is unlogged: its changes are not in the WAL",
            f"ALTER TABLE {quoted(*table)} SET LOGGED;",
        )
    elif found.partition:
        yield BAD, "it is a partition: name the table that it is a part of", ""
    elif found.inherited:
        yield BAD, "other tables inherit from it: name those tables one by one", ""


def _privileges(_: Connection, table: Place, found: _Found) -> Iterator[Problem]:
    role = quoted(found.role)
    if not found.usage:
        yield (
            BAD,
            "the role may not use its schema",
            f"GRANT USAGE ON SCHEMA {quoted(table[0])} TO {role};",
        )
    if not found.select:
        yield BAD, "the role may not read it", f"GRANT SELECT ON {quoted(*table)} TO {role};"
    if found.row_security_active:
        yield (BAD, "row security hides rows from the role, but not from the stream of changes",
               f"ALTER ROLE {role} BYPASSRLS;")  # fmt: skip


LEAVES = """
SELECT n.nspname, c.relname, c.relreplident::text, c.relreplident = 'd' AND EXISTS (
    SELECT FROM pg_index x WHERE x.indrelid = c.oid AND x.indisprimary)
FROM (SELECT relid::oid AS oid FROM pg_partition_tree(%(oid)s::oid::regclass) WHERE isleaf
      UNION SELECT %(oid)s::oid) t
JOIN pg_class c ON c.oid = t.oid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' ORDER BY 1, 2"""


def _identities(mode: str) -> Check:
    """A copy finds old rows by their key; whoever keeps none needs them whole."""

    def check(connection: Connection, table: Place, found: _Found) -> Iterator[Problem]:
        rows = connection.execute(LEAVES, {"oid": found.oid}).fetchall()
        bad = [(schema, name) for schema, name, identity, keyed in rows
               if identity != "f" and not (mode == "replica" and keyed)]  # fmt: skip
        if bad:
            whose = "" if bad == [table] else f" of {len(bad)} partitions"
            yield (BAD, f"the rows{whose} before a change are not in the WAL (REPLICA IDENTITY is not FULL)",
                   "\n".join(roles.identity_sql(leaf) for leaf in bad))  # fmt: skip

    return check


COLUMNS = """
SELECT a.attname, a.attgenerated <> '', coalesce(l.collisdeterministic, true), l.collname
FROM pg_attribute a LEFT JOIN pg_collation l ON l.oid = a.attcollation
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""


def _columns(connection: Connection, table: Place, found: _Found) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for name, generated, deterministic, collation in connection.execute(COLUMNS, [found.oid]):
        alter = f"ALTER TABLE {quoted(*table)}"
        if generated:
            yield LOOK, f'column "{name}" is generated and not in the stream: it is left out', ""
        if not deterministic:
            yield (BAD, f'column "{name}" has collation "{collation}", in which different texts are equal',
                   f'{alter} ALTER COLUMN {quoted(name)} TYPE text COLLATE "C";')  # fmt: skip
        other = seen.setdefault(name.lower(), name)
        if other != name:
            yield (BAD, f'columns "{other}" and "{name}" differ only by case',
                   f"{alter} RENAME COLUMN {quoted(name)} TO {quoted(f'{name.lower()}_2')};")  # fmt: skip
        if name.lower().startswith("_rv_"):
            yield (BAD, f'column "{name}": rollview needs names that begin so',
                   f"{alter} RENAME COLUMN {quoted(name)} TO {quoted(name[4:] or 'column')};")  # fmt: skip


def _types(connection: Connection, _: Place, found: _Found) -> Iterator[Problem]:
    for name, written, problem in unmapped(connection, found.oid):
        yield (
            BAD,
            f'column "{name}" is of type {written}: {problem}; capture a table without it',
            "",
        )


PUBLICATION = """
SELECT puballtables, pubinsert AND pubupdate AND pubdelete AND pubtruncate, pubviaroot,
    has_database_privilege(current_database(), 'CREATE')
FROM (SELECT 1) one LEFT JOIN pg_publication ON pubname = %s"""

PUBLISHED = """
SELECT n.nspname, c.relname, to_jsonb(r) -> 'prqual' <> 'null', to_jsonb(r) -> 'prattrs' <> 'null'
FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE p.pubname = %s"""

OWNED = """
SELECT bool_and(pg_has_role(c.relowner, 'USAGE')) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname || '.' || c.relname = ANY(%s)"""


def _publication(connection: Connection, name: str, tables: Sequence[Place]) -> Iterator[Point]:
    subject = f"publication {name}"
    row = connection.execute(PUBLICATION, [name]).fetchone()
    assert row is not None, "one LEFT JOIN one has one row"
    everything, all_kinds, via_root, may_create = row
    if everything is None:
        owned = connection.execute(OWNED, [[".".join(t) for t in tables]]).fetchone()
        if may_create and owned == (True,):
            yield Point(FINE, subject, "it will be made")
        else:
            yield Point(BAD, subject, "it is not there, and the role may not make it",
                        roles.publication_sql(name, tables))  # fmt: skip
        return
    problems = list(_flags(name, all_kinds, via_root))
    listed = {(s, t): (rows, some) for s, t, rows, some in connection.execute(PUBLISHED, [name])}
    for table in tables:
        problems += _listed(name, table, everything, listed.get(table))
    yield from [Point(BAD, subject, text, mend) for text, mend in problems] or [
        Point(FINE, subject, "every kind of change of every table, whole rows")]  # fmt: skip


def _flags(name: str, all_kinds: bool, via_root: bool) -> Iterator[tuple[str, str]]:
    alter = f"ALTER PUBLICATION {quoted(name)} SET"
    if not all_kinds:
        yield ("it leaves out a kind of change",
               f"{alter} (publish = 'insert, update, delete, truncate');")  # fmt: skip
    if via_root:
        yield ("it publishes partitions as their root, which hides a TRUNCATE of one of them",
               f"{alter} (publish_via_partition_root = false);")  # fmt: skip


def _listed(
    name: str, table: Place, everything: bool, found: tuple[bool, bool] | None
) -> Iterator[tuple[str, str]]:
    alter, place = f"ALTER PUBLICATION {quoted(name)}", quoted(*table)
    if found is None and not everything:
        yield f"{'.'.join(table)} is not in it", f"{alter} ADD TABLE {place};"
    elif found is not None and any(found):
        what = "rows" if found[0] else "columns"
        yield (f"it publishes only some {what} of {'.'.join(table)}",
               f"{alter} DROP TABLE {place}; {alter} ADD TABLE {place};")  # fmt: skip


LONG = """
SELECT pid, usename, coalesce(extract(epoch FROM now() - xact_start), 0)::bigint, state, NULL
FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
    AND datname = current_database() AND now() - xact_start > make_interval(secs => %(seconds)s)
UNION ALL SELECT NULL, owner, extract(epoch FROM now() - prepared)::bigint, 'prepared', gid
FROM pg_prepared_xacts WHERE database = current_database()
    AND now() - prepared > make_interval(secs => %(seconds)s) ORDER BY 3 DESC"""


def _waiting(connection: Connection) -> list[Point]:
    """Write transactions that a new slot would wait for."""
    found = []
    for pid, user, age, state, gid in connection.execute(LONG, {"seconds": LONG_SECONDS}):
        who = f"prepared transaction {gid}" if gid else f"process {pid}"
        mend = (f"ROLLBACK PREPARED '{gid}';  -- or COMMIT PREPARED" if gid
                else f"SELECT pg_terminate_backend({pid});")  # fmt: skip
        text = (
            f'{who} of "{user}" has been writing for {age:,} s ({state}): a new slot waits for it'
        )
        found.append(Point(LOOK, "long transactions", text, mend))
    return found or [Point(FINE, "long transactions", "none that writes")]
