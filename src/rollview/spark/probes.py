"""The live inputs of a step, read by its join keys: one small DataFrame for each input of each term.

The keys start with the changes of the step: from the logs of captured tables without a Spark job, from anything else
with one. What is asked in which order: calculus/probing.py; how: sources/postgresql/probe.py. An input that no key
leads to, or that is smaller than the changes, is read whole (live.py).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet
from psycopg import sql
from pyspark.sql import DataFrame
from sqlglot import exp

from rollview.calculus.probing import (
    Askable,
    Edge,
    Probe,
    ProbePlan,
    edges,
    probe_plan,
    round_trips,
)
from rollview.calculus.queries import column, conjuncts, table
from rollview.calculus.terms import AsOf, Changes, Factor, Term, Timed
from rollview.changes import COUNT, Csn
from rollview.errors import RollviewError, SourceError
from rollview.sources.delta_lake.fetched import MOST_CHANGED
from rollview.sources.frames import frame
from rollview.sources.postgresql.connect import connected
from rollview.sources.postgresql.keys import INLINE, MOST_COLUMNS, Key, cast_of, equal_to_any
from rollview.sources.postgresql.live import (
    Asked,
    Query,
    Reading,
    TooLong,
    changes,
    limited,
    reading,
    selected,
)
from rollview.sources.postgresql.probe import Executors, LiveInput, ProbedTerm, compared, probed
from rollview.sources.postgresql.snapshots import Moment, joined
from rollview.sources.postgresql.table import MODES, Table, table_of
from rollview.spark.evaluate import bound, rows_of
from rollview.spark.fetched import stamped
from rollview.spark.live import read_folder
from rollview.spark.relations import Relations
from rollview.views.blocks import Join
from rollview.views.syntax import quoted

Failure = tuple[bool, str, str, str]
"""What goes from a task to the driver: whether it took too long, and the three parts of our error."""


@dataclass(frozen=True, slots=True)
class JoinTerm:
    """A term of a step and the join that it belongs to."""

    join: Join
    term: Term


@dataclass(slots=True)
class Probed:
    """The probed inputs of a step, by term and input; and what was asked of each source."""

    rows: dict[tuple[int, int], pa.Table] = field(default_factory=dict)
    asked: dict[str, Asked] = field(default_factory=dict)

    def by_term(self) -> dict[int, dict[int, pa.Table]]:
        """The rows of the inputs, term by term."""
        found: dict[int, dict[int, pa.Table]] = {}
        for (number, i), rows in self.rows.items():
            found.setdefault(number, {})[i] = rows
        return found

    def frame(
        self, relations: Relations, term: tuple[Join, Term], i: int, number: int
    ) -> DataFrame:
        """The rows of an input of a term, for Spark."""
        read = term[0].inputs[i]
        kinds: Mapping[str, str] = dict(relations.columns(read.relation))
        rows = self.rows[number, i]
        schema = ", ".join(f"{quoted(c)} {kinds.get(c, 'bigint')}" for c in rows.column_names)
        return frame(relations.spark, rows, schema)


def live_inputs(relations: Relations, each: JoinTerm) -> dict[int, str]:
    """The inputs that are asked rather than read, and their sources."""
    start = next(f for f in each.term if isinstance(f, Changes))
    changed = relations.changed_rows(each.join.inputs[start.input].relation, start.lo, start.hi)
    found = {}
    for number, i in enumerate(each.join.inputs):
        row = relations.base(i.relation)
        live = row is not None and row.properties.get("mode") == "live"
        # A table that is smaller than many changes is read whole; with few, its rows are joined on the driver.
        many = changed > MOST_CHANGED and row is not None and 0 < row.rows < changed
        if row is not None and live and number != start.input and not many:
            found[number] = row.source
    return found


def plan_of(relations: Relations, each: JoinTerm) -> ProbePlan:
    """How the live inputs of a term are read; explain prints it, and the step does it."""
    names = {i.relation for i in each.join.inputs}
    graph = edges(each.join, {name: dict(relations.columns(name)) for name in names})
    refused = {n: _not_askable(relations, each.join.inputs[n].relation)
               for n in live_inputs(relations, each)}  # fmt: skip
    narrow = [Edge(e.left, e.right, e.columns[:MOST_COLUMNS]) for e in graph]
    return probe_plan(narrow, each.term, live_inputs(relations, each), Askable(refused))


@dataclass(frozen=True, slots=True)
class ExplainedProbes:
    """What a step asks of live databases: in words, and how many round trips each one takes."""

    asked: tuple[str, ...] = ()
    round_trips: Mapping[str, int] = field(default_factory=dict)


def explained_probes(relations: Relations, terms: Sequence[JoinTerm]) -> ExplainedProbes:
    """Which relation a step asks how; from the plans that it runs."""
    said: list[str] = []
    plans: list[tuple[ProbePlan, Mapping[int, str]]] = []
    for each in (e for e in terms if _live(relations, e)):
        plan, inputs = plan_of(relations, each), each.join.inputs
        plans.append((plan, live_inputs(relations, each)))
        for number, r in enumerate(plan.rounds, 1):
            for p in r.probes:
                origin = inputs[p.source].relation
                changed = "changes of " if p.source == plan.start else ""
                said.append(f"{inputs[p.input].relation} is asked by ({', '.join(p.columns)}) for the "
                            f"({', '.join(p.keys)}) of {changed}{origin}: round trip {number}")  # fmt: skip
        probed_ones = {p.input for r in plan.rounds for p in r.probes}
        for n in sorted(_live(relations, each) - probed_ones - {plan.start}):
            said.append(f"{inputs[n].relation} is read whole, by the executors")
    return ExplainedProbes(tuple(dict.fromkeys(said)), round_trips(plans))


def _start(each: JoinTerm) -> int:
    return next(f.input for f in each.term if isinstance(f, Changes))


def _live(relations: Relations, each: JoinTerm) -> set[int]:
    names = relations.live([i.relation for i in each.join.inputs])
    return {n for n, i in enumerate(each.join.inputs) if i.relation in names}


def _not_askable(relations: Relations, name: str) -> frozenset[str]:
    row = relations.base(name)
    assert row is not None, f"table {name} is in the ledger"
    return frozenset(c.name for c in table_of(row).columns if cast_of(c.codec, c.type_oid) is None)


def probed_inputs(relations: Relations, terms: Sequence[JoinTerm]) -> Probed:
    """Read every live input of every term that a key leads to."""
    work = _Step(relations, terms, [
        plan_of(relations, each) if _live(relations, each) else ProbePlan(_start(each), (), ())
        for each in terms
    ])  # fmt: skip
    if not any(plan.rounds for plan in work.plans):
        return Probed()
    asking = [ProbedTerm(plan, work.inputs(n)) for n, plan in enumerate(work.plans)]
    answers, asked = probed(asking, work.opening, work.key_rows, work.executors())
    rows = {place: work.leaf(place, answers[place]) for place in answers}
    return Probed(rows, asked)


@dataclass(slots=True)
class _Step:
    """The terms of a step while they are probed."""

    relations: Relations
    terms: Sequence[JoinTerm]
    plans: Sequence[ProbePlan]

    def inputs(self, number: int) -> dict[int, LiveInput]:
        each, found = self.terms[number], dict[int, LiveInput]()
        for probe in (p for r in self.plans[number].rounds for p in r.probes):
            i, factor = each.join.inputs[probe.input], each.term[probe.input]
            row = self.relations.base(i.relation)
            assert row is not None, "live tables are in the ledger"
            later = (
                self._log(i.relation, factor.lo, factor.at) if isinstance(factor, Timed) else None
            )
            found[probe.input] = LiveInput(
                i.relation, row.source, _state_time(factor), i.columns, later
            )
        return found

    def opening(self, source: str) -> AbstractContextManager[Reading]:
        """Hold a moment of a source, for all of its tables that the step reads."""
        names = {e.join.inputs[p.input].relation for e, plan in zip(self.terms, self.plans, strict=True)
                 for r in plan.rounds for p in r.probes}  # fmt: skip
        own = sorted(n for n in names if n.startswith(f"{source}."))
        widest = max(self._changed(n) for n in range(len(self.terms)))
        return reading(
            self.relations.ledger, self.relations.warehouse, source, own, widest > INLINE
        )

    def executors(self) -> Executors:
        """Those who ask for very many keys; as many at once as there are cores."""
        return Executors(self.by_executors, self.relations.spark.sparkContext.defaultParallelism)

    def by_executors(
        self, now: Reading, query: Query, probe: Probe, shared: list[list[Key]]
    ) -> pa.Table:
        """The rows of the keys, asked by the executors at the moment that is held, through files."""
        table, context = now.table(query.table), self.relations.spark.sparkContext
        with read_folder(self.relations.warehouse) as folder:
            task = asking(now.pinned.where, now.pinned.stream.source, table, now.names[query.table],
                          query.columns, probe.columns, now.moment, now.seconds_left,
                          str(folder))  # fmt: skip
            for failure in (
                context.parallelize(list(enumerate(shared)), len(shared)).map(task).collect()
            ):
                if failure is not None:
                    too_long, *parts_of_error = failure
                    raise (TooLong if too_long else SourceError)(*parts_of_error)
            parts = [pyarrow.parquet.read_table(f) for f in sorted(folder.glob("*.parquet"))]
            return pa.concat_tables(parts)

    def _changed(self, number: int) -> int:
        start = next(f for f in self.terms[number].term if isinstance(f, Changes))
        name = self.terms[number].join.inputs[start.input].relation
        return self.relations.changed_rows(name, start.lo, start.hi)

    def _log(self, name: str, lo: Csn, hi: Csn) -> pa.Table | None:
        """The log of a captured PostgreSQL table; None if it is something else."""
        row = self.relations.base(name)
        if row is None or row.properties.get("mode") not in MODES:
            return None
        return changes(self.relations.ledger, self.relations.warehouse, table_of(row), lo, hi)

    def key_rows(self, number: int, i: int, columns: tuple[str, ...]) -> pa.Table:
        """The keys of an input that is not asked, as far as they join what is known."""
        each = self.terms[number]
        factor = each.term[i]
        if isinstance(factor, Changes):
            log = self._log(each.join.inputs[i].relation, factor.lo, factor.hi)
            if log is not None:
                return log
        known = [self.plans[number].start]
        for r in self.plans[number].rounds:
            known += [n for n in r.through if n not in known]
            if i in known:
                break
        return self._joined(each, known, i, columns).toArrow()

    def _joined(
        self, each: JoinTerm, known: Sequence[int], i: int, columns: tuple[str, ...]
    ) -> DataFrame:
        """Distinct columns of an input, joined with the inputs before it by what the condition says of them."""
        prefix = f"_rv_{uuid.uuid4().hex[:12]}_"  # views of a round are probed side by side
        frames, query = {}, exp.select(
            *(exp.alias_(column(c, each.join.inputs[i].alias), c, quoted=True) for c in columns)
        ).distinct()  # fmt: skip
        for position, n in enumerate(known):
            read = each.join.inputs[n]
            frames[f"{prefix}{n}"] = rows_of(
                self.relations(read.relation), each.term[n], read.columns
            )
            leaf = table(f"{prefix}{n}", read.alias)
            query = query.join(leaf, join_type="CROSS") if position else query.from_(leaf)
        aliases = {each.join.inputs[n].alias for n in known}
        for condition in conjuncts(each.join):
            if {c.table for c in condition.find_all(exp.Column)} <= aliases:
                query = query.where(condition.copy())
        return bound(self.relations.spark, query, frames)

    def leaf(self, place: tuple[int, int], rows: pa.Table) -> pa.Table:
        """The rows of a probed input as the term wants them: the columns, count and, if it is timed, the stamp."""
        number, i = place
        read, factor = self.terms[number].join.inputs[i], self.terms[number].term[i]
        found = rows.select([*read.columns, COUNT])
        if not isinstance(factor, Timed):
            return found
        later = self._log(read.relation, factor.lo, factor.at)
        assert later is not None, "live tables are captured"
        old = stamped(found)
        return pa.concat_tables([old, later.select(old.column_names)])


def asking(
    where: str,
    source: str,
    table: Table,
    name: sql.Composable,
    columns: tuple[str, ...],
    asked: tuple[str, ...],
    moment: Moment,
    seconds: float,
    folder: str,
) -> Callable[[tuple[int, list[Key]]], Failure | None]:
    """What a task does: it asks for one chunk of keys and writes the rows, or gives the parts of our error."""

    def ask(numbered: tuple[int, list[Key]]) -> Failure | None:
        number, chunk = numbered
        try:
            with (
                connected(where, source) as connection,
                limited(source, seconds),
                joined(connection, moment.exported, moment.text),
            ):
                keys = equal_to_any(compared(table, asked), chunk)
                rows = selected(connection, table, name, columns, keys, seconds)
        except RollviewError as problem:
            return isinstance(problem, TooLong), problem.what, problem.detail, problem.hint
        pyarrow.parquet.write_table(rows, f"{folder}/part-{number}.parquet")
        return None

    return ask


def _state_time(factor: Factor) -> Csn:
    match factor:
        case AsOf(_, at):
            return at
        case Timed(_, lo, _):
            return lo
        case Changes():
            raise AssertionError("changes are not asked for")
