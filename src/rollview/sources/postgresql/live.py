"""A live database at one held moment: it is asked for rows, and captured changes bring them to the time asked for.

E1  A table at t is what the moment shows, without the changes that it shows although they are later than t, and with
    those that it does not show although they are not: decided per transaction (snapshots.py).
E2  What the moment may show is known before anything is patched: transactions that are not captured yet are read from
    the slot without consuming them. They are later than every time that can be asked for.
E3  Positions, timeline and logs are of one moment of the ledger: no transaction is both captured and not.
E4  Whoever asks by keys holds a moment no longer than the source allows, since old row versions stay on the server so
    long: a question that would take longer is ended by the server, and asked again in smaller pieces (probe.py).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from psycopg import sql

from rollview.changes import COUNT, STAMP, Csn
from rollview.errors import ChangesLost, SourceError, Unreachable
from rollview.ledger.store import Commit, Ledger, Step, Stream
from rollview.sources.postgresql import keys
from rollview.sources.postgresql.capture import read_batch
from rollview.sources.postgresql.connect import Connection, connected, explained
from rollview.sources.postgresql.history import marked, verified
from rollview.sources.postgresql.slot import flushed
from rollview.sources.postgresql.snapshots import Moment, held, patches
from rollview.sources.postgresql.spool import arrays
from rollview.sources.postgresql.table import Table, Texts, table_of

HOLD_SECONDS = 30.0
"""How long a moment is held at most, unless the source says otherwise (`hold`)."""
LEAST_SECONDS = 1.0
"""What any question may take, however short the time is that a moment may be held."""

INDEXED = """
SELECT EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
    WHERE i.indrelid = %s::oid AND i.indisvalid AND i.indpred IS NULL AND a.attname = ANY(%s))"""
PLACES = """
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ANY(%s)"""


@dataclass(frozen=True, slots=True)
class Query:
    """What one statement asks: columns of a table, of the rows that satisfy a condition."""

    table: str
    columns: tuple[str, ...]
    condition: sql.Composable | None = None


class TooLong(SourceError):
    """A question took as long as a moment may be held (E4)."""


@dataclass(slots=True)
class Asked:
    """What was asked of a server, for reports."""

    round_trips: int = 0
    keys: int = 0
    rows: int = 0

    def add(self, more: Asked) -> None:
        """Count what was asked besides."""
        self.round_trips += more.round_trips
        self.keys += more.keys
        self.rows += more.rows


@dataclass(slots=True)
class Pinned:
    """What one moment of the ledger says of a source (E3)."""

    ledger: Ledger
    warehouse: Path
    stream: Stream
    newest: Csn
    tables: Mapping[str, Table]
    all_tables: Sequence[Table]
    where: str
    hold_seconds: float
    steps: Mapping[str, Sequence[Step]]

    def known(self, position: int) -> Sequence[Commit]:
        """The captured transactions past a position."""
        return self.ledger.commits_past(self.stream.source, position)


@dataclass(slots=True)
class Reading:
    """A database at a held moment; only good inside `reading`."""

    pinned: Pinned
    connection: Connection
    moment: Moment
    names: Mapping[str, sql.Composable]
    stores_keys: bool
    tail: Mapping[str, pa.Table]
    asked: Asked = field(default_factory=Asked)
    _patches: dict[tuple[str, Csn], pa.Table] = field(default_factory=dict)

    def table(self, name: str) -> Table:
        """The table of that name."""
        return self.pinned.tables[name]

    @property
    def old(self) -> bool:
        """It is time for another moment: half of the time is kept for the next question (E4)."""
        return self.moment.age_seconds > self.pinned.hold_seconds / 2

    @property
    def seconds_left(self) -> float:
        """What a question may take."""
        return max(self.pinned.hold_seconds - self.moment.age_seconds, LEAST_SECONDS)

    def indexed(self, name: str, columns: Sequence[str]) -> bool:
        """The server can look up one of the columns by an index."""
        row = self.connection.execute(INDEXED, [self.table(name).oid, list(columns)]).fetchone()
        return row == (True,)

    def pages(self, name: str) -> int:
        """How many pages the table has, with its partitions."""
        query = (
            "SELECT coalesce(sum(pg_relation_size(relid)), pg_relation_size(%(oid)s::oid))::bigint"
            " / current_setting('block_size')::bigint FROM pg_partition_tree(%(oid)s::oid::regclass)"
        )
        row = self.connection.execute(query, {"oid": self.table(name).oid}).fetchone()
        return int(row[0]) if row else 0

    def fetched(self, queries: Sequence[Query]) -> list[pa.Table]:
        """The answers to all queries, in one round trip; rows as the moment shows them, each with count 1."""
        if not queries:
            return []
        seconds = self.seconds_left / len(queries)  # the server limits each statement by itself
        selects = [self._select(q) for q in queries]
        text = sql.SQL(";\n").join([limit(seconds), *selects, limit(0)])
        with self.connection.cursor() as cursor, limited(self.pinned.stream.source, seconds):
            cursor.execute(text)
            self.asked.round_trips += 1
            answers = []
            for query in queries:
                cursor.nextset()
                answers.append(self._rows(query, cursor))
        self.asked.rows += sum(a.num_rows for a in answers)
        return answers

    def _select(self, query: Query) -> sql.Composable:
        return select(self.names[query.table], query.columns, query.condition)

    def _rows(self, query: Query, cursor: Answers) -> pa.Table:
        return answer(cursor, narrowed(self.table(query.table), query.columns))

    def patch(self, name: str, at: Csn) -> pa.Table:
        """What leads from what the moment shows of a table to the table at `at`: rows with signed counts (E1)."""
        if (name, at) not in self._patches:
            pin = self.pinned
            commits = pin.ledger.transactions(
                pin.stream.source, at, pin.newest, self.moment.snapshot.xmin
            )
            signs = patches(commits, self.moment.snapshot, at)
            parts = [signed(rows, signs) for rows in _logged(pin, name, signs)]
            whole = pa.concat_tables([*parts, self.tail.get(name, _no_rows(self.table(name)))])
            self._patches[name, at] = whole
        return self._patches[name, at]

    def whole(self, name: str, at: Csn, columns: Sequence[str]) -> pa.Table:
        """The whole table at `at` as a signed bag, through this process: for small tables."""
        (shown,) = self.fetched([Query(name, tuple(columns))])
        return pa.concat_tables([shown, self.patch(name, at).select([*columns, COUNT])])


@contextmanager
def reading(
    ledger: Ledger, warehouse: Path, source: str, names: Sequence[str], many_keys: bool = False
) -> Iterator[Reading]:
    """Hold a moment of a database, ready to be asked about these tables; with `many_keys` they can be stored there."""
    row = ledger.source(source)
    assert row is not None, f"source {source} is in the ledger"
    with (
        explained(source),
        connected(row.config["postgres"], source) as connection,
        ExitStack() as stack,
    ):
        stores = many_keys and keys.may_make_tables(connection)
        if stores:
            keys.make_table(connection)
        while True:
            pin = _pin(ledger, warehouse, source, names)
            try:
                now = _begun(pin, connection, stores, stack)
                break
            except ChangesLost:
                stack.close()
                if ledger.stream(source) == pin.stream:
                    raise
                # Somebody has captured since, and let the server forget: it is said of an older position.
        yield now


def _begun(pin: Pinned, connection: Connection, stores: bool, stack: ExitStack) -> Reading:
    """Take a moment of the server that is known to be the registered one, and what it shows too early (E2)."""
    verified(connection, pin.stream, pin.known)
    places = _places(connection, pin)
    locked = [sql.Identifier(schema, table) for schema, table, _ in places.values()]
    moment = stack.enter_context(held(connection, locked))
    tail = _tail(pin, moment) if moment.inserted > pin.stream.position else {}
    return Reading(pin, connection, moment, _names(places), stores, tail)


def _pin(ledger: Ledger, warehouse: Path, source: str, names: Sequence[str]) -> Pinned:
    with ledger.snapshot():
        row, stream = ledger.source(source), ledger.stream(source)
        assert row is not None and stream is not None, f"source {source} has a stream"
        tables = {r.name: table_of(r) for r in ledger.relations(source)}
        steps = {name: ledger.steps(name) for name in names}
        chosen = {name: tables[name] for name in names}
        return Pinned(ledger, warehouse, stream, ledger.newest_csn(), chosen,
                      list(tables.values()), row.config["postgres"],
                      row.config.get("hold", HOLD_SECONDS), steps)  # fmt: skip


def _places(connection: Connection, pin: Pinned) -> dict[str, tuple[str, str, str]]:
    """Where the tables are now: schema, name and kind."""
    oids = {table.oid: name for name, table in pin.tables.items()}
    found = connection.execute(PLACES, [list(oids)]).fetchall()
    places = {oids[oid]: (schema, table, kind) for oid, schema, table, kind in found}
    gone = sorted(set(pin.tables) - set(places))
    if gone:
        raise Unreachable(f'table "{gone[0]}" is not there any more',
                          hint=f"rollview source check {pin.stream.source}")  # fmt: skip
    return places


def _names(places: Mapping[str, tuple[str, str, str]]) -> dict[str, sql.Composable]:
    """How to name the tables in FROM; of a partitioned one, all partitions."""
    return {
        name: sql.SQL("" if kind == "p" else "ONLY ") + sql.Identifier(schema, table)
        for name, (schema, table, kind) in places.items()
    }


def _tail(pin: Pinned, moment: Moment) -> dict[str, pa.Table]:
    """The changes that the moment shows and that are not captured yet, taken out (E2)."""
    found: dict[str, list[pa.Table]] = {name: [] for name in pin.tables}
    with connected(pin.where, pin.stream.source) as connection:
        now = marked(connection, pin.stream, pin.known)
        if not flushed(now, moment.inserted):
            raise Unreachable(
                f'source "{pin.stream.source}" cannot be read now',
                "the server has not written its newest transactions to the disk yet", "try again",
            )  # fmt: skip
        stream = pin.stream
        while True:
            batch = read_batch(connection, stream, pin.all_tables, now, pin.warehouse,
                               lambda _: iter(()))  # fmt: skip
            try:
                shown = [moment.snapshot.shows(t.xid) for t in batch.transactions]
                signs = {Csn(n): -1 for n, seen in enumerate(shown) if seen}
                for name, spool in batch.spools.items():
                    if name in found:
                        rows = pa.Table.from_batches(spool.batches(), spool.schema)
                        found[name].append(signed(rows, signs))
            finally:
                batch.close()
            if batch.complete:
                break
            if moment.age_seconds > pin.hold_seconds:
                raise TooLong(
                    f'source "{stream.source}" is too far ahead of what was captured',
                    f"reading it took longer than {pin.hold_seconds:g} seconds",
                    "rollview capture, then try again",
                )
            stream = batch.moved(len(batch.transactions))
    return {name: pa.concat_tables(parts) for name, parts in found.items() if parts}


def signed(rows: pa.Table, signs: Mapping[Csn, int]) -> pa.Table:
    """The rows whose stamps have a sign, their counts multiplied by it; without stamps."""
    stamps = pa.array(list(signs), pa.int64())
    rows = rows.filter(pc.is_in(rows.column(STAMP), stamps))
    places = pc.index_in(rows.column(STAMP), stamps).combine_chunks()
    sign = pa.array(list(signs.values()), pa.int64()).take(places)
    counts = pc.multiply(rows.column(COUNT), sign)
    place = rows.schema.get_field_index(COUNT)
    return rows.set_column(place, COUNT, counts).drop_columns([STAMP])


def _logged(pin: Pinned, name: str, signs: Mapping[Csn, int]) -> Iterator[pa.Table]:
    """The rows of the table's log in the steps that may have one of the stamps."""
    schema = pin.tables[name].schema
    for step in pin.steps[name]:
        if any(step.lo <= csn <= step.hi for csn in signs):
            for file in sorted((pin.warehouse / step.folder).glob("*.parquet")):
                with pyarrow.parquet.ParquetFile(file) as parquet:
                    yield parquet.read(columns=schema.names).select(schema.names).cast(schema)


def changes(pin_ledger: Ledger, warehouse: Path, table: Table, lo: Csn, hi: Csn) -> pa.Table:
    """What the log says changed in (lo, hi]: the columns, count and stamp."""
    parts = []
    for step in pin_ledger.steps(table.name, lo, hi):
        for file in sorted((warehouse / step.folder).glob("*.parquet")):
            with pyarrow.parquet.ParquetFile(file) as parquet:
                rows = parquet.read(columns=table.schema.names).select(table.schema.names)
            stamp = rows.column(STAMP)
            inside = pc.and_(pc.greater(stamp, lo), pc.less_equal(stamp, hi))
            parts.append(rows.cast(table.schema).filter(inside))
    return pa.concat_tables(parts) if parts else table.schema.empty_table()


Answers = psycopg.Cursor[tuple[object, ...]]


def limit(seconds: float) -> sql.Composed:
    """The statement after which the server ends what takes longer, with 0 nothing; of the same round trip."""
    return sql.SQL("SET LOCAL statement_timeout = {}").format(sql.Literal(int(seconds * 1000)))


@contextmanager
def limited(source: str, seconds: float) -> Iterator[None]:
    """The server's errors in our words; what it ended because it took too long, as TooLong."""
    began = time.monotonic()
    with explained(source):
        try:
            yield
        except psycopg.errors.QueryCanceled as error:
            if time.monotonic() - began < seconds:
                raise  # by somebody else
            raise TooLong(
                f'the database of source "{source}" takes too long to answer',
                f"{str(error).strip()}, after {seconds:.0f} seconds",
                'allow more: rollview source add … --hold "2 minutes"; or take mode = "replica"',
            ) from None


def select(
    name: sql.Composable, columns: Sequence[str], condition: sql.Composable | None
) -> sql.Composed:
    """The query of some columns of a table, called t."""
    names = sql.SQL(", ").join(sql.Identifier(c) for c in columns)
    text = sql.SQL("SELECT {} FROM {} t").format(names, name)
    return text if condition is None else text + sql.SQL(" WHERE ") + condition


def answer(cursor: Answers, table: Table) -> pa.Table:
    """The answer that a cursor stands at, read by the codecs of the table's columns."""
    found = cursor.pgresult
    assert found is not None, "each SELECT has an answer"
    width = len(table.columns)
    rows: list[Texts] = [
        tuple(None if (v := found.get_value(r, c)) is None else v.decode() for c in range(width))
        for r in range(found.ntuples)
    ]
    return counted(table, rows)


def selected(
    connection: Connection,
    table: Table,
    name: sql.Composable,
    columns: Sequence[str],
    condition: sql.Composable,
    seconds: float,
) -> pa.Table:
    """Some rows of a table, each with count 1, in the transaction that is open."""
    with connection.cursor() as cursor:
        cursor.execute(limit(seconds))
        cursor.execute(select(name, columns, condition))
        return answer(cursor, narrowed(table, columns))


def narrowed(table: Table, columns: Sequence[str]) -> Table:
    """The table with only some columns."""
    known = {c.name: c for c in table.columns}
    key = table.key if set(table.key) <= set(columns) else ()
    return replace(table, columns=tuple(known[c] for c in columns), key=key)


def counted(table: Table, rows: Sequence[Texts]) -> pa.Table:
    """Rows as Arrow, each with count 1."""
    schema = pa.schema([f for f in table.schema if f.name != STAMP])
    if not rows:
        return schema.empty_table()
    ones = pa.array([1] * len(rows), pa.int64())
    return pa.Table.from_arrays([*arrays(table, rows), ones], schema=schema)


def _no_rows(table: Table) -> pa.Table:
    return pa.schema([f for f in table.schema if f.name != STAMP]).empty_table()
