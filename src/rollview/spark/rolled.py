"""The rolled table on storage: folded rows in a Delta Lake table, a log of steps in Parquet folders.

W1  A step's folder has a name that only its attempt knows; it exists for readers when the ledger lists it.
W2  A reader pins (folded version, fold times, steps) in one read of the ledger and so sees one whole time,
    whatever is folded meanwhile.
W3  Folding writes rows that are already exact and moves the fold times; no answer depends on it.
Verbs: append, changes, at, exact, table, write_folded. What the trees mean: calculus/rolled.py. When to fold, and
what a commit moves: apply.py and propagate.py.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from sqlglot import exp

from rollview.calculus import patched, rolled
from rollview.calculus.patched import ADDED, BOTH, TAKEN, UNSEEN
from rollview.calculus.queries import kept_keys, kept_sums
from rollview.calculus.rolled import FOLDED, LOG, Window
from rollview.calculus.rolling import high_water_mark
from rollview.changes import BUCKET, COUNT, STAMP, Csn
from rollview.errors import TimeNotReached
from rollview.ledger.resolution import check_exact
from rollview.ledger.store import BlockRow, Ledger, Step
from rollview.sources.delta_lake.listed import MOST_FILES, parquet_version
from rollview.sources.delta_lake.log import newest_version, read_commit
from rollview.sources.frames import empty_rows, frame
from rollview.spark.added import added_up
from rollview.spark.evaluate import bound
from rollview.spark.pending import patch, unseen
from rollview.spark.telling import ENOUGH_ROWS, telling_columns
from rollview.spark.written import Written, collected, measured, plain_rows, write_rows
from rollview.views.blocks import Block, Reduce
from rollview.views.syntax import quoted

FILE_BYTES = 32 * 2**20
"""A fold takes a task for each so many bytes, of those that there are, and each writes a file."""
HAVING = "_rv_having"
"""Whether a group is shown, in the folded rows of a Reduce with HAVING."""
ROWS_FOR_A_STEP = 50_000
"""So many folded rows pass a union in the time that it takes to open the file of a step."""
ODD = re.compile(r"[ ,;{}()\n\t=]")
"""What Delta Lake takes in a column name only with column mapping; Spark itself names columns `count(1)`."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A commit of folded rows: its table version, and the rows and bytes that it wrote."""

    version: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Pinned:
    """What one read of the ledger says about reading at one time (W2)."""

    row: BlockRow
    span: Window
    steps: tuple[Step, ...]

    @property
    def any_taken(self) -> bool:
        """Some step takes rows away."""
        return any(step.taken for step in self.steps)


class RolledTable:
    """One block's rolled table; a Relation for whoever reads it."""

    def __init__(
        self, spark: SparkSession, ledger: Ledger, warehouse: Path, name: str, block: Block
    ) -> None:
        self.spark, self.ledger, self.warehouse = spark, ledger, warehouse
        self.name, self.block = name, block

    def row(self) -> BlockRow:
        """The ledger's word on this table, now."""
        row = self.ledger.block(self.name)
        assert row is not None, f"block {self.name} is not in the ledger"
        return row

    @property
    def mark(self) -> Csn:
        """The log is complete up to here."""
        return high_water_mark(self.row().frontier)

    @property
    def oldest(self) -> Csn:
        """The oldest time that can be read."""
        return self.row().oldest

    def table(self, time: Csn) -> DataFrame:
        """The visible rows as of `time`, duplicates included."""
        pin = self.pinned(time)
        if pin.span.empty and self._folded_as_shown:
            rows = self.folded(pin.row)
            rows = (
                rows.where(HAVING) if isinstance(self.block, Reduce) and self.block.having else rows
            )
        else:
            rows = self._patched_in_one(pin) or self._patched(pin) or self._visible(pin)
        # Names as text: a column of Python's for each takes a call into the JVM, or several.
        return rows.selectExpr(*(quoted(c.name) for c in self.block.columns))

    def _visible(self, pin: Pinned, bucket: int | None = None) -> DataFrame:
        tree = rolled.visible(self.block, pin.span, pin.any_taken, pin.row.telling)
        return self._bound(tree, pin, bucket)

    def _patched_in_one(self, pin: Pinned) -> DataFrame | None:
        """The visible rows by one scan of folded rows and steps, where they can be and the folded rows are many."""
        if not pin.row.telling or pin.row.rows < ROWS_FOR_A_STEP * len(pin.steps):
            return None
        keys = [(c.name, c.type) for c in kept_keys(self.block)]
        folder, version = str(self.folder(pin.row) / "folded"), pin.row.folded_version
        telling = pin.row.telling
        found = None if version is None else parquet_version(folder, version, MOST_FILES)
        if found is None:
            return None
        rows = unseen(self.warehouse, pin.steps, pin.span, keys, telling)
        if rows is None:
            return None
        tree = patched.patched_in_one(self.block, telling, pin.span, bool(rows.num_rows))
        stamped = [*keys, (STAMP, "bigint")]
        steps = [str(file) for step in pin.steps for file in self._files_of(step)]
        both = self.spark.read.schema(_schema([*stamped, (COUNT, "bigint")]))
        told = _schema([c for c in stamped if c[0] in rows.column_names])
        more = {
            BOTH: partial(both.parquet, *found.files, *steps),
            UNSEEN: partial(frame, self.spark, rows, told),
        }
        return self._bound(tree, pin, more=more)

    def _files_of(self, step: Step) -> list[Path]:
        return sorted((self.warehouse / step.folder).glob("*.parquet"))

    def _patched(self, pin: Pinned) -> DataFrame | None:
        """The visible rows with the log netted by the driver, if it can be."""
        keys = kept_keys(self.block)
        netted = (
            patch(self.warehouse, pin.steps, pin.span, [(c.name, c.type) for c in keys])
            if pin.row.telling
            else None
        )
        if netted is None:
            return None
        schema = _schema([(c.name, c.type) for c in keys])
        there = {TAKEN: netted.taken, ADDED: netted.added}
        tree = patched.patched(
            self.block, pin.row.telling, *(bool(t.num_rows) for t in there.values())
        )
        given = {name: partial(frame, self.spark, rows, schema) for name, rows in there.items()}
        return self._bound(tree, pin, more=given)

    @property
    def _folded_as_shown(self) -> bool:
        """The folded rows are the visible ones: all but those of a Reduce that shows a row over nothing, or copies."""
        return not isinstance(self.block, Reduce) or bool(self.block.keys and not self.block.copies)

    def exact(self, time: Csn, columns: Sequence[str]) -> DataFrame:
        """The rows as of `time`, each as often as it occurs."""
        return self.table(time).select(*map(quoted, columns))

    def at(self, time: Csn, columns: Sequence[str]) -> DataFrame:
        """The rows as of `time` with their counts; signed where that saves netting."""
        pin = self.pinned(time)
        if isinstance(self.block, Reduce):
            tree: exp.Query = rolled.state(self.block, pin.span, pin.any_taken)
        else:
            tree = rolled.signed_state(self.block, pin.span)
        return self._bound(rolled.shown(self.block, tree), pin).select(*map(quoted, columns), COUNT)

    def parts(self, time: Csn, columns: Sequence[str]) -> tuple[DataFrame, ...]:
        """The rows as of `time`, the folded ones apart from what the log moves."""
        if isinstance(self.block, Reduce):
            return (self.at(time, columns),)
        pin = self.pinned(time)
        return tuple(
            self._bound(rolled.shown(self.block, part), pin).select(*map(quoted, columns), COUNT)
            for part in rolled.signed_parts(self.block, pin.span)
        )

    def changes(self, lo: Csn, hi: Csn, columns: Sequence[str]) -> DataFrame:
        """The visible changes in (lo, hi]."""
        pin = self.pinned(lo)
        self.check(pin.row, hi)
        steps = {s.id: s for s in (*pin.steps, *self.ledger.steps(self.name, lo, hi))}
        pin = Pinned(pin.row, pin.span, tuple(steps.values()))
        tree = rolled.row_changes(self.block, lo, hi, pin.span, pin.any_taken)
        return self._bound(tree, pin).select(*map(quoted, columns), STAMP, COUNT)

    def totals(self, lo: Csn, hi: Csn, new: Sequence[Step]) -> DataFrame:
        """What the totals of a Reduce come to at each stamp in (lo, hi] (calculus/rolled.py).

        For its writer, who knows of `new` steps that the ledger does not list yet.
        """
        assert isinstance(self.block, Reduce), "nothing else has totals"
        row = self.row()
        steps = (*self.ledger.steps(self.name, Csn(min(lo, *row.fold_times)), hi), *new)
        pin = Pinned(row, rolled.window(row.fold_times, lo), steps)
        return self._bound(rolled.totals(self.block, lo, hi, pin.span, pin.any_taken), pin)

    def pinned(self, time: Csn) -> Pinned:
        """What to read for `time`, from one moment of the ledger (W2)."""
        with self.ledger.snapshot():
            row = self.row()
            self.check(row, time)
            span = rolled.window(row.fold_times, time)
            steps = () if span.empty else tuple(self.ledger.steps(self.name, *span.span))
        return Pinned(row, span if steps else Window(()), steps)

    def check(self, row: BlockRow, time: Csn) -> None:
        """Raise unless `time` lies in what is kept and complete."""
        if row.folded_version is None:
            raise still_being_built(row.view or row.name)
        mark = high_water_mark(row.frontier)
        if not row.oldest <= time <= mark:
            where = "older than what is kept" if time < row.oldest else "past the high-water mark"
            raise TimeNotReached(
                f'view "{self.name}" cannot be read at {time}: {where}',
                f"readable times: {row.oldest} to {mark}",
                "refresh the view first" if time > mark else "name a time in that range",
            )
        if row.view is not None:
            check_exact(self.ledger, row.view, time)

    def _bound(
        self,
        tree: exp.Query,
        pin: Pinned,
        bucket: int | None = None,
        more: Mapping[str, Callable[[], DataFrame]] = MappingProxyType({}),
    ) -> DataFrame:
        """The tree over folded rows and log, or over those of one bucket: no row has a part in another.

        `more`: other leaves.
        """

        def folded() -> DataFrame:
            if bucket is None:
                return self.folded(pin.row)
            rows = self._stored_at(pin.row, pin.row.folded_version)
            return rows.where(F.col(BUCKET) == bucket).drop(BUCKET)

        def log() -> DataFrame:
            rows = self.log(pin.steps, len(pin.row.fold_times))
            return rows if bucket is None else rows.where(F.col(BUCKET) == bucket)

        leaves = {FOLDED: folded, LOG: log, **more}
        prefix = f"_rv_{uuid.uuid4().hex[:12]}"
        renamed = tree.copy()
        found = [leaf for leaf in renamed.find_all(exp.Table) if leaf.name in leaves]
        used = {prefix + name: leaves[name]() for name in {leaf.name for leaf in found}}
        for leaf in found:
            leaf.set("this", exp.to_identifier(prefix + leaf.name, quoted=True))
        return bound(self.spark, renamed, used)

    def folded(self, row: BlockRow) -> DataFrame:
        """The folded rows that `row` pins."""
        version = row.folded_version
        found = version is not None and parquet_version(str(self.folder(row) / "folded"), version)
        if not found:
            return self._stored_at(row, version).drop(BUCKET)
        schema = StructType.fromJson(json.loads(found.schema))
        return self.spark.read.schema(schema).parquet(*found.files)

    def _stored_at(self, row: BlockRow, version: int | None) -> DataFrame:
        """The folded rows and their buckets, if there are several."""
        path = str(self.folder(row) / "folded")
        return self.spark.read.format("delta").option("versionAsOf", str(version)).load(path)

    def told_by(self, written: Folded) -> dict[str, object]:
        """By which columns all rows of a folded version differ, for the ledger to keep; `written`: its last commit."""
        row, names = self.row(), [c.name for c in self.block.columns]
        columns: list[str] = []
        if (
            written.rows >= ENOUGH_ROWS
            and row.view == self.name
            and not isinstance(self.block, Reduce)
        ):
            added = read_commit(str(self.folder(row) / "folded"), written.version).adds
            files = [self.folder(row) / "folded" / f.path for f in added if f.rows]
            columns = telling_columns(self._stored_at(row, written.version), files, names)
        return {"version": written.version, "columns": columns}

    def log(self, steps: Sequence[Step], buckets: int) -> DataFrame:
        """The changes in the given steps: keys, sums, count, stamp and, if there are several, bucket."""
        kept = [*kept_keys(self.block), *kept_sums(self.block)]
        columns = [(c.name, c.type) for c in kept]
        schema = _schema([*columns, (COUNT, "bigint"), (STAMP, "bigint")])
        if steps:
            folders = [str(self.warehouse / step.folder) for step in steps]
            rows = self.spark.read.schema(schema).parquet(*folders)
        else:
            rows = empty_rows(self.spark, schema)
        return rows.withColumn(BUCKET, self.bucket_of(buckets)) if buckets > 1 else rows

    def bucket_of(self, buckets: int) -> Column:
        """The bucket of a row, by its keys."""
        keys = [F.col(quoted(k.name)) for k in kept_keys(self.block)]
        return F.pmod(F.hash(*keys), F.lit(buckets)) if keys else F.lit(0)

    def folder(self, row: BlockRow) -> Path:
        """Where the table's files are."""
        return self.warehouse / row.folder

    def newest_folded_version(self) -> int | None:
        """The newest table version of the folded rows, whether the ledger pins it or not."""
        path = self.folder(self.row()) / "folded"
        return newest_version(str(path)) if path.exists() else None

    def append(
        self, changes: DataFrame, step: str, few: bool = False, local: bool = False
    ) -> Written:
        """Write a step under the name of its attempt; nobody sees it until the ledger lists it (W1).

        `few`: the rows may come to the driver, which writes them sooner than a Spark job does. `local`: they are there
        already, and are added up there if the block is a Reduce (written.py, D2).
        """
        folder = f"{self.row().folder}/steps/{step}"
        if few and plain_rows(changes):
            found = collected(changes) if local else changes.toArrow()
            if local and isinstance(self.block, Reduce):
                found = added_up(self.block, found)
            write_rows(found, self.warehouse / folder, self.spark.version)
        else:
            changes.write.mode("error").parquet(str(self.warehouse / folder))
        return measured(self.warehouse, step, folder)

    def write_folded(self, rows: DataFrame, txn: int, bucket: int | None, buckets: int) -> Folded:
        """Replace the folded rows (of one bucket) in one idempotent commit."""
        row = self.row()
        path = self.folder(row) / "folded"
        writer = (
            self.stored(rows, buckets)
            .write.format("delta")
            .mode("overwrite")
            .option("txnAppId", f"rollview/{self.ledger.warehouse_id}/{self.name}")
            .option("txnVersion", str(txn))
            .option("delta.checkpointInterval", "100")  # a checkpoint costs 0.8 s
        )
        if any(ODD.search(c.name) for c in (*kept_keys(self.block), *self.block.columns)):
            writer = writer.option("delta.columnMapping.mode", "name")
        if buckets > 1:
            writer = writer.partitionBy(BUCKET)
        if bucket is None:
            writer = writer.option("overwriteSchema", "true")  # the number of buckets may change
        else:
            writer = writer.option("replaceWhere", f"{BUCKET} = {bucket}")
        writer.save(str(path))
        version = newest_version(str(path))
        assert version is not None, "a commit leaves a version"
        added = read_commit(str(path), version).adds
        return Folded(version, sum(f.records or 0 for f in added), sum(f.size for f in added))

    def stored(self, rows: DataFrame, buckets: int) -> DataFrame:
        """Rows as the folded table stores them: visible columns, and hidden ones for a Reduce."""
        if isinstance(self.block, Reduce):
            kept = {c.name for c in (*kept_keys(self.block), *kept_sums(self.block))}
            extra = [F.expr(c.expr).alias(c.name) for c in self.block.columns if c.name not in kept]
            if self.block.having:
                extra.append(F.expr(self.block.having).alias(HAVING))
            if self.block.copies:
                extra.append(F.expr(self.block.copies).alias("_rv_copies"))
            rows = rows.select(*map(quoted, sorted(kept)), COUNT, *extra)
        return rows.withColumn(BUCKET, self.bucket_of(buckets)) if buckets > 1 else rows

    def state(self, time: Csn, bucket: int | None) -> DataFrame:
        """What a fold (of one bucket) to `time` stores: a Reduce's keys, sums and count, else the visible rows."""
        pin = self.pinned(time)
        if isinstance(self.block, Reduce):
            return self._bound(rolled.state(self.block, pin.span, pin.any_taken), pin, bucket)
        rows = self._visible(pin, bucket)
        # The log's rows would be small files of their own, and every reader opens them.
        size = pin.row.bytes // (1 if bucket is None else len(pin.row.fold_times))
        tasks = self.spark.sparkContext.defaultParallelism
        return rows.coalesce(max(1, min(tasks, -(-size // FILE_BYTES))))


def still_being_built(view: str) -> TimeNotReached:
    """The error for whoever wants to read or move a view that has no contents yet."""
    return TimeNotReached(
        f'view "{view}" is still being built',
        "its first build was interrupted, or has failed",
        f"rollview refresh {view} goes on with it",
    )


def _schema(columns: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{quoted(name)} {kind}" for name, kind in columns)
