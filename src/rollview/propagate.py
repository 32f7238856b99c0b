"""Propagate: changes of the inputs become the view delta, one small step at a time.

G1  A step is an intent, then one query whose rows are written under the intent's name, then one ledger commit that
    lists the rows and moves the frontier. A step that did not commit has not happened.
G2  Inputs that did not change advance without a query: no change, no Spark job.
G3  Each input's step is as wide as its width in rows allows, at least one transaction.
Which terms a step has: calculus/rolling.py. What a step writes: spark/rolled.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.calculus.bags import first_rows
from rollview.calculus.fixpoint import reads_itself, stepped_levels, ways, written_out
from rollview.calculus.queries import LeafName
from rollview.calculus.rolling import (
    Advance,
    Frontier,
    high_water_mark,
    next_width,
)
from rollview.calculus.steps import BlockTerm, planned, stepped, together
from rollview.calculus.terms import Factor
from rollview.changes import Csn
from rollview.errors import QueryFailed, RollviewError, SourceError, StepConflict, TotalOverflows
from rollview.failpoints import Failpoint, failpoint
from rollview.ledger.resolution import cells, resolution_of
from rollview.ledger.store import BlockRow, Intent, Step
from rollview.sources.postgresql.live import Asked
from rollview.spark.added import addable
from rollview.spark.bags import fetched_memory, first_memory
from rollview.spark.blame import blamed_row
from rollview.spark.evaluate import Leaves, evaluated
from rollview.spark.failures import spark_errors
from rollview.spark.lookups import large_relations, looked_up
from rollview.spark.overflows import check_totals
from rollview.spark.probes import JoinTerm, Probed, probed_inputs
from rollview.spark.products import SHARED_ROWS, Products, over_views
from rollview.spark.recursion import Small, SparkRecursion
from rollview.spark.relations import Reach, Relations
from rollview.spark.written import COLLECTED_ROWS, Written
from rollview.views.blocks import (
    BagReduce,
    Block,
    Definition,
    Fixpoint,
    Input,
    Reduce,
    Union,
    inputs,
    joins,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STEP_ROWS = 1_000_000
"""Changed rows that the first step takes from one input; fixed if the view sets `step_rows`."""
LIVE_STEP_ROWS = 200_000
"""The same where live databases are asked: a step should not hold their moments for long."""
FEW_FIRST = 1_000
"""The first rows of a bag (ORDER BY with LIMIT) that may come to the driver, once for each transaction."""
STEP_SECONDS = 20.0
"""How long a step should take; the width adapts to it. A view may set `step_seconds`."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The next step of a block: what advances, the terms that run, and the frontier afterwards."""

    block: str
    lo: Csn  # the high-water mark before it
    advances: tuple[tuple[int, Advance], ...]  # (join, advance within that join)
    frontier: Frontier
    rows: int  # changed rows that it reads, by the timeline
    before: BlockRow  # the block as it was planned for
    cells: tuple[Csn, ...] = ()  # what its stamps are rounded up to, if the view has a resolution

    @property
    def empty(self) -> bool:
        """No input changed: the frontier moves and nothing runs (G2)."""
        return all(advance.term is None for _, advance in self.advances)


@dataclass(frozen=True, slots=True)
class StepReport:
    """What one step did; `asked`: what it asked of each live database."""

    block: str
    frontier: Frontier
    read: int
    rows: int
    taken: int
    bytes: int
    seconds: float
    asked: Mapping[str, Asked] = field(default_factory=dict)


def plan_step(
    relations: Relations,
    name: str,
    block: Block,
    targets: Sequence[Csn],
    width: int,
    resolution: float = 0,
) -> Plan:
    """The next step that takes each input towards its target."""
    row = relations.ledger.block(name)
    assert row is not None, f"block {name} is in the ledger"
    targets = _targets_within(relations, block, row.frontier, targets, width)
    lo = high_water_mark(row.frontier)
    ends: tuple[Csn, ...] = ()
    if isinstance(block, BagReduce) and resolution:
        ends = cells(relations.ledger, resolution, lo, high_water_mark(targets))
        targets = [ends[-1]] * len(targets)
    ways = list(zip(inputs(block), row.frontier, targets, strict=True))
    counts = [relations.changed_rows(i.relation, at, to) for i, at, to in ways]
    changed = [count > 0 for count in counts]
    moves = planned(block, name, row.frontier, list(enumerate(targets)), changed)
    frontier = tuple(Csn(max(at, to)) for _, at, to in ways)
    return Plan(name, lo, tuple(moves), frontier, sum(counts), row, ends)


def _targets_within(
    relations: Relations, block: Block, frontier: Frontier, targets: Sequence[Csn], width: int
) -> list[Csn]:
    """How far the step takes each input."""
    reached = [
        _within_width(relations, i, at, to, width)
        for i, at, to in zip(inputs(block), frontier, targets, strict=True)
    ]
    return together(block, frontier, reached)


def _within_width(relations: Relations, i: Input, lo: Csn, to: Csn, width: int) -> Csn:
    """The latest time up to `to` that is at most `width` changed rows away, or one transaction (G3)."""
    if relations.changed_rows(i.relation, lo, to) <= width:
        return to
    rows, reached = 0, lo
    for change in relations.ledger.changes_of(i.relation, lo, to):
        rows += change.inserted + change.deleted
        if rows > width and reached > lo:
            break
        reached = change.csn
    return reached if reached > lo else to


def step_query(block: Block, plan: Plan, leaf_name: LeafName) -> exp.Query:
    """The one query of a step: the union of its terms, and what a Reduce makes of it.

    The step of a Fixpoint is several queries; this is what they add up to.
    """
    if isinstance(block, Fixpoint):
        return written_out(_terms(block, plan), leaf_name)
    return stepped(block, plan.block, _terms(block, plan), plan.lo, leaf_name, plan.cells)


def terms_of(block: Block, plan: Plan) -> list[JoinTerm]:
    """The terms of a step that live tables are asked about, in order: those of a Fixpoint read them whole."""
    asked = [] if isinstance(block, Fixpoint) else _terms(block, plan)
    return [JoinTerm(join, term) for join, term in asked]


def _terms(block: Block, plan: Plan) -> list[BlockTerm]:
    return [
        (joins(block)[number], advance.term)
        for number, advance in plan.advances
        if advance.term is not None
    ]


def run_step(
    relations: Relations, block: Block, plan: Plan, also: Callable[[], None] | None = None
) -> StepReport:
    """Run a planned step and commit it (G1); `also` joins the commit, e.g. to move the view time."""
    ledger, started = relations.ledger, time.monotonic()
    step = None
    intent = None
    asked: Mapping[str, Asked] = {}
    if not plan.empty:
        intent = ledger.begin("step", plan.block, {"folder": plan.before.folder})
        step, asked = _written(relations, block, plan, intent)
    else:
        check_totals(relations, plan.block, plan.lo, high_water_mark(plan.frontier), [])
    with ledger.atomic():
        now = ledger.block(plan.block)
        if now is None or now.frontier != plan.before.frontier:
            raise StepConflict(f'view "{plan.block}" moved while a step was running')
        if step is not None and step.rows:
            ledger.add_step(_listed(plan, step))
        elif step is not None:
            ledger.put_trash(step.folder)
        ledger.set_block(plan.block, frontier=plan.frontier)
        if intent is not None:
            ledger.end(intent.id)
        if also is not None:
            also()
    failpoint(Failpoint.STEP_AFTER_COMMIT)
    size = (step.rows, step.taken, step.bytes) if step else (0, 0, 0)
    seconds = time.monotonic() - started
    return StepReport(plan.block, plan.frontier, plan.rows, *size, seconds, asked)


def _listed(plan: Plan, step: Written) -> Step:
    """A step's rows as the ledger lists them."""
    lo, hi = (Csn(plan.lo + 1), plan.cells[-1]) if plan.cells else (step.lo, step.hi)
    return Step(step.id, plan.block, step.folder, lo, hi, step.rows, step.taken, step.bytes,
                datetime.now(timezone.utc))  # fmt: skip


def _written(
    relations: Relations, block: Block, plan: Plan, intent: Intent
) -> tuple[Written, Mapping[str, Asked]]:
    """The rows of a step in its own folder; if that fails, the intent ends and the folder is swept up."""
    try:
        with spark_errors(relations, plan.block, [i.relation for i in inputs(block)]):
            failpoint(Failpoint.STEP_AFTER_INTENT)
            with SparkRecursion(relations) as recursion:
                changed = _changed(relations, block, plan, recursion)
                step = relations.rolled(plan.block).append(
                    changed.rows, intent.id, changed.few, changed.local
                )
            for factor, relation in changed.read:
                relations.check_read(factor, relation)
            new = [_listed(plan, step)] if step.rows else []
            check_totals(relations, plan.block, plan.lo, high_water_mark(plan.frontier), new)
            failpoint(Failpoint.STEP_AFTER_WRITE)
    except RollviewError as error:
        with relations.ledger.atomic():
            relations.ledger.put_trash(f"{intent.payload['folder']}/steps/{intent.id}")
            relations.ledger.end(intent.id)
        if isinstance(error, TotalOverflows):
            raise  # no row of it fails by itself
        terms = [t for t in _terms(block, plan) if not reads_itself(plan.block, *t)]
        row = blamed_row(relations, terms) if isinstance(error, QueryFailed) else None
        if row is not None:
            raise QueryFailed(error.what, f"{error.detail}\n{row}", error.hint) from error
        raise
    return step, changed.asked


@dataclass(frozen=True, slots=True)
class Changed:
    """The rows that a step adds, what it reads for them, and what live databases were asked.

    `few`: the rows are made of rows that are on the driver, and are no more than those. `local`: they take no job, as
    nothing is grouped; what a Reduce adds up comes as it is (spark/written.py, D2).
    """

    rows: DataFrame
    read: Sequence[tuple[Factor, str]]
    asked: Mapping[str, Asked] = field(default_factory=dict)
    few: bool = False
    local: bool = False


def _changed(relations: Relations, block: Block, plan: Plan, recursion: SparkRecursion) -> Changed:
    if isinstance(block, Fixpoint):
        return _levels_changed(relations, block, plan, recursion)
    terms = _terms(block, plan)
    live = relations.live([i.relation for i in inputs(block)])
    large = large_relations(relations, block)
    probed = probed_inputs(relations, terms_of(block, plan)) if live else Probed()

    def evaluate(tree: exp.Query, leaves: Leaves) -> DataFrame:
        return evaluated(relations.spark, tree, leaves, relations, {}, large)

    shares = not live and plan.rows <= SHARED_ROWS
    products = relations.products or Products()
    step = products.over(relations, terms, probed.by_term(), evaluate if shares else None)
    asked = {(n, i): [probed.frame(relations, terms[was], i, was)]
             for n, was in enumerate(step.own) if was is not None
             for i in probed.by_term().get(was, {})}  # fmt: skip
    asked |= looked_up(relations, [JoinTerm(*term) for term in step.terms], large)
    adds = isinstance(block, Reduce) and addable(block)
    plain = isinstance(block, Union) and not block.signed
    local = step.fetched and step.rows <= COLLECTED_ROWS and (plain or adds)
    given = {p.name: p.view for p in step.products if p.view and (plain or local)}
    read = [r for p in step.products for r in p.read]
    if step.fetched and given.keys() == {p.name for p in step.products}:
        rows = over_views(relations.spark, block, step, given, adds and local)
        return Changed(rows, read, probed.asked, True, local)
    leaves = Leaves(asked, given)
    memory: dict[str, DataFrame] = {}
    moved = None
    if isinstance(block, BagReduce) and step.fetched:
        memory = fetched_memory(relations, block, plan.block, plan.lo, step.products)
        unread = not all(i.relation in memory for i in inputs(block))
        first = first_memory(relations, block, plan.lo) if unread else None
        if first is not None:
            moved, memory = first[0], {**memory, **first[1]}
    tree = stepped(block, plan.block, step.terms, plan.lo, leaves.name, plan.cells, leaves.of_term,
                   moved, adds and local)  # fmt: skip
    made = {p.name: p.changes(grouped=not plain and not local) for p in step.products}
    rows = evaluated(relations.spark, tree, leaves, relations, asked, large, {**made, **memory})
    few = step.fetched and (not isinstance(block, BagReduce) or block.grouped or _few_first(block))
    return Changed(rows, [*leaves.read, *read], probed.asked, few, local)


def _few_first(block: BagReduce) -> bool:
    """Whether the block shows the first rows of its bag, and not many."""
    found = first_rows(block)
    return found is not None and found[1] <= FEW_FIRST


def _levels_changed(
    relations: Relations, block: Fixpoint, plan: Plan, recursion: SparkRecursion
) -> Changed:
    """The same of a recursion: what starts it is a step like others, what it leads to comes level by level."""
    terms = _terms(block, plan)
    loops = [term for term in terms if reads_itself(plan.block, *term)]
    start = [term for term in terms if not reads_itself(plan.block, *term)]
    step = (relations.products or Products()).over(relations, start, {}, None)
    read: list[tuple[Factor, str]] = []
    if step.fetched:
        made = {p.name: p.changes(grouped=True) for p in step.products}
        recursion.small = Small(made, ways(block, plan.block))
        start = step.terms
        read = [r for p in step.products for r in p.read]
    name = recursion.leaves.name
    tree = stepped_levels(block, plan.block, [*start, *loops], plan.lo, name, recursion)
    read += recursion.leaves.read
    return Changed(recursion.rows(tree), read, few=step.fetched and recursion.few)


@dataclass(frozen=True, slots=True)
class PropagateReport:
    """How far a view came, in which steps, and what stopped it."""

    reached: Csn
    steps: tuple[StepReport, ...]
    problem: SourceError | None


def propagate(
    relations: Relations,
    definition: Definition,
    to: Csn,
    options: Mapping[str, object],
    arrived: Callable[[], None] | None = None,
) -> PropagateReport:
    """Take every block of the view to `to`, or as far as its sources allow.

    `arrived` joins the commit of the last step if that step reaches `to` (a refresh moves the view time there).
    """
    steps: list[StepReport] = []
    problem: SourceError | None = None
    for number, block in enumerate(definition.blocks):
        name = definition.block_name(number)
        targets, stopped = _targets(relations, definition, name, block, to)
        problem = problem or stopped
        last = number == len(definition.blocks) - 1 and high_water_mark(targets) == to
        steps += _roll(relations, name, block, targets, options, arrived if last else None)
    if steps and steps[-1].block == definition.name:
        frontier = steps[-1].frontier
    else:
        row = relations.ledger.block(definition.name)
        assert row is not None, "the view's face is in the ledger"
        frontier = row.frontier
    return PropagateReport(high_water_mark(frontier), tuple(steps), problem)


def _targets(
    relations: Relations, definition: Definition, name: str, block: Block, to: Csn
) -> tuple[list[Csn], SourceError | None]:
    """How far each input can go; views that are read by this one are propagated first."""
    row = relations.ledger.block(name)
    assert row is not None, f"block {name} is in the ledger"
    targets: list[Csn] = []
    problem: SourceError | None = None
    for at, i in zip(row.frontier, inputs(block), strict=True):
        upstream = None if relations.base(i.relation) else relations.ledger.view(i.relation)
        if upstream is not None:
            deeper = propagate(relations, upstream.definition, to, upstream.options)
            problem = problem or deeper.problem
        reach = reach_of(relations, name, i, at, to)
        targets.append(Csn(max(at, reach.to)))
        problem = problem or reach.problem
    return together(block, row.frontier, targets), problem


def reach_of(relations: Relations, name: str, i: Input, at: Csn, to: Csn) -> Reach:
    """How far an input of block `name` can go towards `to`; where the block reads itself, as far as the others."""
    return Reach(to) if i.relation == name else relations.reach(i.relation, i.columns, at, to)


def first_width(relations: Relations, block: Block, options: Mapping[str, object]) -> int:
    """Changed rows that the first step takes from one input."""
    live = relations.live([i.relation for i in inputs(block)])
    return int(str(options.get("step_rows", LIVE_STEP_ROWS if live else STEP_ROWS)))


def _roll(
    relations: Relations,
    name: str,
    block: Block,
    targets: Sequence[Csn],
    options: Mapping[str, object],
    arrived: Callable[[], None] | None,
) -> list[StepReport]:
    """Step after step until every input is at its target; widths adapt to the target step time."""
    reports: list[StepReport] = []
    width = first_width(relations, block, options)
    goal = float(str(options.get("step_seconds", STEP_SECONDS)))
    while True:
        row = relations.ledger.block(name)
        assert row is not None, f"block {name} is in the ledger"
        if all(at >= to for at, to in zip(row.frontier, targets, strict=True)):
            return reports
        plan = plan_step(relations, name, block, targets, width, resolution_of(options))
        done = all(at >= to for at, to in zip(plan.frontier, targets, strict=True))
        reports.append(run_step(relations, block, plan, arrived if done else None))
        if done:
            return reports
        if "step_rows" not in options:
            width = next_width(width, reports[-1].read, reports[-1].seconds, goal)
