"""Ranges of a table's key: what takes too long to read at one moment is read in ranges, each at a moment of its own.

K1  The ranges that one is cut into cover it, and do not overlap; the outermost have no end. NULL is in the first.
K2  A range at a moment, patched by the changes of its own keys, is the range at the time asked for: a row that moves
    from one range to another is taken out of one and put into the other by the same rule.
Only whole numbers are cut: Python, Arrow and the server order them alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql

from rollview.sources.postgresql.connect import Connection
from rollview.sources.postgresql.table import Table
from rollview.sources.postgresql.types import arrow_type

PIECES = 4
"""Ranges that one is cut into; what still takes too long is cut again."""


@dataclass(frozen=True, slots=True)
class Range:
    """The keys above one number, up to another; None: without end."""

    column: str
    above: int | None = None
    upto: int | None = None

    @property
    def condition(self) -> sql.Composed:
        """The range as a condition of the server's."""
        key = sql.Identifier(self.column)
        found = [sql.SQL("TRUE").format()]
        if self.above is not None:
            found.append(sql.SQL("{} > {}").format(key, sql.Literal(self.above)))
        if self.upto is not None:
            found.append(sql.SQL("{} <= {}").format(key, sql.Literal(self.upto)))
        inside = sql.SQL(" AND ").join(found)
        if self.above is not None:
            return inside
        return sql.SQL("({} OR {} IS NULL)").format(inside, key)

    def of(self, rows: pa.Table) -> pa.Table:
        """The rows whose key is in the range."""
        keys = rows.column(self.column)
        first = self.above is None  # the one that has NULL
        if self.above is not None:
            rows = rows.filter(pc.fill_null(pc.greater(keys, self.above), False))
            keys = rows.column(self.column)
        if self.upto is not None:
            rows = rows.filter(pc.fill_null(pc.less_equal(keys, self.upto), first))
        return rows


def whole_range(table: Table) -> Range | None:
    """All keys of a table whose key is one column of whole numbers."""
    kinds = {c.name: arrow_type(c.codec) for c in table.columns}
    if len(table.key) != 1 or not pa.types.is_integer(kinds[table.key[0]]):
        return None
    return Range(table.key[0])


def smaller(connection: Connection, name: sql.Composable, keys: Range) -> list[Range]:
    """The range cut into smaller ones (K1), by the least and the greatest key in it; none if it has one key at most."""
    query = sql.SQL("SELECT min({0}), max({0}) FROM {1} t WHERE {2}").format(
        sql.Identifier(keys.column), name, keys.condition
    )
    row = connection.execute(query).fetchone()
    assert row is not None, "an aggregate over everything has one row"
    least, greatest = row
    if least is None or least == greatest:
        return []
    span = greatest - least
    cuts = sorted({least + span * n // PIECES for n in range(1, PIECES)})
    ends = [keys.above, *cuts], [*cuts, keys.upto]
    return [Range(keys.column, a, b) for a, b in zip(*ends, strict=True)]
