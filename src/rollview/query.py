"""Query: a SELECT over views and tables, all of them read as of one time.

Y1  The answer is of one CSN: the one asked for, or the latest at which every view named shows its view time or can
    be read.
What runs is generated from the parsed tree; the same functions are allowed as in views.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rollview.changes import Csn
from rollview.define import schemas
from rollview.spark.evaluate import bound_in_turn
from rollview.spark.failures import refusals
from rollview.spark.relations import Relations
from rollview.views.parse import parse_query, relation_identifier
from rollview.views.syntax import expression

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def answered(relations: Relations, sql: str, at: Csn | None) -> DataFrame:
    """The answer as of `at`, or as of the common time of the views it reads."""
    text, names = parse_query(sql, schemas(relations.ledger), relations.declared)
    time = common_time(relations, names) if at is None else at
    leaves = {
        relation_identifier(n): relations(n).exact(time, [c for c, _ in relations.columns(n)])
        for n in names
    }
    with refusals("the query cannot be run"):
        return bound_in_turn(relations.spark, expression(text), leaves)


def common_time(relations: Relations, names: tuple[str, ...]) -> Csn:
    """The earliest view time among the views named; now, if only tables are (Y1)."""
    shown = [v.view_time for n in names if (v := relations.ledger.view(n)) is not None]
    times = [t for t in shown if t is not None]
    return min(times) if times else relations.ledger.newest_csn()
