"""A captured table: its columns as the ledger keeps them, and what a row of the stream means for it.

W1  A column is known by name; the stream may have others, in another order (a partition), but each of ours with the
    type that was registered.
W2  Values that the server did not send because they are unchanged are taken from the old row, never from nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import pyarrow as pa

from rollview.changes import COUNT, STAMP
from rollview.errors import SchemaChanged, SourceError
from rollview.ledger.rows import BaseRelation
from rollview.sources.postgresql.decode import UNCHANGED, StreamTable, Unchanged, Values
from rollview.sources.postgresql.types import arrow_type

MODES = ("live", "replica")
"""How a table is read: from the server, patched, or from an exact copy."""
Modes = str | Mapping[str, str]
"""The mode of all tables, or of each by its place (schema.table)."""

Texts = tuple[str | None, ...]
"""A row as texts, in the order of the table's columns."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column: its type in the server's catalogue, and the codec that reads it (types.py)."""

    name: str
    type_oid: int
    modifier: int
    codec: str


def mode_of(modes: Modes, place: str) -> str:
    """The mode of the table at a place."""
    return modes if isinstance(modes, str) else modes[place]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a source, e.g. "shop.orders"; `key` names the columns by which a row is found and named.

    `identity`: "full", or "key" if its stream names the old rows of changes by their key only.
    """

    name: str
    oid: int
    mode: str
    identity: str
    key: tuple[str, ...]
    columns: tuple[TableColumn, ...]

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of its steps."""
        fields = [pa.field(c.name, arrow_type(c.codec)) for c in self.columns]
        return pa.schema([*fields, pa.field(COUNT, pa.int64()), pa.field(STAMP, pa.int64())])

    def key_of(self, row: Sequence[object]) -> str:
        """The row's key in words; the whole row, if it has none."""
        names = [c.name for c in self.columns]
        wanted = self.key or tuple(names)
        return ", ".join(f"{n} = {row[names.index(n)]}" for n in wanted)


def table_of(relation: BaseRelation) -> Table:
    """The table that a row of the ledger describes."""
    p = relation.properties
    columns = tuple(TableColumn(*column) for column in p["columns"])
    return Table(relation.name, int(relation.table_id), p["mode"], p["identity"], tuple(p["key"]),
                 columns)  # fmt: skip


def places(table: Table, found: StreamTable) -> tuple[int, ...] | None:
    """Where the table's columns are in rows of the stream (W1); None: they are the same."""
    at = {c.name: (k, c) for k, c in enumerate(found.columns)}
    chosen = []
    for column in table.columns:
        place, now = at.get(column.name, (None, None))
        if place is None or now is None:
            raise schema_changed(table, f'column "{column.name}" was dropped or renamed')
        if (now.type_oid, now.modifier) != (column.type_oid, column.modifier):
            raise schema_changed(table, f'column "{column.name}" was retyped')
        chosen.append(place)
    same = chosen == list(range(len(found.columns)))
    return None if same else tuple(chosen)


def picked(places: Sequence[int] | None, row: Values) -> Values:
    """The row's values in the order of the table's columns; None: as they are."""
    return row if places is None else tuple([row[place] for place in places])


def filled(table: Table, row: Values, old: Values | None) -> Texts:
    """The row with unchanged values from the old row (W2)."""
    if UNCHANGED not in row:
        return cast(Texts, row)
    texts: list[str | None] = []
    for place, value in enumerate(row):
        if isinstance(value, Unchanged):
            value = old[place] if old is not None else value
            if isinstance(value, Unchanged):
                raise SourceError(
                    f'table "{table.name}" cannot be captured',
                    f'a change did not send the value of column "{table.columns[place].name}"',
                    f"rollview source resync {table.name.partition('.')[0]}",
                )
        texts.append(value)
    return tuple(texts)


def schema_changed(table: Table, what: str) -> SchemaChanged:
    """The error for a table whose columns are no longer the registered ones."""
    return SchemaChanged(
        f'table "{table.name}" changed its columns', what,
        f"rollview source resync {table.name.partition('.')[0]}",
    )  # fmt: skip
