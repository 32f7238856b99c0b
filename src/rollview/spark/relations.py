"""Every relation by its name: source tables, views and the blocks inside views.

N1  A name is found in the ledger, anew each time; only a round, in which nothing is captured, remembers source tables.
Gives planners what the timeline knows of a relation without a Spark job: columns, changed rows, how far it can
be read with the columns a view uses, and why not further.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from rollview.calculus.terms import AsOf, Changes, Factor
from rollview.changes import Csn
from rollview.errors import ChangesLost, ConfigError, SourceError, Unreachable
from rollview.ledger.store import BaseRelation, BlockRow, Ledger
from rollview.sources.delta_lake.read import check_still_there
from rollview.sources.delta_lake.relation import DeltaLakeTable, first_break, schema_problem
from rollview.sources.postgresql.table import MODES
from rollview.sources.relation import Relation
from rollview.spark.kept import Kept, KeptTable
from rollview.spark.live import LiveTable
from rollview.spark.replica import Replica
from rollview.spark.rolled import RolledTable
from rollview.views.blocks import Block

if TYPE_CHECKING:
    from rollview.spark.products import Products


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a relation can be propagated, and what stands in the way of going further."""

    to: Csn
    problem: SourceError | None = None


def stopped_problem(row: BaseRelation) -> SourceError:
    """The error that stopped a table, as capture met it."""
    what, *rest = (row.stopped or "").split("\n")
    hint = rest.pop().removeprefix("hint: ") if rest and rest[-1].startswith("hint: ") else ""
    kinds: dict[str, type[SourceError]] = {k.__name__: k for k in (ChangesLost, Unreachable)}
    kind = kinds.get(str(row.properties.get("stopped_kind")), SourceError)
    return kind(what, "\n".join(rest), hint)


@dataclass(frozen=True, slots=True)
class Relations:
    """Finds relations by name."""

    spark: SparkSession
    ledger: Ledger
    warehouse: Path
    kept: Kept = field(default_factory=Kept)
    products: Products | None = None  # the products of a round, while one runs
    declared: frozenset[str] = frozenset()  # functions of the user's own that views may call

    def base(self, name: str) -> BaseRelation | None:
        """The source table of that name; None if it is none."""
        return self.ledger.relation(name)

    def __call__(self, name: str) -> Relation:
        """The relation of that name."""
        row = self.base(name)
        if row is not None and row.properties.get("mode") not in MODES:
            return KeptTable(self.spark, self.ledger, row, self.kept)
        return self.rolled(name)

    def rolled(self, name: str) -> RolledTable:
        """The rolled table of a view or block, or the copy of a PostgreSQL table."""
        relation = self.base(name)
        mode = None if relation is None else relation.properties.get("mode")
        if relation is not None and mode in MODES:
            kind = Replica if mode == "replica" else LiveTable
            return kind(self.spark, self.ledger, self.warehouse, relation)
        _, block = self._block(name)
        return RolledTable(self.spark, self.ledger, self.warehouse, name, block)

    def live(self, names: Sequence[str]) -> frozenset[str]:
        """Those of the relations that are asked of a live database."""
        rows = [self.base(name) for name in names]
        return frozenset(r.name for r in rows if r and r.properties.get("mode") == "live")

    def _block(self, name: str) -> tuple[BlockRow, Block]:
        row = self.ledger.block(name)
        view = self.ledger.view(row.view) if row and row.view else None
        if row is None or view is None:
            raise ConfigError(
                f'there is no table or view "{name}"', hint="rollview status lists them"
            )
        return row, view.definition.blocks[row.number]

    def columns(self, name: str) -> tuple[tuple[str, str], ...]:
        """The columns of a relation and their types."""
        row = self.base(name)
        if row is not None:
            return row.columns
        return tuple((c.name, c.type) for c in self._block(name)[1].columns)

    def names_at(self, name: str, time: Csn) -> list[str]:
        """The names of the columns that the relation had at `time`."""
        row = self.base(name)
        if row is None or row.properties.get("mode") in MODES:
            return [column for column, _ in self.columns(name)]
        return [c for c, _ in DeltaLakeTable(self.spark, self.ledger, row).columns_at(time)]

    def rows(self, name: str) -> int:
        """About how many rows the relation has."""
        row: BaseRelation | BlockRow | None = self.base(name) or self.ledger.block(name)
        return row.rows if row else 0

    def changed_rows(self, name: str, lo: Csn, hi: Csn) -> int:
        """About how many rows changed in (lo, hi]; 0 only if none did."""
        if self.base(name) is not None:
            return self.ledger.changed_rows(name, lo, hi)
        return sum(step.rows for step in self.ledger.steps(name, lo, hi))

    def taken_rows(self, name: str, lo: Csn, hi: Csn) -> int:
        """About how many rows were taken away in (lo, hi]; 0 only if none were."""
        if self.base(name) is not None:
            return sum(c.deleted for c in self.ledger.changes_of(name, lo, hi))
        return sum(step.taken for step in self.ledger.steps(name, lo, hi))

    def check_read(self, factor: Factor, name: str) -> None:
        """Once a factor was read: raise if the table or its changes went away meanwhile, which no reader says."""
        row = self.base(name)
        if row is None or row.properties.get("mode") in MODES:
            return
        if isinstance(factor, AsOf):
            check_still_there(row, ())
        else:
            hi = factor.hi if isinstance(factor, Changes) else factor.at
            check_still_there(row, self.ledger.changes_of(name, factor.lo, hi))

    def reach(self, name: str, columns: Sequence[str], start: Csn, to: Csn) -> Reach:
        """How far towards `to` an input standing at `start` can go."""
        row = self.base(name)
        if row is None:
            table = self.rolled(name)
            if start < table.oldest:
                return Reach(start, ChangesLost(
                    f'view "{name}" no longer has its changes after {start}',
                    f"it was recomputed in full, or its history was cleaned up: oldest {table.oldest}",
                    "refresh the reading view with full=True",
                ))  # fmt: skip
            return Reach(Csn(min(to, table.mark)))
        if start < row.base_csn:
            return Reach(start, ChangesLost(
                f'table "{name}" no longer has its changes after {start}',
                f"it was registered anew at {row.base_csn}",
                "refresh the view with full=True",
            ))  # fmt: skip
        epochs = self.ledger.schema_epochs(name)
        here = DeltaLakeTable(self.spark, self.ledger, row).version_at(start)
        broken = first_break(epochs, here, columns)
        if broken is not None and broken.csn < to:
            known = dict(next(e.columns for e in reversed(epochs) if e.position < broken.position))
            problem: SourceError = schema_problem(name, broken, known, columns)
            return Reach(Csn(max(start, broken.csn)), problem)
        if row.stopped is not None:
            limit = Csn(max(start, int(row.properties.get("stopped_csn", 0))))
            if limit < to:
                return Reach(limit, stopped_problem(row))
        return Reach(to)
