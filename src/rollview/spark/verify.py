"""Verify: is the view, at its time, what a recompute at that time gives, as a bag?

The recompute runs the view's own query, as generated from its tree, over the relations as of that time; it shares
nothing with how the view was maintained. Floats and doubles are compared to 9 significant digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, FloatType

from rollview.changes import Csn
from rollview.ledger.store import ViewRow
from rollview.spark.failures import spark_errors
from rollview.spark.relations import Relations
from rollview.spark.unrolled import Unrolled
from rollview.views.blocks import inputs
from rollview.views.parse import relation_identifier
from rollview.views.syntax import expression, quoted

EXAMPLES = 10
"""Rows of each kind that are brought to the driver as examples."""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """ok, or how many rows are missing from the view and how many it has too many, with examples."""

    view: str
    view_time: Csn
    ok: bool
    missing: int
    extra: int
    examples: tuple[tuple[str, tuple[Any, ...]], ...] = ()


def recomputed(relations: Relations, view: ViewRow, at: Csn, queries: Unrolled) -> DataFrame:
    """The view's query over its relations as of `at`."""
    definition = view.definition
    leaves = {
        relation_identifier(n): relations(n).exact(at, relations.names_at(n, at))
        for n in _reads(view)
    }
    rows = queries.rows(expression(definition.sql), leaves)
    # A table may have got columns since, for which `*` stands as well.
    return rows.select(*(quoted(c.name) for c in definition.columns))


def _reads(view: ViewRow) -> set[str]:
    """The tables and views that the view reads."""
    blocks = view.definition.blocks
    own = {view.definition.block_name(k) for k in range(len(blocks))}
    return {i.relation for block in blocks for i in inputs(block)} - own


def verify(relations: Relations, view: ViewRow, at: Csn) -> VerifyReport:
    """Compare the view at `at` with a recompute at `at`."""
    with (
        spark_errors(relations, view.name, sorted(_reads(view))),
        Unrolled(relations.spark) as queries,
    ):
        return _compared(relations, view, at, queries)


def _compared(relations: Relations, view: ViewRow, at: Csn, queries: Unrolled) -> VerifyReport:
    have = _comparable(relations.rolled(view.name).table(at))
    want = _comparable(recomputed(relations, view, at, queries))
    missing, extra = want.exceptAll(have), have.exceptAll(want)
    counts = (missing.count(), extra.count())
    examples = []
    for kind, rows, count in (("missing", missing, counts[0]), ("extra", extra, counts[1])):
        if count:
            examples += [(kind, tuple(row)) for row in rows.limit(EXAMPLES).collect()]
    return VerifyReport(view.name, at, counts == (0, 0), *counts, tuple(examples))


def _comparable(rows: DataFrame) -> DataFrame:
    """Floats as text of 9 digits; every other value as it is."""
    return rows.select([
        F.format_string("%.8e", F.col(f"`{f.name}`").cast("double")).alias(f.name)
        if isinstance(f.dataType, (DoubleType, FloatType)) else F.col(f"`{f.name}`")
        for f in rows.schema.fields
    ])  # fmt: skip
