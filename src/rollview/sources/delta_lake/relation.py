"""A captured Delta Lake table as a Relation: CSNs become table versions.

D1  The version at t is the newest captured one whose CSN is at most t; versions after it that changed no rows
    hold the same rows, and the newest of them is the cheapest to read.
D2  A version is read with the schema it had: never past a schema change that the columns asked for do not survive.
Which files hold the changes, and patching against travelling: read.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from rollview.changes import COUNT, Csn
from rollview.errors import SchemaChanged, TimeNotReached
from rollview.ledger.store import BaseRelation, CapturedChange, Ledger, SchemaEpoch
from rollview.sources.delta_lake import read
from rollview.sources.delta_lake.lookup import Keys, keys_of


class DeltaLakeTable:
    """One source table; positions are its table versions."""

    def __init__(self, spark: SparkSession, ledger: Ledger, row: BaseRelation) -> None:
        self.spark, self.ledger, self.row = spark, ledger, row
        self.name = row.name

    @property
    def mark(self) -> Csn:
        """Captured up to here: the newest CSN, for a table that has not stopped."""
        newest = self.ledger.newest_csn()
        return newest if self.row.stopped is None else Csn(self.row.properties["stopped_csn"])

    @property
    def oldest(self) -> Csn:
        """The CSN at which the table was registered."""
        return self.row.base_csn

    def changes(self, lo: Csn, hi: Csn, columns: Sequence[str]) -> DataFrame:
        """What changed in (lo, hi]."""
        return self.changed(self._known_at(lo), self.ledger.changes_of(self.name, lo, hi), columns)

    def changed(
        self, known: BaseRelation, captured: Sequence[CapturedChange], columns: Sequence[str]
    ) -> DataFrame:
        """The changed rows of the captured commits, of the table with the columns that are known."""
        return read.changes(self.spark, known, captured, columns)

    def at(self, time: Csn, columns: Sequence[str]) -> DataFrame:
        """The table as of `time`: the newest version, patched, or an old one, whichever is cheaper."""
        return reduce(DataFrame.unionAll, DeltaLakeTable.parts(self, time, columns))

    def keys(self, lo: Csn, hi: Csn, column: str) -> pa.Array | None:
        """The values of a column in what changed in (lo, hi], and perhaps others; None if Spark should read them."""
        kind = dict(self.columns_at(lo)).get(column, "")
        return keys_of(self.row.location, self.ledger.changes_of(self.name, lo, hi), column, kind)

    def parts(
        self, time: Csn, columns: Sequence[str], only: Keys | None = None
    ) -> tuple[DataFrame, ...]:
        """The table as of `time`: a version, and what patches it, if it is patched.

        `only`: the rows that have one of the keys, and perhaps others.
        """
        return read.parts_at(self.spark, self._moment(time, columns), columns, self.changed, only)

    def found(self, time: Csn, columns: Sequence[str], keys: Keys) -> DataFrame | None:
        """The same rows in one, looked up on the driver; None if they should be scanned for."""
        return read.found_at(self.spark, self._moment(time, columns), columns, self.changed, keys)

    def fetched_changes(self, lo: Csn, hi: Csn, columns: Sequence[str]) -> pa.Table | None:
        """What changed in (lo, hi], on the driver; None if Spark should read it."""
        captured = self.ledger.changes_of(self.name, lo, hi)
        return self.fetched_changed(self._known_at(lo), captured, columns)

    def fetched_changed(
        self, known: BaseRelation, captured: Sequence[CapturedChange], columns: Sequence[str]
    ) -> pa.Table | None:
        """The changed rows of the captured commits, on the driver; None if Spark should read them."""
        return read.fetched_changes(known, captured, columns)

    def fetched(self, time: Csn, columns: Sequence[str], keys: Keys) -> pa.Table | None:
        """The rows as of `time` that have one of the keys, with their counts, on the driver; None if Spark should
        read them. A bag whose counts may be negative."""
        moment = self._moment(time, columns)
        version, between = moment.nearest()
        rows = self.fetched_version(moment.relation, version, columns, keys)
        later = (
            self.fetched_changed(moment.relation, between, columns) if rows is not None else None
        )
        return None if rows is None or later is None else read.patched(rows, later, keys)

    def fetched_version(
        self, known: BaseRelation, version: int, columns: Sequence[str], keys: Keys
    ) -> pa.Table | None:
        """The rows of a version that have one of the keys, on the driver; None if Spark should read them."""
        return read.fetched_version(known, version, columns, keys)

    def _moment(self, time: Csn, columns: Sequence[str]) -> read.Moment:
        self._check(time)
        limit = self._schema_limit(time, columns)
        later = self.ledger.changes_of(self.name, time, self.ledger.newest_csn())
        if limit is not None:
            later = [c for c in later if c.position <= limit]
        known, version = self._known_at(time), self.version_at(time)
        return read.Moment(known, version, self.row.position, later, limit)

    def exact(self, time: Csn, columns: Sequence[str]) -> DataFrame:
        """The table as of `time` as plain rows."""
        self._check(time)
        newest = self.ledger.newest_csn()
        version = self.version_at(time)
        if not self.ledger.changed_rows(self.name, time, newest):
            limit = self._schema_limit(time, columns)
            version = self.row.position if limit is None else min(limit, self.row.position)
        return read.as_of(self.spark, self._known_at(time), version, columns).drop(COUNT)

    def _check(self, time: Csn) -> None:
        if time < self.oldest:
            raise TimeNotReached(
                f'table "{self.name}" cannot be read at {time}: it was registered at {self.oldest}',
                f"readable times: {self.oldest} to {self.mark}",
                "name a time in that range",
            )

    def version_at(self, time: Csn) -> int:
        """The table version at `time` (D1)."""
        last = self.ledger.last_change(self.name, time)
        return last.position if last else self.row.base_position

    def columns_at(self, time: Csn) -> tuple[tuple[str, str], ...]:
        """The columns that the table had at `time`, and after them those that were added later."""
        return self._known_at(time).columns

    def _known_at(self, time: Csn) -> BaseRelation:
        """The table with the columns it had at `time`; columns added later read as NULL (D2)."""
        known = [
            e for e in self.ledger.schema_epochs(self.name) if e.position <= self.version_at(time)
        ]
        old = dict(known[-1].columns) if known else {}
        added = [c for c in self.row.columns if c[0] not in old]
        return replace(self.row, columns=(*old.items(), *added))

    def _schema_limit(self, time: Csn, columns: Sequence[str]) -> int | None:
        """The newest version that still has the columns as they were at `time` (D2)."""
        broken = first_break(self.ledger.schema_epochs(self.name), self.version_at(time), columns)
        return None if broken is None else broken.position - 1


def first_break(
    epochs: Sequence[SchemaEpoch], position: int, columns: Sequence[str]
) -> SchemaEpoch | None:
    """The first schema change after `position` that drops or retypes one of the columns.

    A column that comes later is none: it was NULL before.
    """
    known = dict(epochs[0].columns) if epochs else {}
    for epoch in epochs:
        now = dict(epoch.columns)
        if epoch.position <= position:
            known = now
        elif any(c in known and now.get(c) != known[c] for c in columns):
            return epoch
        else:
            known = {**now, **known}
    return None


def schema_problem(
    name: str, epoch: SchemaEpoch, known: dict[str, str], columns: Sequence[str]
) -> SchemaChanged:
    """The error that says which used column changed, and how."""
    now = dict(epoch.columns)
    parts = [
        f'column "{c}" was {"dropped or renamed" if c not in now else f"retyped from {known.get(c)} to {now[c]}"}'
        for c in columns
        if now.get(c) != known.get(c)
    ]
    return SchemaChanged(
        f'table "{name}" changed its schema at version {epoch.position}',
        "; ".join(parts),
        "drop the view and create it anew over the columns that are there now",
    )
