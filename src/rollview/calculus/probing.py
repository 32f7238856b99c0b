"""Probing: which inputs of a term are asked only for the rows that join with its changes, in which order. Pure.

A1  A probe asks an input for the rows whose columns equal values of columns of an input that is known already. What
    is not asked for cannot join: the term over probed inputs has the same rows as over whole ones.
A2  Inputs of one database that are connected in the join graph are asked together, in one round trip; different
    databases at the same time. An input that no equality leads to is read whole, never crossed on the server.
The known rows start with the term's changes. An input that is not asked (a Delta Lake table, a view) is joined by the
engine before others are reached through it. Paper: Sze and Ling 2000, section 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rollview.calculus.queries import equalities
from rollview.calculus.terms import Changes, Term
from rollview.views.blocks import Join

WHOLE_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint"})

Types = Mapping[str, Mapping[str, str]]
"""Relation -> column -> Spark type."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Columns of two inputs that the join's condition holds equal."""

    left: int
    right: int
    columns: tuple[tuple[str, str], ...]

    def turned(self) -> Edge:
        """The same edge from the other side."""
        return Edge(self.right, self.left, tuple((b, a) for a, b in self.columns))


@dataclass(frozen=True, slots=True)
class Probe:
    """Input `input` is asked for the rows whose `columns` are among the `keys` of input `source`."""

    input: int
    source: int
    keys: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Round:
    """Probes that go out together; before them, the engine joins the inputs in `through`."""

    through: tuple[int, ...]
    probes: tuple[Probe, ...]


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """How a term's live inputs are read: in rounds of probes, or whole."""

    start: int
    rounds: tuple[Round, ...]
    whole: tuple[int, ...]


def edges(join: Join, types: Types) -> list[Edge]:
    """The join graph: one edge for each two inputs with equal columns, of types that compare alike everywhere."""
    aliases = {i.alias: n for n, i in enumerate(join.inputs)}
    found: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for left, right in equalities(join):
        a, b = aliases.get(left.table), aliases.get(right.table)
        if a is None or b is None or a == b:
            continue
        kinds = [types[join.inputs[n].relation].get(c.name) for n, c in ((a, left), (b, right))]
        if kinds[0] is not None and (kinds[0] == kinds[1] or WHOLE_NUMBERS.issuperset(kinds)):
            pair = (left.name, right.name) if a < b else (right.name, left.name)
            found.setdefault((min(a, b), max(a, b)), []).append(pair)
    return [Edge(a, b, tuple(dict.fromkeys(pairs))) for (a, b), pairs in found.items()]


def probe_plan(
    graph: Iterable[Edge], term: Term, databases: Mapping[int, str], askable: Askable
) -> ProbePlan:
    """The rounds in which the live inputs of a term are asked; `databases`: live input -> its database (A2)."""
    both = [e for edge in graph for e in (edge, edge.turned())]
    start = next(f.input for f in term if isinstance(f, Changes))
    wanted = {f.input for f in term if f.input in databases and f.input != start}
    known, rounds = {start}, list[Round]()
    through: list[int] = []
    while wanted:
        probes = _reached(both, known, wanted, databases, askable)
        if probes:
            rounds.append(Round(tuple(through), probes))
            through = []
            wanted -= {p.input for p in probes}
            known |= {p.input for p in probes}
            continue
        step = _next_through(both, known, wanted, databases)
        if step is None:
            break
        through.append(step)
        known.add(step)
    return ProbePlan(start, tuple(rounds), tuple(sorted(wanted)))


class Askable:
    """Which columns of an input can be compared on the server; all, unless said otherwise."""

    def __init__(self, refused: Mapping[int, frozenset[str]] | None = None) -> None:
        self.refused = dict(refused or {})

    def usable(self, edge: Edge) -> Edge | None:
        """The part of the edge that can be asked of its right side."""
        bad = self.refused.get(edge.right, frozenset())
        columns = tuple(c for c in edge.columns if c[1] not in bad)
        return Edge(edge.left, edge.right, columns) if columns else None


def _reached(
    graph: list[Edge],
    known: set[int],
    wanted: set[int],
    databases: Mapping[int, str],
    askable: Askable,
) -> tuple[Probe, ...]:
    """Every live input next to a known one, and those of the same database behind it."""
    probes: dict[int, Probe] = {}
    found = True
    while found:
        found = False
        for edge in graph:
            if edge.right not in wanted or edge.right in probes:
                continue
            behind = edge.left in probes and databases[edge.left] == databases[edge.right]
            usable = askable.usable(edge) if edge.left in known or behind else None
            if usable is not None:
                keys, columns = zip(*usable.columns, strict=True)
                probes[edge.right] = Probe(edge.right, edge.left, keys, columns)
                found = True
    return tuple(probes.values())


def _next_through(
    graph: list[Edge], known: set[int], wanted: set[int], databases: Mapping[int, str]
) -> int | None:
    """An input that is not asked, next to a known one, on a way to one that is wanted."""
    candidates = {e.right for e in graph if e.left in known and e.right not in known}
    for candidate in sorted(c for c in candidates if c not in databases):
        seen, waiting = {*known, candidate}, [candidate]
        while waiting:
            here = waiting.pop()
            if here in wanted:
                return candidate
            nexts = [e.right for e in graph if e.left == here and e.right not in seen]
            seen.update(nexts)
            waiting += nexts
    return None


def round_trips(plans: Iterable[tuple[ProbePlan, Mapping[int, str]]]) -> dict[str, int]:
    """How often each database is asked in a step, by plans and their databases; terms share their rounds."""
    rounds: dict[str, set[int]] = {}
    for plan, databases in plans:
        for number, each in enumerate(plan.rounds):
            for probe in each.probes:
                rounds.setdefault(databases[probe.input], set()).add(number)
    return {name: len(numbers) for name, numbers in rounds.items()}
