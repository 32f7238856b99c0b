"""PostgreSQL sources come and go: slot and publication on the server, logs and copies in the warehouse.

N2  A source is in the ledger once everything of it is there: slot, publication, the rows of every copy as of the
    slot's snapshot. Before that commit nothing has happened; what was made is taken back or swept up.
How changes get into the logs afterwards: capture.py.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from rollview.changes import Csn
from rollview.config import seconds_of
from rollview.errors import ConfigError, SourceError
from rollview.failpoints import Failpoint, failpoint
from rollview.ledger.store import BaseRelation, BlockRow, Ledger, SchemaEpoch, Source
from rollview.reports import SourceReport
from rollview.sources.postgresql import slot
from rollview.sources.postgresql.catalogue import FoundTable
from rollview.sources.postgresql.connect import connected
from rollview.sources.postgresql.load import rows_at
from rollview.sources.postgresql.registration import (
    Prepared,
    block_of,
    prepared,
    prepared_more,
    publication_name,
    relation_of,
    unpublish,
)
from rollview.sources.postgresql.table import Table
from rollview.sources.registration import NAME
from rollview.spark.replica import Replica

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Wanted = Sequence[str] | Mapping[str, str] | None


def add_postgresql(
    spark: Callable[[], SparkSession],
    ledger: Ledger,
    warehouse: Path,
    name: str,
    url: str,
    tables: Wanted,
    mode: str,
    hold: float | str | None,
) -> SourceReport:
    """Register tables of a PostgreSQL database as of now; with mode "replica" their rows are copied (N2).

    Spark is asked for only if there are rows to copy.
    """
    if not NAME.fullmatch(name) or name.startswith("_rv_"):
        raise ConfigError(f'a source cannot be called "{name}"',
                          hint="lower-case letters, digits and _, not starting with a digit")  # fmt: skip
    csn, config = ledger.newest_csn(), {"postgres": url, "mode": mode, **_hold(hold)}
    with prepared(ledger, url, name, tables, mode) as made:
        source = Source(name, "postgresql", config, datetime.now(timezone.utc))
        added = _added(spark, ledger, warehouse, url, made, csn, source)
        failpoint(Failpoint.SOURCE_AFTER_COMMIT)
    return SourceReport(name, "postgresql", added, added)


def add_tables(
    spark: Callable[[], SparkSession],
    ledger: Ledger,
    warehouse: Path,
    source: Source,
    tables: Wanted,
    mode: str | None,
    hold: float | str | None,
    capture: Callable[[int], Csn],
) -> SourceReport:
    """Register further tables of a source; `capture` takes its stream exactly to a position, and gives the CSN."""
    if hold is not None:
        ledger.put_source(replace(source, config={**source.config, **_hold(hold)}))
    url, mode = source.config["postgres"], mode or source.config["mode"]
    stream = ledger.stream(source.name)
    assert stream is not None, "a PostgreSQL source has a stream"
    added: tuple[str, ...] = ()
    with prepared_more(ledger, url, stream, tables, mode) as made:
        if made is not None:
            csn = capture(made.stream.position)
            added = _added(spark, ledger, warehouse, url, made, csn, None)
            failpoint(Failpoint.SOURCE_AFTER_COMMIT)
    everything = tuple(r.name for r in ledger.relations(source.name))
    return SourceReport(source.name, "postgresql", everything, added)


def _hold(hold: float | str | None) -> dict[str, float]:
    """What the ledger keeps of how long a snapshot may be held."""
    return {} if hold is None else {"hold": seconds_of(hold, "hold")}


def _added(
    spark: Callable[[], SparkSession],
    ledger: Ledger,
    warehouse: Path,
    url: str,
    made: Prepared,
    csn: Csn,
    source: Source | None,
) -> tuple[str, ...]:
    """Load the tables and put them into the ledger, with the source if it is a new one (N2)."""
    blocks = [block_of(table.name, csn) for table, _ in made.tables]
    with ledger.atomic():
        intents = [ledger.begin("load", b.name, {"folder": b.folder}) for b in blocks]
    try:
        rows = [
            loaded(spark, ledger, warehouse, url, made, pair, block)
            for pair, block in zip(made.tables, blocks, strict=True)
        ]
        failpoint(Failpoint.SOURCE_BEFORE_COMMIT)
        with ledger.atomic():
            if source is not None:
                ledger.add_source(source)
            ledger.put_stream(made.stream)
            for relation, block in rows:
                ledger.put_relation(relation)
                ledger.add_block(block)
                ledger.add_schema_epoch(
                    SchemaEpoch(relation.name, relation.position, csn, relation.columns)
                )
            for intent in intents:
                ledger.end(intent.id)
    except Exception:
        with ledger.atomic():
            for intent in intents:
                ledger.put_trash(intent.payload["folder"])
                ledger.end(intent.id)
        raise
    return tuple(relation.name for relation, _ in rows)


def loaded(
    spark: Callable[[], SparkSession],
    ledger: Ledger,
    warehouse: Path,
    url: str,
    made: Prepared,
    pair: tuple[Table, FoundTable],
    block: BlockRow,
) -> tuple[BaseRelation, BlockRow]:
    """A table and its log; of a replica, with its rows as of the snapshot."""
    table, found = pair
    csn = block.oldest
    relation = relation_of(table, found, made.stream, csn, None)
    if table.mode != "replica":
        return relation, block
    session = spark()
    staging = warehouse / block.folder / "load"
    rows = rows_at(
        session, url, made.stream.source, table, made.parts[table.name], made.moment, staging
    )
    folded = Replica(session, ledger, warehouse, relation, block).write_folded(rows, 1, None, 1)
    failpoint(Failpoint.LOAD_AFTER_WRITE)
    shutil.rmtree(staging)
    block = replace(block, folded_version=folded.version, rows=folded.rows, bytes=folded.bytes)
    return replace(relation, rows=folded.rows, bytes=folded.bytes), block


def drop_on_server(source: Source, ledger: Ledger) -> None:
    """Drop slot and publication of a source that is about to be forgotten."""
    stream = ledger.stream(source.name)
    if stream is None:
        return
    with connected(source.config["postgres"], source.name, writes=True) as connection:
        failpoint(Failpoint.SLOT_BEFORE_DROP)
        slot.drop(connection, stream.slot)
        failpoint(Failpoint.SLOT_AFTER_DROP)
        if stream.publication == publication_name(source.name):
            try:
                unpublish(connection, stream.publication)
            except psycopg.errors.InsufficientPrivilege as error:
                raise SourceError(
                    f'publication "{stream.publication}" cannot be dropped', str(error).strip(),
                    f'let its owner run: DROP PUBLICATION "{stream.publication}"',
                ) from None  # fmt: skip
