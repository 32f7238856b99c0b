"""Tables found in the server's catalogue, checked, with the codec of each column.

G1  A table is taken only if every later change of it can be told and every value of it kept: it is logged, says what
    a row was before a change (or its key, if a copy knows the rest), and each column has a codec (types.py). What is
    in the way is named, with the column.
Generated columns are computed by the server and are not in its stream: they are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rollview.errors import ConfigError
from rollview.sources.postgresql.connect import Connection
from rollview.sources.postgresql.table import Table, TableColumn
from rollview.sources.postgresql.types import ServerType, codec_of

RESERVED_PREFIX = "_rv_"

FOUND = """
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, c.relpersistence::text, greatest(c.reltuples, 0)::bigint,
    EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid) AND c.relkind = 'r',
    ARRAY(SELECT a.attname::text FROM pg_index x
          CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY k(number, place)
          JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
          WHERE x.indrelid = c.oid AND x.indisprimary ORDER BY k.place)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
ORDER BY 2, 3"""

COLUMNS = """
SELECT a.attname, a.atttypid::bigint, a.atttypmod, format_type(a.atttypid, a.atttypmod),
    coalesce(l.collisdeterministic, true)
FROM pg_attribute a LEFT JOIN pg_collation l ON l.oid = a.attcollation
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum"""

TYPES = """
SELECT t.oid::bigint, t.typname, t.typtype::text, n.nspname = 'pg_catalog', t.typbasetype::bigint, t.typtypmod,
    t.typelem::bigint, t.typcategory::text
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = ANY(%s)"""

IDENTITIES = """
SELECT c.oid::regclass::text, c.relreplident::text
FROM (SELECT relid::oid AS oid FROM pg_partition_tree(%(oid)s::oid::regclass) WHERE isleaf
      UNION SELECT %(oid)s::oid) t JOIN pg_class c ON c.oid = t.oid
WHERE c.relkind = 'r' ORDER BY 1"""


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table of the server: its name there, and about how many rows it has."""

    oid: int
    schema: str
    table: str
    kind: str
    persistence: str
    rows: int
    inherited: bool
    key: list[str]

    @property
    def place(self) -> str:
        """The name with its schema."""
        return f"{self.schema}.{self.table}"


def found_tables(connection: Connection) -> list[FoundTable]:
    """Every table of the database that is no partition of another."""
    rows = connection.execute(FOUND).fetchall()
    return [FoundTable(*row) for row in rows]


def chosen_tables(
    connection: Connection, source: str, wanted: Sequence[str] | Mapping[str, str] | None
) -> dict[str, FoundTable]:
    """The wanted tables by the name that they get: "public.orders" becomes "orders"."""
    there = {t.place: t for t in found_tables(connection)}
    if wanted is None:
        wanted = [place for place in there if place.startswith("public.")]
    named = dict(wanted) if isinstance(wanted, Mapping) else {_short(w): w for w in wanted}
    if len(named) < len(wanted):
        raise ConfigError(
            f'two tables of source "{source}" have the same name', ", ".join(wanted),
            'give them names of their own: tables={"name": "schema.table", …}',
        )  # fmt: skip
    chosen = {}
    for name, place in named.items():
        full = place if "." in place else f"public.{place}"
        if full not in there:
            raise ConfigError(
                f'source "{source}" has no table "{place}"',
                f"tables there: {', '.join(there) or 'none that this role may see'}",
                "name it with its schema, as in public.orders; a partition is captured with its root",
            )
        chosen[name] = there[full]
    if not chosen:
        raise ConfigError(f'source "{source}" has no tables', hint="name them: tables=[…]")
    return chosen


def _short(place: str) -> str:
    return place.rpartition(".")[2].lower()


def described(connection: Connection, name: str, found: FoundTable, mode: str) -> Table:
    """The table, once it is known to be one that can be captured (G1)."""
    if found.persistence != "p":
        raise _refused(name, "it is unlogged or temporary: the server does not log its changes")
    if found.inherited:
        raise _refused(name, "other tables inherit from it", "name those tables one by one")
    columns = connection.execute(COLUMNS, [found.oid]).fetchall()
    types = _types(connection, [c[1] for c in columns])
    chosen, seen = [], dict[str, str]()
    for column, oid, modifier, written, deterministic in columns:
        _check_name(name, column, seen)
        try:
            codec = codec_of(oid, modifier, types)
        except ValueError as problem:
            raise _refused(name, f'column "{column}" is of type {written}: {problem}',
                           "leave the column out: capture a table without it") from None  # fmt: skip
        if not deterministic:
            raise _refused(
                name, f'column "{column}" has a collation in which different texts are equal'
            )
        chosen.append(TableColumn(column, oid, modifier, codec))
    if not chosen:
        raise _refused(name, "it has no columns")
    identity = _identity(connection, name, found, mode)
    keys = [c for c in chosen if c.name in found.key]
    if identity == "key" and any(c.codec.endswith("[]") for c in keys):
        raise _refused(
            name, "an array is part of its key", f"ALTER TABLE {found.place} REPLICA IDENTITY FULL"
        )
    return Table(name, found.oid, mode, identity, tuple(found.key), tuple(chosen))


def _check_name(table: str, column: str, seen: dict[str, str]) -> None:
    lowered = column.lower()
    if lowered.startswith(RESERVED_PREFIX):
        raise _refused(table, f'column "{column}": rollview needs names that begin so')
    if lowered in seen:
        raise _refused(table, f'columns "{seen[lowered]}" and "{column}" differ only by case')
    seen[lowered] = column


def _identity(connection: Connection, name: str, found: FoundTable, mode: str) -> str:
    """What the stream says of old rows: all of them ("full"), or their key, by which a copy finds them."""
    identity = "full"
    for place, logged in connection.execute(IDENTITIES, {"oid": found.oid}).fetchall():
        if logged == "d" and found.key and mode == "replica":
            identity = "key"
        elif logged != "f":
            raise _refused(
                name,
                f"the server does not log what a row of {place} was before a change",
                f"ALTER TABLE {place} REPLICA IDENTITY FULL",
            )
    return identity


def unmapped(connection: Connection, oid: int) -> list[tuple[str, str, str]]:
    """The columns of a table that have no codec: name, type, and why."""
    columns = connection.execute(COLUMNS, [oid]).fetchall()
    types, found = _types(connection, [c[1] for c in columns]), []
    for column, type_oid, modifier, written, _ in columns:
        try:
            codec_of(type_oid, modifier, types)
        except ValueError as problem:
            found.append((column, written, str(problem)))
    return found


def _types(connection: Connection, oids: Sequence[int]) -> dict[int, ServerType]:
    """The types and those that they are made of."""
    known: dict[int, ServerType] = {}
    wanted = set(oids)
    while wanted:
        rows = connection.execute(TYPES, [list(wanted)]).fetchall()
        known |= {row[0]: ServerType(*row[1:]) for row in rows}
        made_of = {t.base for t in known.values()} | {t.element for t in known.values()}
        wanted = made_of - known.keys() - {0}
    return known


def _refused(name: str, detail: str, hint: str = "") -> ConfigError:
    return ConfigError(f'table "{name}" cannot be captured', detail, hint)
