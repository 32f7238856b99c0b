"""Pairs of rows that agree: an equality join of two Arrow tables in memory, which gives row numbers.

V1  A pair for each two rows whose columns are all equal; NULL is equal to nothing.
V2  At most `most` pairs: they are counted before they are made. None if there would be more.
Values are compared as they are; the caller gives columns whose types Arrow and Spark compare alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

Columns = Sequence[pa.ChunkedArray]
Pairs = tuple[pa.ChunkedArray, pa.ChunkedArray]


def pairs(left: Columns, right: Columns, most: int) -> Pairs | None:
    """The row numbers, left and right, of all rows that agree (V1, V2)."""
    names = [f"k{n}" for n in range(len(left))]
    one, two = _numbered(left, names, "l"), _numbered(right, names, "r")
    if one.num_rows * two.num_rows > most and _count(one, two, names) > most:
        return None
    # Without threads: the tables are small, and views of a round are refreshed side by side.
    found = one.join(two, names, join_type="inner", use_threads=False)
    return found.column("l"), found.column("r")


def _numbered(columns: Columns, names: Sequence[str], number: str) -> pa.Table:
    rows = len(columns[0])
    return pa.table([*columns, pa.array(range(rows), pa.int64())], names=[*names, number])


def _count(one: pa.Table, two: pa.Table, names: Sequence[str]) -> int:
    """How many pairs there are, by how often each key occurs."""
    sizes = [
        table.group_by(list(names), use_threads=False)
        .aggregate([([], "count_all")])
        .rename_columns([*names, side])
        for table, side in ((one, "l"), (two, "r"))
    ]
    both = sizes[0].join(sizes[1], list(names), join_type="inner", use_threads=False)
    return pc.sum(pc.multiply(both.column("l"), both.column("r"))).as_py() or 0
