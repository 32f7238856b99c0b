"""Probes of a step at held moments: its join keys go to the servers, the rows that join come back, patched.

R1  The answer to a probe is the table at the time asked for, restricted to the keys: exact, as a signed bag.
R2  Where a table is asked through another one of the same query, the keys of that one's patches are asked for too:
    rows that the moment does not show have partners that it would not have looked for. What was asked for too much
    is dropped: it would not be patched.
R3  One round trip a round and database, as long as its keys fit into a query or a table; different databases at the
    same time. Otherwise, and where that takes too long, table by table in pieces, each at a moment that is not too
    old (live.py, E4); where keys are very many, a piece is shared out among the executors at one exported moment.
R4  No moment is held while keys are computed elsewhere: it begins with the first question of a round.
What is asked in which order: calculus/probing.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field

import pyarrow as pa
from psycopg import sql

from rollview.calculus.probing import Probe, ProbePlan
from rollview.changes import COUNT, Csn
from rollview.errors import SourceError
from rollview.sources.postgresql import live
from rollview.sources.postgresql.connect import explained
from rollview.sources.postgresql.keys import (
    CHUNK,
    INLINE,
    Columns,
    Key,
    among,
    cast_of,
    chunks,
    equal_to_any,
    equal_to_found,
    equal_to_stored,
    keys_of,
    store,
)
from rollview.sources.postgresql.live import Asked, Query, Reading, TooLong
from rollview.sources.postgresql.table import Table

Place = tuple[int, int]
"""Term and input."""


@dataclass(frozen=True, slots=True)
class LiveInput:
    """A live input of a term: the table, the time it is asked for, its columns, and rows that join it later."""

    table: str
    source: str
    time: Csn
    columns: tuple[str, ...]
    later: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class ProbedTerm:
    """A term of a step: how its live inputs are probed."""

    plan: ProbePlan
    inputs: Mapping[int, LiveInput]


LARGE = 50_000
"""Keys from which on a probe is made by the executors, where there are any."""

KeyRows = Callable[[int, int, tuple[str, ...]], pa.Table]
"""(term, input, columns) -> rows of an input that is no probe, as far as they join what is known: its key columns."""
Opening = Callable[[str], AbstractContextManager[Reading]]
"""Holds a moment of a source."""


@dataclass(frozen=True, slots=True)
class Executors:
    """Those who ask a query for the keys of a probe in parallel, at the moment of a reading; so many at once."""

    ask: Callable[[Reading, Query, Probe, list[list[Key]]], pa.Table]
    at_once: int


@dataclass(slots=True)
class _Session:
    """One database while a step is probed; its moment is renewed when it gets old (R3)."""

    opening: Callable[[], AbstractContextManager[Reading]]
    stack: ExitStack = field(default_factory=ExitStack)
    reading: Reading | None = None
    asked: Asked = field(default_factory=Asked)

    def ready(self) -> Reading:
        """The moment that is held, or another one if there is none or it is old."""
        if self.reading is not None and self.reading.old:
            self.release()
        if self.reading is None:
            self.reading = self.stack.enter_context(self.opening())
        return self.reading

    def release(self) -> None:
        """Let the moment go."""
        if self.reading is not None:
            self.asked.add(self.reading.asked)
            self.reading = None
        self.stack.close()


def probed(
    terms: Sequence[ProbedTerm],
    opening: Opening,
    key_rows: KeyRows,
    executors: Executors | None = None,
) -> tuple[dict[Place, pa.Table], dict[str, Asked]]:
    """The rows of every probed input, by term and input, with signed counts; and what was asked of each source."""
    names = sorted({i.source for term in terms for i in term.inputs.values()})
    sessions = {name: _Session(_opener(opening, name)) for name in names}
    answers: dict[Place, pa.Table] = {}
    work = _Work(terms, key_rows, answers, executors)
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(max(1, len(names))))
        for session in sessions.values():
            stack.callback(session.release)
        for number in range(max((len(t.plan.rounds) for t in terms), default=0)):
            if any(r.through for t in terms for r in t.plan.rounds[number : number + 1]):
                for session in sessions.values():
                    session.release()
            asks = work.round(number)
            results = pool.map(
                lambda name, asks=asks: _asked(work, sessions[name], asks[name]), asks
            )
            for result in list(results):
                answers.update(result)
    return answers, {name: session.asked for name, session in sessions.items()}


def _opener(opening: Opening, name: str) -> Callable[[], AbstractContextManager[Reading]]:
    return lambda: opening(name)


@dataclass(frozen=True, slots=True)
class _Ask:
    """A probe of a term; `keys` are known, unless it goes through a probe of the same round."""

    place: Place
    probe: Probe
    keys: frozenset[Key] | None


@dataclass(slots=True)
class _Work:
    terms: Sequence[ProbedTerm]
    key_rows: KeyRows
    answers: dict[Place, pa.Table]
    executors: Executors | None

    def round(self, number: int) -> dict[str, list[_Ask]]:
        """What each source is asked in a round, in order."""
        asks: dict[str, list[_Ask]] = {}
        for t, term in enumerate(self.terms):
            if number >= len(term.plan.rounds):
                continue
            now = {p.input for p in term.plan.rounds[number].probes}
            for probe in term.plan.rounds[number].probes:
                keys = None if probe.source in now else frozenset(self.keys(t, probe))
                source = term.inputs[probe.input].source
                asks.setdefault(source, []).append(_Ask((t, probe.input), probe, keys))
        return asks

    def keys(self, t: int, probe: Probe) -> set[Key]:
        """The keys that an input with known rows gives to a probe."""
        place = (t, probe.source)
        if place not in self.answers:
            return keys_of(self.key_rows(t, probe.source, probe.keys), probe.keys)
        return keys_of(self.answers[place], probe.keys) | self.later_keys(place, probe)

    def later_keys(self, place: Place, probe: Probe) -> set[Key]:
        """Keys of changes that join the rows of an input after the time it is asked for."""
        later = self.terms[place[0]].inputs[place[1]].later
        return keys_of(later, probe.keys) if later is not None else set()

    def input(self, place: Place) -> LiveInput:
        return self.terms[place[0]].inputs[place[1]]


def _asked(work: _Work, session: _Session, asks: Sequence[_Ask]) -> dict[Place, pa.Table]:
    """The answers of one source in one round."""
    most = max((len(a.keys) for a in asks if a.keys is not None), default=0)
    large, length = work.executors is not None and most > LARGE, CHUNK
    if not large and (most <= INLINE or session.ready().stores_keys):
        try:
            return _together(work, session.ready(), asks)
        except TooLong:
            session.release()
            length = _shorter(min(most, CHUNK))
    answers: dict[Place, pa.Table] = {}
    for ask in asks:
        keys = _keys(work, ask, answers)
        answers[ask.place] = _in_pieces(work, session, ask, keys, length)
    return answers


def _shorter(length: int) -> int:
    """How many keys to ask for at a time, where so many took too long."""
    return max(1, length // 4)


def _keys(work: _Work, ask: _Ask, answers: Mapping[Place, pa.Table]) -> frozenset[Key]:
    """The keys of a probe, once those before it in the same round are answered."""
    if ask.keys is not None:
        return ask.keys
    place = (ask.place[0], ask.probe.source)
    found = keys_of(answers[place], ask.probe.keys)
    return frozenset(found | work.later_keys(place, ask.probe))


def compared(table: Table, names: Sequence[str]) -> Columns:
    """Columns of a table that keys are compared with, each in its type."""
    known = {c.name: c for c in table.columns}
    columns = []
    for name in names:
        cast = cast_of(known[name].codec, known[name].type_oid)
        assert cast is not None, f"column {name} of {table.name} can be asked for"
        columns.append((sql.Identifier("t", name), cast))
    return columns


def _together(work: _Work, reading: Reading, asks: Sequence[_Ask]) -> dict[Place, pa.Table]:
    """Everything in one round trip (R3)."""
    conditions: dict[Place, sql.Composable] = {}
    queries = []
    for number, ask in enumerate(asks):
        live_input = work.input(ask.place)
        columns = compared(reading.table(live_input.table), ask.probe.columns)
        if ask.keys is None:
            condition = _through(work, reading, ask, columns, conditions)
        elif len(ask.keys) <= INLINE:
            condition = equal_to_any(columns, sorted(ask.keys))
        else:
            with explained(live_input.source):
                store(reading.connection, number, ask.keys)
            reading.asked.round_trips += 1
            condition = equal_to_stored(columns, number)
        reading.asked.keys += len(ask.keys or ())
        conditions[ask.place] = condition
        queries.append(Query(live_input.table, live_input.columns, condition))
    answers: dict[Place, pa.Table] = {}
    for ask, shown in zip(asks, reading.fetched(queries), strict=True):
        keys = set(_keys(work, ask, answers))
        answers[ask.place] = _patched(reading, work.input(ask.place), ask.probe, keys, shown)
    return answers


def _through(
    work: _Work,
    reading: Reading,
    ask: _Ask,
    columns: Columns,
    conditions: Mapping[Place, sql.Composable],
) -> sql.Composable:
    """The condition of a table that is asked through another one of the same query (R2)."""
    place = (ask.place[0], ask.probe.source)
    through = work.input(place)
    listed = sql.SQL(", ").join(
        sql.SQL("{}::{}").format(sql.Identifier("t", key), sql.SQL(cast))
        for key, (_, cast) in zip(ask.probe.keys, columns, strict=True)
    )
    found = sql.SQL("SELECT {} FROM {} t WHERE {}").format(
        listed, reading.names[through.table], conditions[place]
    )
    patch = reading.patch(through.table, through.time)
    extra = keys_of(patch, ask.probe.keys) | work.later_keys(place, ask.probe)
    return equal_to_found(columns, found, sorted(extra))


def _in_pieces(
    work: _Work, session: _Session, ask: _Ask, keys: frozenset[Key], length: int
) -> pa.Table:
    """One table, so many keys at a time, each time at a moment that is not too old; fewer where it takes too long."""
    asked, rest = work.input(ask.place), sorted(keys)
    parts = [_no_rows(session.ready(), asked)]
    while rest:
        reading = session.ready()
        executors = work.executors if len(rest) > LARGE else None
        piece = rest[: length * (executors.at_once if executors else 1)]
        try:
            shown = _shown(reading, asked, ask.probe, list(chunks(piece, length)), executors)
        except TooLong as problem:
            session.release()
            if length == 1 or not session.ready().indexed(asked.table, ask.probe.columns):
                raise _not_cut(asked, ask.probe, problem) from None
            length = _shorter(length)
            continue
        parts.append(_patched(reading, asked, ask.probe, set(piece), shown))
        rest = rest[len(piece) :]
    return pa.concat_tables(parts)


def _shown(
    reading: Reading,
    asked: LiveInput,
    probe: Probe,
    piece: list[list[Key]],
    executors: Executors | None,
) -> pa.Table:
    """What the moment shows of some keys."""
    reading.asked.keys += sum(map(len, piece))
    if executors is None:
        columns = compared(reading.table(asked.table), probe.columns)
        conditions = [equal_to_any(columns, chunk) for chunk in piece]
        queries = [Query(asked.table, asked.columns, condition) for condition in conditions]
        return pa.concat_tables(reading.fetched(queries))
    shown = executors.ask(reading, Query(asked.table, asked.columns), probe, piece)
    reading.asked.round_trips += len(piece)
    reading.asked.rows += shown.num_rows
    return shown


def _not_cut(asked: LiveInput, probe: Probe, problem: TooLong) -> SourceError:
    """The error for a question that takes too long, however few keys it is asked for."""
    listed = ", ".join(probe.columns)
    return SourceError(
        f'table "{asked.table}" cannot be looked up by ({listed}) in the time that a snapshot may be held',
        problem.detail, f"make an index on ({listed}); or {problem.hint}",
    )  # fmt: skip


def _no_rows(reading: Reading, asked: LiveInput) -> pa.Table:
    return live.counted(live.narrowed(reading.table(asked.table), asked.columns), [])


def _patched(
    reading: Reading, asked: LiveInput, probe: Probe, keys: set[Key], shown: pa.Table
) -> pa.Table:
    """What the moment shows of the keys, brought to the time asked for (R1)."""
    patch = reading.patch(asked.table, asked.time).select([*asked.columns, COUNT])
    return among(pa.concat_tables([shown, patch]), probe.columns, keys)
