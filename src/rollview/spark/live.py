"""A live PostgreSQL table: asked now, and patched with captured changes to any captured time.

Its log is what capture writes; it has no copy. A read of the whole table holds a moment of the server until the rows
are here, and no longer: they are kept by Spark, so that nothing is asked twice and no later moment can slip in. What
takes longer than the source allows is read in ranges of its key (sources/postgresql/ranges.py).
Reads of a few rows, by join keys: probes.py. How a moment is patched: sources/postgresql/live.py.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rollview.calculus.rolled import FOLDED, LOG, Window, visible
from rollview.changes import COUNT, STAMP, Csn
from rollview.errors import TimeNotReached
from rollview.ledger.rows import READS
from rollview.sources.frames import frame
from rollview.sources.postgresql.live import Query, Reading, TooLong, narrowed, reading
from rollview.sources.postgresql.load import Moment, Part, key_parts, parts_of, rows_at
from rollview.sources.postgresql.ranges import Range, smaller, whole_range
from rollview.spark.evaluate import bound, counted
from rollview.spark.replica import Replica
from rollview.views.blocks import Column, Join, Union
from rollview.views.syntax import quoted

SMALL_PAGES = 512
"""Pages of a table that is read through the driver: no job for a few thousand rows."""

Piece = tuple[DataFrame, pa.Table]
"""Rows that a moment shows, and what leads from there to a time."""


class LiveTable(Replica):
    """A table of a live database; positions are places in its WAL."""

    def changes(self, lo: Csn, hi: Csn, columns: Sequence[str]) -> DataFrame:
        """What changed in (lo, hi], from the log."""
        self._check(lo)
        self._check(hi)
        stamp = F.col(STAMP)
        rows = self.log(self.ledger.steps(self.name, lo, hi), 1)
        return rows.where((stamp > lo) & (stamp <= hi)).select(*map(quoted, columns), STAMP, COUNT)

    def at(self, time: Csn, columns: Sequence[str]) -> DataFrame:
        """The table as of `time`, as a signed bag."""
        shown, patch = self._read(time, columns)
        return counted(shown).unionByName(patch)

    def parts(self, time: Csn, columns: Sequence[str]) -> tuple[DataFrame, ...]:
        """The table as of `time`; it is asked for what a step needs, so that no part is large."""
        return (self.at(time, columns),)

    def exact(self, time: Csn, columns: Sequence[str]) -> DataFrame:
        """The table as of `time` as plain rows."""
        shown, patch = self._read(time, columns)
        kinds = dict(self.relation.columns)
        block = Union((Join((), None, tuple(Column(c, quoted(c), kinds[c]) for c in columns)),))
        span = Window(((None, Csn(0), Csn(1), 1),))
        stamped = patch.withColumn(STAMP, F.lit(1).cast("bigint"))
        prefix = f"_rv_{uuid.uuid4().hex[:12]}"
        tree = visible(block, span, any_taken=True).transform(_renamed(prefix))
        return bound(self.spark, tree, {prefix + FOLDED: shown, prefix + LOG: stamped})

    def table(self, time: Csn) -> DataFrame:
        """All columns as of `time`."""
        return self.exact(time, [name for name, _ in self.relation.columns])

    def _check(self, time: Csn) -> None:
        if not self.relation.base_csn <= time <= self.mark:
            raise TimeNotReached(
                f'table "{self.name}" cannot be read at {time}',
                f"readable times: {self.relation.base_csn} to {self.mark}",
                "name a time in that range",
            )

    def _read(self, time: Csn, columns: Sequence[str]) -> tuple[DataFrame, DataFrame]:
        """What moments show, as plain rows, and what leads from there to `time`."""
        self._check(time)
        pieces = self._pieces(time, columns, None)
        shown = reduce(DataFrame.unionByName, (rows for rows, _ in pieces))
        patch = pa.concat_tables([patch for _, patch in pieces])
        return shown, frame(self.spark, patch, self._schema(columns, COUNT))

    def _pieces(self, time: Csn, columns: Sequence[str], keys: Range | None) -> list[Piece]:
        """The table at one moment or, if that takes too long, in ranges of its key, each at one of its own."""
        try:
            return [self._piece(time, columns, keys)]
        except TooLong:
            ranges = self._smaller(keys)
            if not ranges:
                raise
        return [piece for some in ranges for piece in self._pieces(time, columns, some)]

    def _piece(self, time: Csn, columns: Sequence[str], keys: Range | None) -> Piece:
        with reading(self.ledger, self.warehouse, self.relation.source, [self.name]) as now:
            table = now.table(self.name)
            parts = (
                key_parts(now.connection, table, keys) if keys else parts_of(now.connection, table)
            )
            small = not keys and len(parts) == 1 and now.pages(self.name) <= SMALL_PAGES
            shown = (
                self._fetched(now, columns) if small else self._by_executors(now, columns, parts)
            )
            patch = now.patch(self.name, time)
            return shown, (keys.of(patch) if keys else patch).select([*columns, COUNT])

    def _smaller(self, keys: Range | None) -> list[Range]:
        """The ranges that a range of keys, or the whole table, is cut into; none if it cannot be."""
        with reading(self.ledger, self.warehouse, self.relation.source, [self.name]) as now:
            keys = keys or whole_range(now.table(self.name))
            return smaller(now.connection, now.names[self.name], keys) if keys else []

    def _fetched(self, now: Reading, columns: Sequence[str]) -> DataFrame:
        (rows,) = now.fetched([Query(self.name, tuple(columns))])
        return frame(self.spark, rows.drop_columns([COUNT]), self._schema(columns))

    def _by_executors(
        self, now: Reading, columns: Sequence[str], parts: Sequence[Part]
    ) -> DataFrame:
        """All parts by executors, each at this moment; kept by Spark when this returns."""
        table = narrowed(now.table(self.name), columns)
        moment = Moment(now.moment.exported, now.moment.text)
        with read_folder(self.warehouse) as folder:
            rows = rows_at(self.spark, now.pinned.where, self.relation.source, table, parts, moment,
                           folder, now.seconds_left)  # fmt: skip
            return rows.localCheckpoint()

    def _schema(self, columns: Sequence[str], *more: str) -> str:
        kinds = dict(self.relation.columns)
        named = [f"{quoted(c)} {kinds[c]}" for c in columns]
        return ", ".join([*named, *(f"{name} bigint" for name in more)])


@contextmanager
def read_folder(warehouse: Path) -> Iterator[Path]:
    """A folder for what executors read, which is gone afterwards."""
    folder = warehouse / READS / uuid.uuid4().hex
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _renamed(prefix: str):  # type: ignore[no-untyped-def] # sqlglot's own callback
    """Leaves under names of their own."""
    from sqlglot import exp

    def rename(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Table) and node.name in (FOLDED, LOG):
            node.set("this", exp.to_identifier(prefix + node.name, quoted=True))
        return node

    return rename
