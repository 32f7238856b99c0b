"""A view played through a history on the DuckDB engine, beside DuckDB's own answer to the user's SQL.

Y1  The answer is the user's text, run by DuckDB over the rows that were there at a time; the record of rows and times
    is kept here, in plain Python. It shares nothing with the view but the rows.
Y2  A refresh takes blocks to a time by steps of their own widths; looked at are the rows at any kept time, the changes
    between two of them, and that nothing stored has a count below zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from random import Random
from typing import Any

from duck import Duck, bag, duck_sql, small_duck
from duck_engine import CONNECTION, RolledTable, Warehouse, duck_type, listed, quoted, values
from golden.case import Case, Row, Schema, Transaction, shown_rows

from rollview.calculus import queries
from rollview.changes import COUNT
from rollview.errors import ViewRefused
from rollview.views.blocks import Definition, inputs
from rollview.views.parse import parse_view

ORACLE = small_duck()
ORACLE.execute("SET TimeZone = 'UTC'")

Views = Sequence[tuple[str, str]]


@contextmanager
def without_optimiser() -> Iterator[None]:
    """DuckDB runs queries as they are written, for the engine and for its own answers."""
    for connection in (ORACLE, CONNECTION):
        connection.execute("PRAGMA disable_optimizer")
    try:
        yield
    finally:
        for connection in (ORACLE, CONNECTION):
            connection.execute("PRAGMA enable_optimizer")


@lru_cache(maxsize=64)
def _duck(tables: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]) -> Duck:
    return Duck(dict(tables))


def defined(tables: Mapping[str, Any], views: Views) -> list[Definition]:
    """The definitions, each over the tables and the views before it; ViewRefused if one cannot be maintained."""
    known, found = dict(tables), []
    for name, sql in views:
        duck = _duck(tuple(known.items()))
        definition = parse_view(name, sql, known, duck.describe)
        known[name] = tuple((c.name, c.type) for c in definition.columns)
        found.append(definition)
    return found


def refusal(error: ViewRefused) -> list[str]:
    """A refusal as files have it."""
    what = error.what.removeprefix('view "v" cannot be maintained: ')
    return [what, *error.detail.splitlines(), f"hint: {error.hint}"]


class Recompute:
    """Every row with the times between which it was there, and the user's SQL over them (Y1)."""

    def __init__(self, tables: Schema, views: Views) -> None:
        self.tables, self.now = tables, 0
        self.rows: dict[str, list[list[Any]]] = {name: [] for name in tables}
        self.stored, self.answers = -1, {}
        self.sql = duck_sql(views[-1][1])
        ORACLE.execute("BEGIN")
        for name, columns in tables.items():
            if "." in name:
                ORACLE.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(name.split('.')[0])}")
            kinds = "".join(f"{quoted(c)} {duck_type(kind)}, " for c, kind in columns)
            ORACLE.execute(
                f"CREATE TABLE {quoted(f'rows of {name}')} ({kinds} _born INT, _gone INT)"
            )
            ORACLE.execute(
                f"CREATE VIEW {'.'.join(map(quoted, name.split('.')))} AS SELECT {listed(c for c, _ in columns)}"
                f" FROM {quoted(f'rows of {name}')} WHERE _born <= getvariable('t')"
                " AND (_gone IS NULL OR _gone > getvariable('t'))"
            )
        for name, sql in views[:-1]:
            ORACLE.execute(f"CREATE VIEW {quoted(name)} AS {duck_sql(sql)}")

    def close(self) -> None:
        ORACLE.execute("ROLLBACK")

    def present(self, table: str) -> list[Row]:
        """The rows of a table now."""
        return [row for row, _, gone in self.rows[table] if gone is None]

    def commit(self, changes: Transaction) -> None:
        """Record what a transaction did."""
        self.now += 1
        for table, counted in changes.items():
            for count, row in counted:
                for _ in range(abs(count)):
                    if count > 0:
                        self.rows[table].append([row, self.now, None])
                    else:
                        self._gone(table, row)

    def _gone(self, table: str, row: Row) -> None:
        for entry in reversed(self.rows[table]):
            if entry[2] is None and entry[0] == row:
                entry[2] = self.now
                return
        raise AssertionError(f"{table} has no row {row} to delete")

    def at(self, time: int) -> list[Row]:
        """The rows of the view at a time."""
        if time not in self.answers:
            self._store()
            ORACLE.execute(f"SET VARIABLE t = {time}")
            self.answers[time] = ORACLE.execute(self.sql).fetchall()
        return self.answers[time]

    def _store(self) -> None:
        if self.stored == self.now:
            return
        self.stored = self.now
        for table, entries in self.rows.items():
            own = quoted(f"rows of {table}")
            ORACLE.execute(f"DELETE FROM {own}")
            if entries:
                rows = values((*row, born, gone) for row, born, gone in entries)
                ORACLE.execute(f"INSERT INTO {own} VALUES {rows}")


class Play:
    """The views of a case on the engine, and their recompute; a context manager."""

    def __init__(self, tables: Schema, views: Views, definitions: Sequence[Definition]) -> None:
        self.definitions, self.view = definitions, views[-1][0]
        self.recompute = Recompute(tables, views)
        self.warehouse = Warehouse().__enter__()
        self.blocks = [
            (definition.block_name(k), block)
            for definition in definitions
            for k, block in enumerate(definition.blocks)
        ]
        for name, columns in tables.items():
            self.warehouse.add_source(name, dict(columns))

    def __enter__(self) -> Play:
        return self

    def __exit__(self, *_: object) -> None:
        self.warehouse.__exit__()
        self.recompute.close()

    @property
    def now(self) -> int:
        return self.recompute.now

    @property
    def face(self) -> RolledTable:
        return self.warehouse.rolled(self.view)

    def commit(self, changes: Transaction) -> None:
        self.recompute.commit(changes)
        self.warehouse.commit(changes)

    def build(self, buckets: int = 1, cautious: bool = False) -> None:
        """All blocks as of now."""
        for name, block in self.blocks:
            self.warehouse.build(name, block, self.now, buckets, cautious)

    def refresh(self, to: int, pick: Random | None = None) -> None:
        """Every block to a time, one step a block; with a Random, in steps of odd widths and orders (Y2)."""
        for name, block in self.blocks:
            table = self.warehouse.rolled(name)
            positions = list(range(len(inputs(block))))
            targets = [(k, to) for k in positions]
            if pick is not None:
                pick.shuffle(targets)
                if pick.random() < 0.3:
                    early = [(k, self._between(pick, table.frontier[k], to)) for k in positions]
                    self.warehouse.step(name, [e for e in early if pick.random() < 0.7])
            self.warehouse.step(name, targets)

    @staticmethod
    def _between(pick: Random, lo: int, hi: int) -> int:
        return pick.randint(min(lo, hi), hi)

    def look(self, time: int) -> None:
        """The rows at a time."""
        have, want = bag(self.rows(time)), bag(self.recompute.at(time))
        assert have == want, self._differs(time, have, want)

    def rows(self, time: int) -> list[Row]:
        """The visible rows at a time, as the engine gives them."""
        columns = listed(c.name for c in self.face.block.columns)
        return self.warehouse.run(f"SELECT {columns} FROM ({self.face.visible(time)})")

    def look_at_changes(self, lo: int, hi: int) -> None:
        """The changes in (lo, hi] lead from the rows at lo to those at every time up to hi."""
        columns = [c.name for c in self.face.block.columns]
        at: dict[int, Counter[Row]] = {}
        for *row, count, stamp in self.warehouse.run(self.face.changes(lo, hi, columns)):
            assert lo < stamp <= hi, ("a stamp outside", stamp, lo, hi)
            (normal,) = bag([row])
            at.setdefault(stamp, Counter())[normal] += count
        state = Counter(bag(self.recompute.at(lo)))
        for time in range(lo + 1, hi + 1):
            for row, count in at.get(time, Counter()).items():
                state[row] += count
            have = Counter({row: count for row, count in state.items() if count})
            want = bag(self.recompute.at(time))
            assert have == want, f"changes in ({lo}, {hi}]: {self._differs(time, have, want)}"

    def look_for_negatives(self) -> None:
        """No stored row has a count below zero."""
        for name, block in self.blocks:
            table = self.warehouse.rolled(name)
            state = table.signed_state(table.mark)
            keys = listed(k.name for k in queries.kept_keys(block))
            group = f" GROUP BY {keys}" if keys else ""
            bad = self.warehouse.run(
                f"SELECT SUM({COUNT}) FROM ({state}){group} HAVING SUM({COUNT}) < 0"
            )
            assert not bad, f"{name} has counts below zero"

    def _differs(self, time: int, have: Counter[Row], want: Counter[Row]) -> str:
        missing, extra = want - have, have - want
        return (
            f"{self.view} at {time}: missing {shown_rows(missing.elements())}; "
            f"too many {shown_rows(extra.elements())}"
        )


def rows_of_written(play: Play, case: Case) -> list[str]:
    """The case's own commits, refreshed at their end; at every time the rows are compared, then shown."""
    play.commit(case.commits[0])
    play.build()
    for changes in case.commits[1:]:
        play.commit(changes)
    play.refresh(play.now)
    for time in range(1, play.now + 1):
        play.look(time)
    return [f"{time}: {shown_rows(play.rows(time))}" for time in range(1, play.now + 1)]


def played(play: Play, commits: Iterable[Transaction], seed: int, refreshes: int = 6) -> None:
    """The history, with refreshes to random times in it; the last one to now. One in four is folded on the way."""
    pick = Random(seed)
    folds = pick.random() < 0.25
    pending = list(commits)
    for changes in pending[: (early := pick.randint(0, min(3, len(pending))))]:
        play.commit(changes)
    pending = pending[early:]
    play.build(buckets=pick.choice([1, 2]) if folds else 1, cautious=not folds)
    play.look(play.now)
    for n in range(refreshes):
        last = n == refreshes - 1
        some = len(pending) if last else pick.randint(0, max(1, 2 * len(pending) // refreshes))
        for changes in pending[:some]:
            play.commit(changes)
        pending = pending[some:]
        mark = play.face.mark
        to = play.now if last or pick.random() < 0.4 else pick.randint(mark, play.now)
        play.refresh(to, pick)
        play.look(pick.randint(play.face.oldest, play.face.mark))
        if folds:
            table = play.warehouse.rolled(pick.choice(play.blocks)[0])
            table.fold(pick.randint(table.oldest, table.mark), pick.choice([None, 0]))
    play.look(play.now)
    play.look_at_changes(pick.randint(play.face.oldest, play.now), play.now)
    play.look_for_negatives()
