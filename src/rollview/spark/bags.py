"""The memory of a BagReduce for a small step, fetched to the driver: the bags of touched keys, and what they showed.

X1  What is fetched is every row of the source and of the block itself, as of the mark, whose first key is among those
    of the changes; rows of other keys are in no bag that the step looks at (calculus/bags.py, M1, M3).
A block of one bag, without keys, is read whole if it is small; its source is not fetched then.
Only where the first key is a column of the block's one input, and no changed row has NULL in it: NULL is a key too, but
is not looked up.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from sqlglot import exp

from rollview.calculus.queries import block_expression, kept_keys
from rollview.calculus.sharing import carried
from rollview.calculus.terms import AsOf
from rollview.changes import COUNT, Csn
from rollview.sources.delta_lake.lookup import KINDS, Keys, keys_in
from rollview.sources.delta_lake.relation import DeltaLakeTable
from rollview.sources.frames import frame
from rollview.spark.fetched import fetched
from rollview.spark.fetched_rolled import rolled_rows
from rollview.spark.products import Product
from rollview.spark.relations import Relations
from rollview.views.blocks import BagReduce, Block, Input, inputs
from rollview.views.syntax import quoted


def fetched_memory(
    relations: Relations, block: BagReduce, name: str, lo: Csn, products: Sequence[Product]
) -> dict[str, DataFrame]:
    """What a step reads of its source and of the block itself as of `lo`, by relation; nothing if Spark should (X1)."""
    names = tuple(c.name for c in kept_keys(block))
    types = {c.name: c.type for c in kept_keys(block)}
    if not block.keys:
        own = rolled_rows(relations.rolled(name), lo, names, None)
        return {} if own is None else {name: _frame(relations, own, types)}
    place = _key_column(block)
    if place is None or len(products) != 1 or products[0].fetched is None:
        return {}
    read, column = place
    kinds = dict(relations.columns(read.relation))
    changed = products[0].fetched.column(carried(0, column))
    if changed.null_count or kinds.get(column) not in KINDS:
        return {}
    values = keys_in(changed, kinds[column])
    source = fetched(relations, read.relation, AsOf(0, lo), read.columns, Keys(column, values))
    own = rolled_rows(relations.rolled(name), lo, names, Keys(block.keys[0], values))
    if source is None or own is None:
        return {}
    return {
        read.relation: _frame(relations, source, kinds),
        name: _frame(relations, own, types),
    }


def moved_since(relations: Relations, block: Block, lo: Csn) -> int | None:
    """How many rows of a BagReduce's one input changed since `lo`; None if they are not few, or not counted easily.

    No more than that go in a step from there, or have a negative count where the input is read as of `lo`.
    """
    read = inputs(block)
    table = relations(read[0].relation) if len(read) == 1 else None
    if not isinstance(table, DeltaLakeTable):
        return None
    rows = table.fetched_changes(lo, relations.ledger.newest_csn(), ())
    return None if rows is None else rows.num_rows


def _frame(relations: Relations, rows: pa.Table, kinds: dict[str, str]) -> DataFrame:
    schema = ", ".join(f"{quoted(n)} {kinds.get(n, 'bigint')}" for n in rows.column_names)
    return frame(relations.spark, rows, schema).coalesce(1)


def _key_column(block: BagReduce) -> tuple[Input, str] | None:
    """The input, and the column of it that is the block's first key."""
    if len(block.source.parts) != 1 or not block.keys:
        return None
    (join,) = block.source.parts
    if len(join.inputs) != 1 or join.generators or COUNT in join.inputs[0].columns:
        return None
    made = next(c for c in block.source.columns if c.name == block.keys[0])
    match block_expression(made.expr):
        case exp.Column() as found if found.name in join.inputs[0].columns:
            return join.inputs[0], found.name
    return None
