"""Changes of a table whose stream names old rows by their key only (REPLICA IDENTITY DEFAULT), made whole.

E3  The old row of a change is what the copy has under its key: as of the stream's position, and then what the batch
    itself did so far. A key that is not there means that copy and stream disagree: an error, never a guess.
E4  Values that the server did not send, being unchanged, are those of the old row.
The copy is scanned once a chunk of changes, its key columns first; REPLICA IDENTITY FULL costs the server more WAL and
capture nothing. Only for tables with a copy (mode replica).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from rollview.changes import COUNT
from rollview.errors import ChangesLost
from rollview.sources.postgresql.decode import Unchanged, Values
from rollview.sources.postgresql.spool import CHUNK, Misfit, Spool
from rollview.sources.postgresql.table import Table, Texts
from rollview.sources.postgresql.types import arrow_type, reader

Key = tuple[Any, ...]
Row = tuple[Any, ...]
Event = tuple[int, Texts | None, Values | None]
"""Number of the transaction, old key, new row (in the order of the table's columns)."""


class KeyedSpool(Spool):
    """A spool that looks up what the stream does not say."""

    def __init__(
        self, table: Table, folder: Path, copy: Callable[[], Iterator[pa.RecordBatch]]
    ) -> None:
        names = [c.name for c in table.columns]
        self._key = [names.index(k) for k in table.key]
        self._readers = [reader(c.codec) for c in table.columns]
        self._copy = copy
        self._events: list[Event] = []
        super().__init__(table, folder)

    def change(self, transaction: int, old: Values | None, row: Values | None) -> None:
        """A row came (no old), went (no new) or changed; of the old one, only the key counts."""
        if self.broken is None:
            key = None if old is None else self._key_texts(old)
            self._events.append((transaction, key, row))
            if len(self._events) >= CHUNK:
                self.flush()

    def _key_texts(self, row: Values) -> Texts:
        texts = []
        for place in self._key:
            value = row[place]
            assert not isinstance(value, Unchanged), "a key is always sent"
            texts.append(value)
        return tuple(texts)

    def clear(self) -> None:
        """Forget everything."""
        self._events = []
        super().clear()

    def flush(self) -> None:
        """Make the changes whole and turn them into Arrow."""
        if not self._events:
            return
        events, self._events = self._events, []
        rows, counts, numbers = self._whole(events)
        columns = [
            pa.array(values, arrow_type(c.codec))
            for c, values in zip(
                self.table.columns, zip(*rows, strict=True) if rows else (), strict=bool(rows)
            )
        ]
        if rows:
            columns += [pa.array(counts, pa.int64()), pa.array(numbers, pa.int64())]
            self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self.schema))

    def _whole(self, events: Sequence[Event]) -> tuple[list[Row], list[int], list[int]]:
        """The rows that went and came, with counts and numbers, up to the first that cannot be told."""
        rows, counts, numbers = list[Row](), list[int](), list[int]()
        wanted = {self._key_values(key) for _, key, _ in events if key is not None}
        known: dict[Key, Row | None] = self._found(wanted) if wanted else {}
        for number, key, new in events:
            try:
                old = self._old(known, key)
                row = None if new is None else self._values(new, old)
            except (Misfit, ChangesLost) as problem:
                self.broken = (number, problem)
                kept = sum(n < number for n in numbers)
                return rows[:kept], counts[:kept], numbers[:kept]
            for value, count in ((old, -1), (row, +1)):
                if value is not None and old != row:
                    rows.append(value)
                    counts.append(count)
                    numbers.append(number)
            if key is not None:
                known[self._key_values(key)] = None
            if row is not None:
                known[tuple(row[place] for place in self._key)] = row
        return rows, counts, numbers

    def _old(self, known: dict[Key, Row | None], key: Texts | None) -> Row | None:
        if key is None:
            return None
        row = known.get(self._key_values(key))
        if row is None:
            named = ", ".join(f"{n} = {v}" for n, v in zip(self.table.key, key, strict=True))
            raise ChangesLost(
                f'the copy of table "{self.table.name}" is not what its server changes',
                f"it has no row with {named}",
                f"rollview source resync {self.table.name.partition('.')[0]}",
            )
        return row

    def _key_values(self, key: Texts) -> Key:
        return tuple(
            None if text is None else self._readers[place](text)
            for place, text in zip(self._key, key, strict=True)
        )

    def _values(self, row: Values, old: Row | None) -> Row:
        """The new row; what was not sent is as it was (E4)."""
        values = []
        for place, text in enumerate(row):
            if isinstance(text, Unchanged):
                assert old is not None, "only an update leaves values unsent"
                values.append(old[place])
                continue
            try:
                value = None if text is None else self._readers[place](text)
                pa.scalar(value, arrow_type(self.table.columns[place].codec))
            except (ValueError, pa.ArrowInvalid) as problem:
                texts = tuple(None if isinstance(t, Unchanged) else t for t in row)
                raise Misfit(self.table, place, 0, texts, str(problem)) from None
            values.append(value)
        return tuple(values)

    def _found(self, wanted: set[Key]) -> dict[Key, Row | None]:
        """The rows under these keys, as of the last change that was made whole (E3)."""
        names = [c.name for c in self.table.columns]
        found: dict[Key, Row | None] = {}
        for batch in chain(self._copy(), self._so_far()):
            for place in matching(batch, self._key, wanted):
                row = tuple(batch.column(k)[place].as_py() for k in range(len(names)))
                key = tuple(row[k] for k in self._key)
                if key in wanted:
                    came = batch.column(COUNT)[place].as_py() > 0
                    found[key] = row if came else None
        return found

    def _so_far(self) -> Iterator[pa.RecordBatch]:
        """What the batch did up to here."""
        self._file.flush()
        end = self._file.tell()
        self._file.seek(0)
        try:
            yield from list(pa.ipc.open_stream(self._file)) if end else ()
        finally:
            self._file.seek(end)


def matching(batch: pa.RecordBatch, key: Sequence[int], wanted: Iterable[Key]) -> list[int]:
    """The places of rows whose first key column has one of the wanted values, in order."""
    column = batch.column(key[0])
    values = pa.array(list({k[0] for k in wanted}), column.type)
    chosen: list[int] = pc.indices_nonzero(pc.is_in(column, value_set=values)).to_pylist()
    return chosen
