"""What a Reduce adds up, added up by Arrow: one row per key and stamp, as Spark's GROUP BY gives it.

J1  Sums are Spark's: exact (doubles aside, whose order is nobody's), and a sum that its type cannot hold raises.
J2  Keys are of types whose values are equal for Spark where they are equal for Arrow: no doubles (-0.0, NaN), no
    strings with a collation.
"""

from __future__ import annotations

import pyarrow as pa

from rollview.calculus.queries import kept_keys
from rollview.changes import COUNT, STAMP
from rollview.views.blocks import Reduce

KEYS = {"boolean", "tinyint", "smallint", "int", "bigint", "string", "binary", "date", "timestamp"}
SUMS = {"bigint", "double"}
WIDE = 76
"""Digits in which numbers are added: no number of rows exceeds them."""


def addable(block: Reduce) -> bool:
    """Whether all keys and sums are of types that are added up here (J1, J2)."""
    keys = (c.type in KEYS or c.type.startswith("decimal(") for c in kept_keys(block))
    sums = (c.type in SUMS or c.type.startswith("decimal(") for c in block.sums)
    return all(keys) and all(sums)


def added_up(block: Reduce, rows: pa.Table) -> pa.Table:
    """The rows of `calculus.queries.addends` as those of `summarised`."""
    keys, sums = [*block.keys, STAMP], [*(s.name for s in block.sums), COUNT]
    wide = rows
    for name in sums:
        n, kind = wide.schema.get_field_index(name), wide.schema.field(name).type
        if not pa.types.is_floating(kind):
            scale = kind.scale if pa.types.is_decimal(kind) else 0
            wide = wide.set_column(n, name, wide.column(name).cast(pa.decimal256(WIDE, scale)))
    # Without threads: the rows are few, and views of a round are refreshed side by side.
    found = wide.group_by(keys, use_threads=False).aggregate([(name, "sum") for name in sums])
    found = found.select([*keys, *(f"{name}_sum" for name in sums)]).rename_columns([*keys, *sums])
    try:
        return found.select(rows.column_names).cast(rows.schema)
    except pa.ArrowInvalid as error:
        raise OverflowError(f"a sum of the step has more digits than its type: {error}") from error
