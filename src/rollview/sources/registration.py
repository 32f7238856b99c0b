"""Registration: sources and their tables come and go.

J1  Everything is checked before anything is written: a source with one bad table is not half there.
J2  A table is registered at its newest version, as of the newest CSN: nothing older can be asked of it.
J3  A resync is a registration anew, at a CSN of its own; views that read the table are recomputed by their next
    refresh, since the changes in between are lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from pyspark.sql import SparkSession

from rollview.changes import Csn
from rollview.errors import ConfigError, SchemaChanged
from rollview.failpoints import Failpoint, failpoint
from rollview.ledger.store import BaseRelation, Commit, Ledger, SchemaEpoch, Source
from rollview.reports import SourceReport
from rollview.sources.delta_lake.tables import find_tables, locate, register
from rollview.views.blocks import inputs

NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


def add_delta_lake(
    spark: SparkSession,
    ledger: Ledger,
    name: str,
    where: str | Path | Mapping[str, str],
    tables: Sequence[str] | None,
) -> SourceReport:
    """Register a folder of Delta Lake tables, or named paths and catalog names."""
    if not NAME.fullmatch(name) or name.startswith("_rv_"):
        raise ConfigError(f'a source cannot be called "{name}"',
                          hint="lower-case letters, digits and _, not starting with a digit")  # fmt: skip
    found = (
        {t: locate(spark, place) for t, place in where.items()}
        if isinstance(where, Mapping)
        else find_tables(str(where))
    )
    if tables is not None:
        missing = sorted(set(tables) - set(found))
        if missing:
            raise ConfigError(f'source "{name}" has no table "{missing[0]}"',
                              f"tables there: {', '.join(sorted(found)) or 'none'}")  # fmt: skip
        found = {t: found[t] for t in tables}
    if not found:
        raise ConfigError(f'source "{name}" has no tables', f"no Delta Lake table below {where}",
                          "name a folder that holds Delta Lake tables")  # fmt: skip
    csn = ledger.newest_csn()
    known = {r.name for r in ledger.relations(name)}
    rows = [
        register(spark, name, table, location, csn)
        for table, location in sorted(found.items())
        if f"{name}.{table}" not in known
    ]
    failpoint(Failpoint.SOURCE_BEFORE_COMMIT)
    with ledger.atomic():
        if ledger.source(name) is None:
            config = {"tables": {t: str(p) for t, p in found.items()}}
            ledger.add_source(Source(name, "delta", config, datetime.now(timezone.utc)))
        for row in rows:
            ledger.put_relation(row)
            ledger.add_schema_epoch(SchemaEpoch(row.name, row.position, csn, row.columns))
    failpoint(Failpoint.SOURCE_AFTER_COMMIT)
    everything = tuple(r.name for r in ledger.relations(name))
    return SourceReport(name, "delta", everything, tuple(r.name for r in rows))


def resync(spark: SparkSession, ledger: Ledger, name: str) -> SourceReport:
    """Register a table (or every stopped table of a source) anew, at its newest version (J3)."""
    source = name.partition(".")[0]
    chosen = [
        r for r in ledger.relations(source) if r.name == name or (name == source and r.stopped)
    ]
    if ledger.source(source) is None or ("." in name and not chosen):
        raise ConfigError(f'there is no source or table "{name}"', hint="rollview source list")
    rows = [
        register(
            spark, source, r.name.partition(".")[2], r.location, Csn(ledger.newest_csn() + 1 + k)
        )
        for k, r in enumerate(chosen)
    ]
    for old, row in zip(chosen, rows, strict=True):
        check_readers(ledger, old, row)
    failpoint(Failpoint.SOURCE_BEFORE_COMMIT)
    now = datetime.now(timezone.utc)
    with ledger.atomic():
        for row in rows:
            ledger.drop_relation(row.name)
            ledger.put_relation(row)
            ledger.add_schema_epoch(SchemaEpoch(row.name, row.position, row.base_csn, row.columns))
            ledger.add_commit(Commit(row.base_csn, source, row.position, None, now, "RESYNC"), [])
    failpoint(Failpoint.SOURCE_AFTER_COMMIT)
    everything = tuple(r.name for r in ledger.relations(source))
    return SourceReport(source, "delta", everything, tuple(r.name for r in rows))


def check_readers(ledger: Ledger, old: BaseRelation, row: BaseRelation) -> None:
    """Raise if a view reads a column that is gone or has another type now."""
    now, before = dict(row.columns), dict(old.columns)
    for view in ledger.views():
        for i in (i for block in view.definition.blocks for i in inputs(block)):
            bad = (
                [c for c in i.columns if now.get(c) != before.get(c)]
                if i.relation == row.name
                else []
            )
            if bad:
                raise SchemaChanged(
                    f'table "{row.name}" cannot be registered anew',
                    f'view "{view.name}" reads its column "{bad[0]}", which is '
                    f"{now.get(bad[0], 'gone')} now and was {before.get(bad[0], 'not there')}",
                    f'drop view "{view.name}" first, then create it anew',
                )


def check_unread(ledger: Ledger, name: str) -> None:
    """Raise unless there is such a source and no view reads it."""
    if ledger.source(name) is None:
        raise ConfigError(f'there is no source "{name}"', hint="rollview source list shows them")
    for view in ledger.views():
        for block in view.definition.blocks:
            for i in inputs(block):
                if i.relation.startswith(f"{name}."):
                    raise ConfigError(f'source "{name}" cannot be dropped',
                                      f'view "{view.name}" reads "{i.relation}"',
                                      f'drop view "{view.name}" first')  # fmt: skip


def drop_source(ledger: Ledger, name: str) -> None:
    """Forget a source that no view reads."""
    check_unread(ledger, name)
    failpoint(Failpoint.SOURCE_BEFORE_DROP)
    ledger.drop_source(name)
    failpoint(Failpoint.SOURCE_AFTER_DROP)
