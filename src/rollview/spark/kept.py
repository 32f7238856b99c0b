"""What one process keeps between refreshes: small source tables in memory, and the reads of changes as they were built.

M1  A kept frame is its table exactly as of one time; any other time is it with the changes between put in or
    taken back. A frame is never changed: what the ledger says decides whether it serves, each time anew.
M2  Only small tables are kept, and few of them: KEEP_ROWS each, ALL_ROWS together; the longest unused goes first.
M3  A query that fails lets every frame go, so that nothing that was lost behind one stays lost.
M4  A read of changes is built once, however many terms and views ask for it: the commits that it reads never change.
M5  A version never changes: its rows, once on the driver, serve every step that is joined there (products.py).
A dimension table costs a refresh two Spark jobs (Delta Lake's log, the broadcast of its rows); kept, one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import RLock

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rollview.calculus.totals import Known
from rollview.changes import COUNT, STAMP, Csn
from rollview.ledger.store import BaseRelation, CapturedChange, Ledger
from rollview.sources.delta_lake import read
from rollview.sources.delta_lake.lookup import Keys, having
from rollview.sources.delta_lake.relation import DeltaLakeTable

KEEP_ROWS = 500_000
ALL_ROWS = 4_000_000
PATCH_ROWS, PATCH_COMMITS = 10_000, 8
"""Beyond this many changes between, keeping the newest version anew is cheaper than reading them again."""

KEEP_READS = 32
"""Reads of changes: each a plan and a list of files, and with deletion vectors a few rows (named_rows.FEW)."""

Key = tuple[str, Csn, tuple[tuple[str, str], ...]]
ChangesKey = tuple[Key, tuple[Csn, ...]]
VersionKey = tuple[str, Csn, int, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class Frame:
    """A table's columns and counts, exact as of `time`."""

    time: Csn
    rows: int
    frame: DataFrame


class Kept:
    """The frames of one warehouse in one Spark session."""

    def __init__(self) -> None:
        self._frames: OrderedDict[Key, Frame] = OrderedDict()
        self._changed: OrderedDict[ChangesKey, DataFrame] = OrderedDict()
        self._fetched: OrderedDict[ChangesKey, pa.Table] = OrderedDict()
        self._versions: OrderedDict[VersionKey, pa.Table] = OrderedDict()
        self.totals: dict[str, Known] = {}  # by the folder of a block (overflows.py)
        self._lock = RLock()  # what is kept may be patched by changes, which are kept too

    def changed(
        self,
        table: DeltaLakeTable,
        known: BaseRelation,
        captured: Sequence[CapturedChange],
        columns: Sequence[str],
    ) -> DataFrame:
        """The changed rows of the captured commits, as they were read before if they were (M4)."""
        key = _changes_key(table, known, captured, columns)
        rows = self._changed.get(key)
        if rows is None:
            rows = DeltaLakeTable.changed(table, known, captured, columns)
            with self._lock:
                self._changed[key] = rows
                while len(self._changed) > KEEP_READS:
                    self._changed.popitem(last=False)
        return rows

    def fetched(
        self,
        table: DeltaLakeTable,
        known: BaseRelation,
        captured: Sequence[CapturedChange],
        columns: Sequence[str],
    ) -> pa.Table | None:
        """The same on the driver; None if Spark should read them."""
        key = _changes_key(table, known, captured, columns)
        rows = self._fetched.get(key)
        if rows is None:
            rows = DeltaLakeTable.fetched_changed(table, known, captured, columns)
            with self._lock:
                if rows is not None:
                    self._fetched[key] = rows
                while len(self._fetched) > KEEP_READS:
                    self._fetched.popitem(last=False)
        return rows

    def at(self, table: DeltaLakeTable, time: Csn, columns: Sequence[str]) -> DataFrame:
        """The table as of `time`, from a kept frame if it is small enough to keep (M1, M2)."""
        if table.row.rows > KEEP_ROWS or not columns:
            return DeltaLakeTable.at(table, time, columns)
        types = dict(table.columns_at(time))
        key = (table.name, table.oldest, tuple((c, types.get(c, "")) for c in columns))
        with self._lock:
            kept = self._frames.get(key)
            if kept is None or self._far(table, kept.time, time):
                kept = self._keep(key, table, time, columns)
            self._frames.move_to_end(key)
        lo, hi = sorted((kept.time, time))
        if not table.ledger.changed_rows(table.name, lo, hi):
            # A plan of its own: Spark stops caching what a temporary view shows when the view is dropped.
            return kept.frame.where(F.lit(True))
        patch = table.changes(lo, hi, columns).drop(STAMP)
        if time < kept.time:
            patch = patch.withColumn(COUNT, -F.col(COUNT))
        return kept.frame.unionAll(patch)

    def version(
        self, table: DeltaLakeTable, known: BaseRelation, version: int, columns: Sequence[str]
    ) -> pa.Table | None:
        """All rows of a version of a small table, on the driver (M2, M5); None if it cannot be fetched."""
        types = dict(known.columns)
        key = (table.name, table.oldest, version, tuple((c, types.get(c, "")) for c in columns))
        with self._lock:
            rows = self._versions.get(key)
            if rows is None:
                rows = read.fetched_version(known, version, columns, None)
                if rows is None:
                    return None
                for other in [k for k in self._versions if (k[:2], k[3]) == (key[:2], key[3])]:
                    del self._versions[
                        other
                    ]  # whoever reads an older time patches the newest version
                self._versions[key] = rows
            self._versions.move_to_end(key)
            while sum(r.num_rows for r in self._versions.values()) > ALL_ROWS:
                self._versions.popitem(last=False)
        return rows

    def clear(self) -> None:
        """Let every frame go, and its memory (M3)."""
        with self._lock:
            frames = [kept.frame for kept in self._frames.values()]
            self._frames.clear()
            self._versions.clear()
            self._changed.clear()
            self._fetched.clear()
        with suppress(Py4JError, OSError):  # a session that died took its memory with it
            for frame in frames:
                frame.unpersist()

    def _far(self, table: DeltaLakeTable, one: Csn, other: Csn) -> bool:
        lo, hi = sorted((one, other))
        between = table.ledger.changes_of(table.name, lo, hi)
        rows = sum(c.inserted + c.deleted for c in between)
        return len(between) > PATCH_COMMITS or rows > PATCH_ROWS

    def _keep(self, key: Key, table: DeltaLakeTable, time: Csn, columns: Sequence[str]) -> Frame:
        old = self._frames.pop(key, None)
        if old is not None:
            old.frame.unpersist()
        while (
            self._frames and sum(f.rows for f in self._frames.values()) + table.row.rows > ALL_ROWS
        ):
            self._frames.popitem(last=False)[1].frame.unpersist()
        frame = DeltaLakeTable.at(table, time, columns).coalesce(1).persist()
        self._frames[key] = Frame(time, table.row.rows, frame)
        return self._frames[key]


def _changes_key(
    table: DeltaLakeTable,
    known: BaseRelation,
    captured: Sequence[CapturedChange],
    columns: Sequence[str],
) -> ChangesKey:
    types = dict(known.columns)
    read_as = (table.name, table.oldest, tuple((c, types.get(c, "")) for c in columns))
    return read_as, tuple(change.csn for change in captured)


class KeptTable(DeltaLakeTable):
    """A Delta Lake table that is read through kept frames."""

    def __init__(self, spark: SparkSession, ledger: Ledger, row: BaseRelation, kept: Kept) -> None:
        super().__init__(spark, ledger, row)
        self.kept = kept

    def changed(
        self, known: BaseRelation, captured: Sequence[CapturedChange], columns: Sequence[str]
    ) -> DataFrame:
        """The changed rows of the captured commits."""
        return self.kept.changed(self, known, captured, columns)

    def fetched_changed(
        self, known: BaseRelation, captured: Sequence[CapturedChange], columns: Sequence[str]
    ) -> pa.Table | None:
        """The changed rows of the captured commits, on the driver."""
        return self.kept.fetched(self, known, captured, columns)

    def at(self, time: Csn, columns: Sequence[str]) -> DataFrame:
        """The table as of `time`."""
        return self.kept.at(self, time, columns)

    def fetched_version(
        self, known: BaseRelation, version: int, columns: Sequence[str], keys: Keys
    ) -> pa.Table | None:
        """The rows of a version that have one of the keys, on the driver."""
        if self.row.rows > KEEP_ROWS:
            return super().fetched_version(known, version, columns, keys)
        rows = self.kept.version(self, known, version, columns)
        return None if rows is None else having(rows, keys)
