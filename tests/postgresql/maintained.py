"""A view over live tables: the product's terms, probes and patches, joined by plain Python instead of Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pyarrow as pa

from rollview.calculus.probing import Askable, Edge, probe_plan
from rollview.calculus.rolling import advanced, forward_term, high_water_mark
from rollview.calculus.terms import AsOf, Changes, Timed
from rollview.changes import COUNT, STAMP, Csn
from rollview.sources.postgresql.live import changes, reading
from rollview.sources.postgresql.probe import LiveInput, ProbedTerm, probed
from rollview.sources.postgresql.table import table_of
from rollview.warehouse import Warehouse

Columns = dict[str, str | None]


class Maintained:
    """Equi-join of live tables, projected; `delta` are its timed changes."""

    def __init__(
        self,
        wh: Warehouse,
        tables: Sequence[str],
        edges: Sequence[Edge],
        shown: Sequence[tuple[int, str]],
    ) -> None:
        self.wh, self.tables, self.edges, self.shown = wh, list(tables), list(edges), list(shown)
        self.sources = {n: t.partition(".")[0] for n, t in enumerate(tables)}
        self.described = [table_of(wh.ledger.relation(t)) for t in tables]
        self.columns = [tuple(c.name for c in d.columns) for d in self.described]
        at = wh.ledger.newest_csn()
        self.frontier = (at,) * len(tables)
        self.delta: list[tuple[Csn, tuple, int]] = []
        self.asked: list[dict] = []
        self.before_asking: Callable[[], None] = lambda: None
        self.start = Counter()
        for row, _, count in self._joined([self._stamped(self.whole(t, at)) for t in self.tables]):
            self.start[row] += count

    def whole(self, table: str, at: Csn) -> pa.Table:
        """A table at a time, read now."""
        source = table.partition(".")[0]
        names = [c.name for c in table_of(self.wh.ledger.relation(table)).columns]
        with reading(self.wh.ledger, self.wh.path, source, [table]) as now:
            return now.whole(table, at, names)

    def step(self, relation: int, to: Csn) -> None:
        """Take one table to a time, whatever the others' times are."""
        term = forward_term(self.frontier, relation, to)
        plan = probe_plan(self.edges, term, self.sources, Askable())
        assert not plan.whole, "every table is reached by keys"
        inputs = {}
        for n, factor in enumerate(term):
            if not isinstance(factor, Changes):
                time = factor.at if isinstance(factor, AsOf) else factor.lo
                later = self._log(n, factor.lo, factor.at) if isinstance(factor, Timed) else None
                inputs[n] = LiveInput(self.tables[n], self.sources[n], time, self.columns[n], later)
        start = self._log(relation, term[relation].lo, to)
        self.before_asking()
        answers, asked = probed([ProbedTerm(plan, inputs)], self._opening, lambda *_: start)
        self.asked.append({name: a.round_trips for name, a in asked.items()})
        frames = []
        for n in range(len(term)):
            if n == relation:
                frames.append(start)
            elif inputs[n].later is not None:
                frames.append(pa.concat_tables([self._stamped(answers[0, n]), inputs[n].later]))
            else:
                frames.append(self._stamped(answers[0, n]))
        self.delta += [(stamp, row, count) for row, stamp, count in self._joined(frames)]
        self.frontier = advanced(self.frontier, relation, to)

    def roll(self, to: Csn) -> None:
        """Take every table to a time."""
        for n in range(len(self.tables)):
            if self.frontier[n] < to:
                self.step(n, to)

    def view(self, at: Csn | None = None) -> dict[tuple, int]:
        """The view at a time up to the high-water mark."""
        at = high_water_mark(self.frontier) if at is None else at
        assert at <= high_water_mark(self.frontier)
        total = Counter(self.start)
        for stamp, row, count in self.delta:
            if stamp <= at:
                total[row] += count
        return {row: n for row, n in total.items() if n}

    def _opening(self, source: str):
        names = [t for t in self.tables if t.startswith(f"{source}.")]
        return reading(self.wh.ledger, self.wh.path, source, names)

    def _log(self, n: int, lo: Csn, hi: Csn) -> pa.Table:
        return changes(self.wh.ledger, self.wh.path, self.described[n], lo, hi)

    @staticmethod
    def _stamped(rows: pa.Table) -> pa.Table:
        return rows.append_column(STAMP, pa.array([0] * rows.num_rows, pa.int64()))

    def _joined(self, frames: Sequence[pa.Table]):
        """(shown columns, latest stamp, product of counts) of every combination that satisfies the edges."""
        found = [({}, 0, 1)]
        for n, rows in enumerate(frames):
            step = []
            for row in rows.to_pylist():
                for known, stamp, count in found:
                    if all(self._equal(e, n, row, known) for e in self.edges):
                        step.append(({**known, n: row}, max(stamp, row[STAMP]), count * row[COUNT]))
            found = step
        for known, stamp, count in found:
            yield tuple(known[n][c] for n, c in self.shown), stamp, count

    @staticmethod
    def _equal(edge: Edge, n: int, row: Columns, known: dict[int, Columns]) -> bool:
        for e in (edge, edge.turned()):
            if e.right == n and e.left in known:
                return all(row[b] is not None and known[e.left][a] == row[b] for a, b in e.columns)
        return True
