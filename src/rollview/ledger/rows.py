"""What the ledger holds, row by row: plain frozen data that the rest of the product passes around.

L0  A field here is the column of the same name in ledger/tables.py; nothing else maps them.
Wall-clock times are aware datetimes and come back in UTC; JSON fields come back equal to what was
put in. Knows no database.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from rollview.changes import Csn
from rollview.views.blocks import Definition

Json = dict[str, Any]

FOLDERS = ("views", "tables")
"""The folders of a warehouse in which rolled tables are: of views, and of captured tables."""
READS = "tables/reads"
"""Where executors put rows of a live database until they are read; what a process that died left is swept up."""


@dataclass(frozen=True, slots=True)
class Source:
    """A place that tables come from."""

    name: str
    kind: str
    config: Json
    added_at: datetime


@dataclass(frozen=True, slots=True)
class Stream:
    """The logical replication stream of a PostgreSQL source, as far as it was captured.

    `position` is the LSN up to which every committed transaction is in the timeline. `system_id` and
    `timeline` tell the server, `publication_oid` and `fingerprint` (JSON) what the stream cannot say by itself:
    if one of them is another, changes may have passed unseen.
    """

    source: str
    slot: str
    publication: str
    publication_oid: int
    system_id: str
    timeline: int
    position: int
    fingerprint: Json


@dataclass(frozen=True, slots=True)
class BaseRelation:
    """A source table, e.g. "lake.sales", as far as it was captured.

    `columns` (name, Spark type), `rows` and `bytes` (estimates) are as of `position`: the newest captured
    table version or, of a PostgreSQL table, the LSN of its last captured change. Nothing older than
    `base_csn` and `base_position` can be asked. `stopped` says why capture stopped for this table, None if
    it did not. `properties` belong to the source kind.
    """

    name: str
    source: str
    location: str
    table_id: str
    position: int
    columns: tuple[tuple[str, str], ...]
    base_csn: Csn
    base_position: int
    rows: int
    bytes: int
    stopped: str | None
    properties: Json


@dataclass(frozen=True, slots=True)
class CapturedChange:
    """What one captured transaction did to one relation.

    `inserted` and `deleted` count rows (an update counts in both; estimates where the source's log
    does not say). `files` tells where the changed rows are, in the terms of the source kind.
    """

    csn: Csn
    relation: str
    position: int
    committed_at: datetime
    operation: str
    inserted: int
    deleted: int
    files: Json


@dataclass(frozen=True, slots=True)
class SchemaEpoch:
    """A relation's columns from table version `position` on; `csn` is the newest CSN before it."""

    relation: str
    position: int
    csn: Csn
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """One row of the timeline: `position` is the table version, or the LSN at which the commit ends.

    `xid` is PostgreSQL's 64-bit transaction id: a snapshot shows the transaction iff xid < xmax and xid is not in
    xip (docs/postgresql.md); None for other kinds of source.
    """

    csn: Csn
    source: str
    position: int
    xid: int | None
    committed_at: datetime
    operation: str


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A view; `state` is "building", "ready" or "stopped", `reason` says why it stopped."""

    name: str
    sql: str
    definition: Definition
    options: Json
    state: str
    reason: str
    created_at: datetime
    view_time: Csn | None


@dataclass(frozen=True, slots=True)
class BlockRow:
    """One rolled table: block `number` of a view, named "v" for the last block and "v#k" else.

    A captured PostgreSQL table is one of no view (None) under its own name: capture writes its log. Its frontier
    is not kept here, and a table that is read live has no folded rows.
    `folder` is below the warehouse. `frontier` has one time per input (views/blocks.py),
    `fold_times` one per bucket. `oldest` is the oldest time that can be read, `folded_version` the
    Delta Lake version of the folded rows that readers pin; `rows` and `bytes` are theirs. `told_by` says by which
    columns the rows of one folded version differ, as far as somebody looked.
    """

    name: str
    view: str | None
    number: int
    folder: str
    frontier: tuple[Csn, ...]
    oldest: Csn
    folded_version: int | None
    fold_times: tuple[Csn, ...]
    rows: int
    bytes: int
    told_by: Json | None = None

    @property
    def telling(self) -> tuple[str, ...]:
        """The columns whose hashes differ in all folded rows; none if that is not known of the pinned version."""
        told = self.told_by or {}
        return tuple(told["columns"]) if told.get("version") == self.folded_version else ()


@dataclass(frozen=True, slots=True)
class Step:
    """One folder of timed changes; its stamps are in [lo, hi], both of which occur.

    `taken` counts the rows with a negative count: 0 means append-only.
    """

    id: str
    block: str
    folder: str
    lo: Csn
    hi: Csn
    rows: int
    taken: int
    bytes: int
    committed_at: datetime


@dataclass(frozen=True, slots=True)
class Intent:
    """Something begun and not ended yet: a restart finds it and repeats or drops it."""

    id: str
    kind: str
    subject: str
    payload: Json
    started_at: datetime


@dataclass(frozen=True, slots=True)
class Refresh:
    """One row of a view's history; `state` is "ok" or "failed"."""

    view: str
    started_at: datetime
    seconds: float
    technique: str
    reason: str
    state: str
    error: str
    from_csn: Csn | None
    to_csn: Csn | None
    rows: int
    bytes: int
    jobs: int
    details: Json


def values(row: Any) -> dict[str, Any]:
    """The columns of a row (L0)."""
    return {field.name: getattr(row, field.name) for field in fields(row)}
