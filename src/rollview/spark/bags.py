"""The memory of a BagReduce for a small step, fetched to the driver: the bags of touched keys, and what they showed.

X1  What is fetched is every row of the source and of the block itself, as of the mark, whose first key is among those
    of the changes; rows of other keys are in no bag that the step looks at (calculus/bags.py, M1, M3).
X2  A block of one bag, without keys, is read whole if it is small. If it shows the first rows, and changes take away no
    value that is shown, what it shows is all that the step needs of the source (M6); else Spark reads the source.
Only where the first key is a column of the block's one input, and no changed row has NULL in it: NULL is a key too, but
is not looked up.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from sqlglot import exp

from rollview.calculus.bags import first_rows, shown_as
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
from rollview.views.blocks import BagReduce, Input, inputs
from rollview.views.syntax import quoted


def fetched_memory(
    relations: Relations, block: BagReduce, name: str, lo: Csn, products: Sequence[Product]
) -> dict[str, DataFrame]:
    """What a step reads of its source and of the block itself as of `lo`, by relation; nothing if Spark should (X1)."""
    names = tuple(c.name for c in kept_keys(block))
    types = {c.name: c.type for c in kept_keys(block)}
    if not block.keys:
        own = rolled_rows(relations.rolled(name), lo, names, None)
        if own is None:
            return {}
        shown = _shown_memory(relations, block, own, products)
        return {name: _frame(relations, own, types), **shown}
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


def _shown_memory(
    relations: Relations, block: BagReduce, own: pa.Table, products: Sequence[Product]
) -> dict[str, DataFrame]:
    """What the block shows as rows of its one input, if none of them is taken away (X2); else nothing."""
    shown, read = shown_as(block), _plain_input(block)
    if shown is None or read is None or len(products) != 1 or products[0].fetched is None:
        return {}
    made = {c.name: block_expression(c.expr) for c in block.source.columns}
    stored = {tree.name: shown[name] for name, tree in made.items() if isinstance(tree, exp.Column)}
    if not set(read.columns) <= set(stored):
        return {}
    kinds, changes = dict(relations.columns(read.relation)), products[0].fetched
    taken = changes.filter(pc.less(changes.column(COUNT), 0))
    apart = (
        kinds.get(c) in KINDS and _apart(taken.column(carried(0, c)), own.column(stored[c]))
        for c in read.columns
    )
    if not any(apart):
        return {}
    rows = own.select([*(stored[c] for c in read.columns), COUNT])
    return {read.relation: _frame(relations, rows.rename_columns([*read.columns, COUNT]), kinds)}


def _apart(taken: pa.ChunkedArray, shown: pa.ChunkedArray) -> bool:
    """Whether no taken value is shown; NULL is a value here."""
    return not pc.any(pc.is_in(taken, value_set=shown.cast(taken.type).combine_chunks())).as_py()


def first_memory(
    relations: Relations, block: BagReduce, lo: Csn
) -> tuple[int, dict[str, DataFrame]] | None:
    """For a block of first rows over one Delta Lake table: a number of rows for M5, and the table as of `lo`.

    The table is read as the newest version with changes taken back, and not as it may be kept: so no more rows than
    changed since `lo` have a negative count in it, nor go in a step from there.
    """
    read = inputs(block)
    row = relations.base(read[0].relation) if len(read) == 1 and first_rows(block) else None
    if row is None or not isinstance(relations(row.name), DeltaLakeTable):
        return None
    table = DeltaLakeTable(relations.spark, relations.ledger, row)
    moved = table.fetched_changes(lo, relations.ledger.newest_csn(), ())
    if moved is None:
        return None
    return moved.num_rows, {row.name: table.at(lo, read[0].columns)}


def _frame(relations: Relations, rows: pa.Table, kinds: dict[str, str]) -> DataFrame:
    schema = ", ".join(f"{quoted(n)} {kinds.get(n, 'bigint')}" for n in rows.column_names)
    return frame(relations.spark, rows, schema).coalesce(1)


def _plain_input(block: BagReduce) -> Input | None:
    """The block's one input, if there is just one and its rows are those of the source, filtered."""
    if len(block.source.parts) != 1:
        return None
    (join,) = block.source.parts
    if len(join.inputs) != 1 or join.generators or COUNT in join.inputs[0].columns:
        return None
    return join.inputs[0]


def _key_column(block: BagReduce) -> tuple[Input, str] | None:
    """The input, and the column of it that is the block's first key."""
    read = _plain_input(block)
    if read is None or not block.keys:
        return None
    made = next(c for c in block.source.columns if c.name == block.keys[0])
    match block_expression(made.expr):
        case exp.Column() as found if found.name in read.columns:
            return read, found.name
    return None
