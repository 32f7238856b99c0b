"""A PostgreSQL source comes: publication, slot with its exported snapshot, and what the ledger is to know of it.

Y1  Everything is checked before anything is made on the server; what was made is taken back if the rest fails.
Y2  Slot and publication carry the warehouse's and the source's name: a slot of this name that no ledger row knows is
    what an interrupted attempt left, and is dropped.
Y3  The tables are locked against DDL from before the slot until their rows are loaded: snapshot, catalogue and stream
    agree.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import sql

from rollview.changes import Csn
from rollview.errors import ConfigError, SourceError
from rollview.failpoints import Failpoint, failpoint
from rollview.ledger.store import BaseRelation, BlockRow, Ledger, Source, Stream
from rollview.sources.postgresql import slot
from rollview.sources.postgresql.catalogue import FoundTable, chosen_tables, described
from rollview.sources.postgresql.checklist import Point, checklist, refuse
from rollview.sources.postgresql.connect import Connection, connected, explained
from rollview.sources.postgresql.fingerprint import fingerprint
from rollview.sources.postgresql.load import Moment, Part, begin_at, parts_of
from rollview.sources.postgresql.table import MODES, Modes, Table, mode_of, table_of
from rollview.sources.postgresql.types import spark_type

LONGEST_NAME = 63
TABLE_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A source that is ready on the server: its stream, its tables, and the moment at which to load them."""

    stream: Stream
    tables: tuple[tuple[Table, FoundTable], ...]
    parts: Mapping[str, list[Part]]
    moment: Moment


def slot_name(ledger: Ledger, source: str) -> str:
    """The name of the source's slot, which no other warehouse uses (Y2)."""
    return _fitting(f"rollview_{ledger.warehouse_id[:8]}_{source}")


def publication_name(source: str) -> str:
    """The name of the source's publication, unless the owner made one of another name."""
    return _fitting(f"rollview_{source}")


def _fitting(name: str) -> str:
    """A name that the server takes whole, and that no other one becomes."""
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def checked_tables(
    connection: Connection,
    source: str,
    wanted: Sequence[str] | Mapping[str, str] | None,
    modes: Modes,
) -> tuple[tuple[Table, FoundTable], ...]:
    """The tables that will be captured, each checked (Y1)."""
    for mode in [modes] if isinstance(modes, str) else modes.values():
        if mode not in MODES:
            raise ConfigError(f'mode cannot be "{mode}"', hint=f"one of: {', '.join(MODES)}")
    chosen = chosen_tables(connection, source, wanted)
    for name, found in chosen.items():
        if not TABLE_NAME.fullmatch(name) or name.startswith("_rv_"):
            raise ConfigError(
                f'a table cannot be called "{name}"', "lower-case letters, digits and _ only",
                f'give it a name of its own: tables={{"name": "{found.place}"}}',
            )  # fmt: skip
    return tuple(
        (described(connection, f"{source}.{name}", found, mode_of(modes, found.place)), found)
        for name, found in chosen.items()
    )


def points_of(
    ledger: Ledger,
    url: str,
    source: str,
    wanted: Sequence[str] | Mapping[str, str] | None,
    mode: str,
) -> list[Point]:
    """The check-list of a source, as `prepared` will find it."""
    with connected(url, source) as connection, explained(source):
        chosen = chosen_tables(connection, source, wanted).values()
        places = [(found.schema, found.table) for found in chosen]
        name, published = slot_name(ledger, source), publication_name(source)
        return checklist(connection, places, published, name, mode)


def points_now(ledger: Ledger, source: Source) -> list[Point]:
    """The check-list of a source that is registered."""
    stream = ledger.stream(source.name)
    assert stream is not None, "a PostgreSQL source has a stream"
    oids = [int(r.table_id) for r in ledger.relations(source.name)]
    with connected(source.config["postgres"], source.name) as connection, explained(source.name):
        places = connection.execute(
            "SELECT n.nspname, c.relname, c.oid::bigint FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ANY(%s) ORDER BY 1, 2", [oids],
        ).fetchall()  # fmt: skip
        tables = [(schema, table) for schema, table, _ in places]
        by_oid = {int(r.table_id): table_of(r).mode for r in ledger.relations(source.name)}
        modes = {f"{schema}.{table}": by_oid[oid] for schema, table, oid in places}
        return checklist(connection, tables, stream.publication, stream.slot, modes)


@contextmanager
def prepared(
    ledger: Ledger,
    url: str,
    source: str,
    wanted: Sequence[str] | Mapping[str, str] | None,
    modes: Modes,
    publication: str | None = None,
) -> Iterator[Prepared]:
    """Make publication and slot; inside, the tables can be loaded. An error inside takes both back."""
    name, published = slot_name(ledger, source), publication or publication_name(source)
    with connected(url, source, writes=True) as connection:
        tables = checked_tables(connection, source, wanted, modes)
        places = [(found.schema, found.table) for _, found in tables]
        points = checklist(connection, places, published, name, modes)
        refuse(source, [p for p in points if not p.subject.startswith("publication")])
        made = _publish(connection, source, published, [found for _, found in tables])
        try:
            slot.drop(connection, name)
            failpoint(Failpoint.SLOT_BEFORE_CREATE)
            with (
                _locked(connection, [found for _, found in tables]),
                connected(url, source, replication=True) as replication,
                slot.created(replication, connection, name) as exported,
            ):
                failpoint(Failpoint.SLOT_AFTER_CREATE)
                yield _pinned(url, source, tables, name, published, exported)
        except Exception:
            taken_back(url, source, name, published if made else None)
            raise


@contextmanager
def prepared_more(
    ledger: Ledger,
    url: str,
    stream: Stream,
    wanted: Sequence[str] | Mapping[str, str] | None,
    mode: str,
) -> Iterator[Prepared | None]:
    """Publish tables that the source does not have yet; inside, they can be loaded. None: it has them all.

    A temporary slot gives the moment: the stream must be captured up to its position, and no further, before the
    tables join it.
    """
    source, known = stream.source, {r.location for r in ledger.relations(stream.source)}
    oids = [int(r.table_id) for r in ledger.relations(source)]
    with connected(url, source, writes=True) as connection:
        chosen = chosen_tables(connection, source, wanted)
        more = {n: t.place for n, t in chosen.items() if t.place not in known}
        if not more:
            yield None
            return
        tables = checked_tables(connection, source, more, mode)
        found = [place for _, place in tables]
        _publish_more(connection, stream, found)
        with (
            _locked(connection, found),
            connected(url, source, replication=True) as replication,
            slot.created(replication, connection, f"{stream.slot[:57]}_more", True) as exported,
        ):
            yield _pinned(url, source, tables, stream.slot, stream.publication, exported, oids)


def _publish_more(connection: Connection, stream: Stream, tables: Sequence[FoundTable]) -> None:
    """Add what the publication does not publish yet."""
    listed = connection.execute(
        "SELECT schemaname || '.' || tablename FROM pg_publication_tables WHERE pubname = %s",
        [stream.publication],
    ).fetchall()
    there = {place for (place,) in listed}
    names = [sql.Identifier(t.schema, t.table) for t in tables if t.place not in there]
    if names and stream.fingerprint["publication"][-1] is False:
        text = sql.SQL("ALTER PUBLICATION {} ADD TABLE {}").format(
            sql.Identifier(stream.publication), sql.SQL(", ").join(names)
        )
        try:
            connection.execute(text)
        except psycopg.errors.DuplicateObject:
            pass  # a partitioned table is listed by its partitions
        except psycopg.Error as error:
            raise ConfigError(
                f'tables cannot be added to source "{stream.source}"', str(error).strip(),
                f"let the owner of the publication run: {text.as_string(connection)}",
            ) from None  # fmt: skip


def _pinned(
    url: str,
    source: str,
    tables: tuple[tuple[Table, FoundTable], ...],
    name: str,
    published: str,
    exported: slot.Exported,
    others: Sequence[int] = (),
) -> Prepared:
    """What the ledger is to know, once catalogue and tables are locked and the slot is there (Y3).

    `others`: the oids of tables that the source has already.
    """
    with connected(url, source) as leader:
        text = begin_at(leader, exported.snapshot)
        parts = {table.name: parts_of(leader, table) for table, _ in tables}
    with connected(url, source) as other:
        seen = fingerprint(other, published, [*others, *(table.oid for table, _ in tables)])
        now = slot.server(other)
    stream = Stream(
        source, name, published, seen["publication"][0], now.system_id, now.timeline,
        exported.position, seen,
    )  # fmt: skip
    return Prepared(stream, tables, parts, Moment(exported.snapshot, text))


@contextmanager
def _locked(connection: Connection, tables: Sequence[FoundTable]) -> Iterator[None]:
    """The tables cannot be altered while inside; reading and writing goes on."""
    with connection.transaction():
        for table in tables:
            name = sql.Identifier(table.schema, table.table)
            connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(name))
        yield


def _publish(connection: Connection, source: str, name: str, tables: Sequence[FoundTable]) -> bool:
    """Make the publication, or check the one that the owner made; whether it was made now."""
    there = connection.execute(
        "SELECT puballtables, pubviaroot, pubinsert AND pubupdate AND pubdelete AND pubtruncate"
        " FROM pg_publication WHERE pubname = %s", [name],
    ).fetchone()  # fmt: skip
    names = sql.SQL(", ").join(sql.Identifier(t.schema, t.table) for t in tables)
    make = sql.SQL("CREATE PUBLICATION {} FOR TABLE {}").format(sql.Identifier(name), names)
    if there is None:
        try:
            connection.execute(make)
        except psycopg.Error as error:
            raise ConfigError(
                f'source "{source}" cannot be added: its publication cannot be made',
                str(error).strip(),
                f"let the owner of the tables run: {make.as_string(connection)}",
            ) from None
        return True
    everything, via_root, all_kinds = there
    listed = connection.execute(
        "SELECT prrelid::bigint, prqual IS NULL AND prattrs IS NULL FROM pg_publication_rel r"
        " JOIN pg_publication p ON p.oid = r.prpubid WHERE p.pubname = %s", [name],
    ).fetchall()  # fmt: skip
    whole = {oid for oid, plain in listed if plain}
    missing = [t.place for t in tables if not everything and t.oid not in whole]
    if via_root or not all_kinds or missing:
        raise ConfigError(
            f'publication "{name}" of source "{source}" does not publish every change',
            f"it lacks, or publishes only a part of: {', '.join(missing)}" if missing
            else "it leaves out a kind of change, or publishes partitions via their root",
            f'DROP PUBLICATION "{name}"; {make.as_string(connection)}',
        )  # fmt: skip
    return False


def taken_back(url: str, source: str, name: str, publication: str | None) -> None:
    """Drop slot and publication, as far as the server can be reached: an error before must not be hidden."""
    try:
        with connected(url, source, writes=True) as connection:
            slot.drop(connection, name)
            if publication is not None:
                unpublish(connection, publication)
    except (SourceError, psycopg.Error):
        pass


def unpublish(connection: Connection, name: str) -> None:
    """Drop the publication, if it is there."""
    connection.execute(sql.SQL("DROP PUBLICATION IF EXISTS {}").format(sql.Identifier(name)))


def relation_of(
    table: Table, found: FoundTable, stream: Stream, csn: Csn, rows: int | None
) -> BaseRelation:
    """The ledger's row of a table, registered as of `csn`."""
    properties = {
        "mode": table.mode,
        "identity": table.identity,
        "key": list(table.key),
        "columns": [[c.name, c.type_oid, c.modifier, c.codec] for c in table.columns],
    }
    return BaseRelation(
        name=table.name,
        source=stream.source,
        location=found.place,
        table_id=str(table.oid),
        position=stream.position,
        columns=tuple((c.name, spark_type(c.codec)) for c in table.columns),
        base_csn=csn,
        base_position=stream.position,
        rows=found.rows if rows is None else rows,
        bytes=0,
        stopped=None,
        properties=properties,
    )


def block_of(name: str, csn: Csn) -> BlockRow:
    """The table's log, and its copy if it gets one: a rolled table of no view."""
    folder = f"tables/{name}-{uuid.uuid4().hex[:8]}"
    return BlockRow(name, None, 0, folder, (), csn, None, (csn,), 0, 0)
