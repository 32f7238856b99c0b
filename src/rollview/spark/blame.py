"""Blame: which changed row makes a view's query fail.

Spark says what failed, but seldom on which row. The changed rows of a step are few: they are halved until one is
left on which the term itself fails. An aggregate that fails only over many rows has no such row.
Runs only after a failure; knows terms and Spark, not what the view is for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row

from rollview.calculus.queries import term_query
from rollview.calculus.terms import Changes, Term
from rollview.changes import STAMP
from rollview.spark.evaluate import Leaves, bound, rows_of
from rollview.spark.relations import Relations
from rollview.views.blocks import Join

MOST_ROWS = 4096
"""Changed rows that are brought to the driver; among more, nobody is blamed."""


def blamed_row(relations: Relations, terms: Sequence[tuple[Join, Term]]) -> str | None:
    """The row that makes a term fail, in words: its table, transaction and values; None if no single one does."""
    for join, term in terms:
        for factor in term:
            if isinstance(factor, Changes):
                found = _single(relations, join, term, factor)
                if found is not None:
                    return found
    return None


def _single(relations: Relations, join: Join, term: Term, factor: Changes) -> str | None:
    read = join.inputs[factor.input]
    changes = relations(read.relation).changes(factor.lo, factor.hi, read.columns)
    try:
        rows = changes.limit(MOST_ROWS + 1).collect()
    except (PySparkException, Py4JError):
        return None  # the source cannot be read, or reading it is what fails
    if len(rows) > MOST_ROWS or not _fails(relations, join, term, factor, changes, rows):
        return None
    row = single(rows, lambda some: _fails(relations, join, term, factor, changes, some))
    values = ", ".join(f"{name} = {row[name]!r}" for name in read.columns)
    return f'row of "{read.relation}" in transaction {row[STAMP]}: {values}'


def single(rows: Sequence[Row], fails: Callable[[Sequence[Row]], bool]) -> Row:
    """One row on which something fails, given rows on which it does."""
    while len(rows) > 1:
        half = rows[: len(rows) // 2]
        rows = half if fails(half) else rows[len(half) :]
    return rows[0]


def _fails(
    relations: Relations,
    join: Join,
    term: Term,
    factor: Changes,
    changes: DataFrame,
    rows: Sequence[Row],
) -> bool:
    """Whether the term fails where only these rows have changed."""
    leaves = Leaves()
    tree = term_query(join, term, leaves.name)
    mine = leaves.name(
        factor, join.inputs[factor.input].relation, join.inputs[factor.input].columns
    )
    only = relations.spark.createDataFrame(list(rows), changes.schema)
    frames = {
        name: only if name == mine else rows_of(relations(relation), other, columns)
        for (other, relation, columns, _), name in leaves.wanted.items()
    }
    try:
        bound(relations.spark, tree, frames).write.format("noop").mode("overwrite").save()
    except (PySparkException, Py4JError):
        return True
    return False
