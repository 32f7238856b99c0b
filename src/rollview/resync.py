"""Resync: a PostgreSQL source whose stream cannot go on is mended by difference.

R4  A new slot and its snapshot show the tables as they are now. What a copy lacks or has too much becomes one step of
    its log, under a CSN of its own: views go on from there, and nothing is rebuilt.
R5  Where no copy says what there was (mode live), or the columns are others now, the table is registered anew at that
    CSN; the views that read it recompute with their next refresh.
Other sources are not touched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from rollview.changes import COUNT, STAMP, Csn
from rollview.failpoints import Failpoint, failpoint
from rollview.ledger.store import (
    BaseRelation,
    BlockRow,
    CapturedChange,
    Commit,
    Ledger,
    SchemaEpoch,
    Source,
    Step,
)
from rollview.replicas import loaded
from rollview.reports import SourceReport
from rollview.sources.postgresql.catalogue import FoundTable
from rollview.sources.postgresql.load import rows_at
from rollview.sources.postgresql.registration import Prepared, block_of, prepared, relation_of
from rollview.sources.postgresql.table import Table, table_of
from rollview.sources.registration import check_readers
from rollview.spark.live import read_folder
from rollview.spark.replica import Replica
from rollview.spark.written import Written
from rollview.views.syntax import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OPERATION = "RESYNC"


@dataclass(frozen=True, slots=True)
class Mended:
    """A table as the ledger is to know it: with what was different, or with a log of its own that begins anew."""

    relation: BaseRelation
    step: Written | None
    anew: BlockRow | None


def resync_postgresql(
    spark: Callable[[], SparkSession], ledger: Ledger, warehouse: Path, source: Source
) -> SourceReport:
    """Make the source's copies what its tables are now, and capture from there (R4, R5)."""
    before = ledger.relations(source.name)
    wanted = {r.name.partition(".")[2]: r.location for r in before}
    url, modes = source.config["postgres"], {r.location: table_of(r).mode for r in before}
    stream = ledger.stream(source.name)
    assert stream is not None, "a PostgreSQL source has a stream"
    csn = Csn(ledger.newest_csn() + 1)
    with prepared(ledger, url, source.name, wanted, modes, stream.publication) as made:
        intents: list[str] = []
        mended = []
        try:
            for table, found in made.tables:
                old = next(r for r in before if r.name == table.name)
                now = relation_of(table, found, made.stream, csn, None)
                check_readers(ledger, old, now)
                mended.append(
                    _mended(spark, ledger, warehouse, url, made, table, found, old, csn, intents)
                )
            failpoint(Failpoint.SOURCE_BEFORE_COMMIT)
            _commit(ledger, made, mended, csn, intents)
        except Exception:
            with ledger.atomic():
                for intent in ledger.intents():
                    if intent.id in intents:
                        ledger.put_trash(
                            _folder_of(intent.payload["folder"], intent.kind, intent.id)
                        )
                        ledger.end(intent.id)
            raise
        failpoint(Failpoint.SOURCE_AFTER_COMMIT)
    names = tuple(m.relation.name for m in mended)
    return SourceReport(source.name, "postgresql", names, names)


def _folder_of(folder: str, kind: str, id: str) -> str:
    return folder if kind == "load" else f"{folder}/steps/{id}"


def _mended(
    spark: Callable[[], SparkSession],
    ledger: Ledger,
    warehouse: Path,
    url: str,
    made: Prepared,
    table: Table,
    found: FoundTable,
    old: BaseRelation,
    csn: Csn,
    intents: list[str],
) -> Mended:
    now = relation_of(table, found, made.stream, csn, None)
    block = ledger.block(table.name)
    assert block is not None, "a captured table has a log"
    if table.mode != "replica" or old.columns != now.columns:
        fresh = block_of(table.name, csn)
        intents.append(ledger.begin("load", table.name, {"folder": fresh.folder}).id)
        relation, fresh = loaded(spark, ledger, warehouse, url, made, (table, found), fresh)
        return Mended(relation, None, fresh)
    intent = ledger.begin("step", table.name, {"folder": block.folder})
    intents.append(intent.id)
    session = spark()
    with read_folder(warehouse) as folder:
        rows = rows_at(
            session, url, made.stream.source, table, made.parts[table.name], made.moment, folder
        )
        replica = Replica(session, ledger, warehouse, old)
        step = replica.append(difference(replica.table(replica.mark), rows, csn), intent.id)
        failpoint(Failpoint.LOAD_AFTER_WRITE)
        counted = rows.count()
    kept = replace(now, base_csn=old.base_csn, base_position=old.base_position, rows=counted,
                   bytes=old.bytes)  # fmt: skip
    return Mended(kept, step, None)


def difference(old: DataFrame, new: DataFrame, csn: Csn) -> DataFrame:
    """What leads from the old rows to the new ones, as changes at `csn`."""
    from pyspark.sql import functions as F

    names = [quoted(c) for c in new.columns]
    came = new.select(*names, F.lit(1).cast("bigint").alias(COUNT))
    went = old.select(*names, F.lit(-1).cast("bigint").alias(COUNT))
    netted = came.unionByName(went).groupBy(*names).agg(F.sum(COUNT).cast("bigint").alias(COUNT))
    # What went comes first: whoever reads in order sees the row that is there last (keyed.py).
    changed = netted.where(F.col(COUNT) != 0).orderBy(COUNT)
    return changed.withColumn(STAMP, F.lit(csn).cast("bigint"))


def _commit(
    ledger: Ledger, made: Prepared, mended: list[Mended], csn: Csn, intents: list[str]
) -> None:
    now = datetime.now(timezone.utc)
    source, position = made.stream.source, made.stream.position
    changes = [
        CapturedChange(csn, m.relation.name, position, now, OPERATION, m.step.rows - m.step.taken,
                       m.step.taken, {})
        for m in mended if m.step is not None and m.step.rows
    ]  # fmt: skip
    with ledger.atomic():
        ledger.put_stream(made.stream)
        for m in mended:
            _record(ledger, m, csn, now)
        ledger.add_commits([Commit(csn, source, position, None, now, OPERATION)], changes)
        for id in intents:
            ledger.end(id)


def _record(ledger: Ledger, m: Mended, csn: Csn, now: datetime) -> None:
    name = m.relation.name
    if m.anew is not None:
        ledger.drop_block(name)
        ledger.drop_relation(name)
        ledger.put_relation(m.relation)
        ledger.add_block(m.anew)
        epoch = SchemaEpoch(name, m.relation.position, csn, m.relation.columns)
        ledger.add_schema_epoch(epoch)
        return
    ledger.put_relation(m.relation)
    assert m.step is not None, "what is not begun anew has a step"
    if m.step.rows:
        ledger.add_step(Step(m.step.id, name, m.step.folder, m.step.lo, m.step.hi, m.step.rows,
                             m.step.taken, m.step.bytes, now))  # fmt: skip
    else:
        ledger.put_trash(m.step.folder)
