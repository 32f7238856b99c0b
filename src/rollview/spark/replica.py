"""A replica: the exact copy of a PostgreSQL table, a rolled table whose log capture writes.

It is complete as far as its source was captured; everything else is as for any rolled table (rolled.py).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from rollview.changes import Csn
from rollview.ledger.store import BaseRelation, BlockRow, Ledger
from rollview.spark.rolled import RolledTable
from rollview.views.blocks import Column, Input, Join, Union
from rollview.views.syntax import quoted


class Replica(RolledTable):
    """The copy of one table; `pending` is its row while the ledger does not have it yet."""

    def __init__(
        self,
        spark: SparkSession,
        ledger: Ledger,
        warehouse: Path,
        relation: BaseRelation,
        pending: BlockRow | None = None,
    ) -> None:
        super().__init__(spark, ledger, warehouse, relation.name, block_of(relation))
        self.relation, self.pending = relation, pending

    def row(self) -> BlockRow:
        """The ledger's word on this table, now; complete as far as the source was captured."""
        row = self.pending or super().row()
        return replace(row, frontier=(self.mark,))

    @property
    def mark(self) -> Csn:
        """Captured up to here: the newest CSN, for a source that has not stopped."""
        stopped = self.relation.properties.get("stopped_csn")
        return self.ledger.newest_csn() if stopped is None else Csn(stopped)


def block_of(relation: BaseRelation) -> Union:
    """The block of a table that is a copy of itself: all of its columns, as they are."""
    columns = tuple(Column(name, quoted(name), kind) for name, kind in relation.columns)
    source = Input("t", relation.name, tuple(name for name, _ in relation.columns))
    return Union((Join((source,), None, columns),))
