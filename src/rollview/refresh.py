"""Refresh: one round of propagate and apply, fused where possible, and the choice between the techniques.

H1  Every refresh is reported with its technique and the reason for it, in the words that Databricks users know, and
    recorded in the history; a full recompute is never silent.
H2  A refresh that fails leaves the view at its last good time, marked as stopped with the reason.
The techniques: NO_OP, APPEND_ONLY, ROW_BASED, GROUP_AGGREGATE, GENERIC_AGGREGATE, WINDOW_FUNCTION, RECURSIVE,
COMPLETE_RECOMPUTE.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any

from rollview import apply as applying
from rollview.build import Progress, build
from rollview.calculus.cost import (
    START_SECONDS,
    Estimate,
    InputSize,
    JoinSize,
    estimate,
    with_memory,
)
from rollview.calculus.rolled import signed
from rollview.calculus.rolling import Frontier, forward_term, high_water_mark
from rollview.calculus.sharing import core_of
from rollview.changes import Csn
from rollview.errors import (
    ChangesLost,
    QueryFailed,
    RefreshError,
    RollviewError,
    TimeNotReached,
    TotalOverflows,
)
from rollview.failpoints import Failpoint, failpoint
from rollview.ledger.learning import FULL, learned_from
from rollview.ledger.store import Refresh, ViewRow
from rollview.propagate import PropagateReport, propagate
from rollview.sources.postgresql.live import Asked
from rollview.spark.evaluate import jobs_of
from rollview.spark.fetched import fetchable
from rollview.spark.relations import Relations, stopped_problem
from rollview.views.blocks import BagReduce, Definition, Fixpoint, Join, Reduce, inputs, joins

POLICIES = ("auto", "incremental", "incremental_strict", "full")


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What a refresh did: how, why, how far, and what it took."""

    view: str
    technique: str
    reason: str
    view_time: Csn
    seconds: float
    rows: int
    bytes: int = 0
    jobs: int = 0
    steps: int = 0
    details: dict[str, Any] = field(default_factory=dict)


def refresh_view(
    relations: Relations, view: ViewRow, to: Csn, full: bool, progress: Progress
) -> RefreshReport:
    """Bring one view to `to` and record how (H1, H2)."""
    started, clock = datetime.now(timezone.utc), time.monotonic()
    ledger = relations.ledger
    with jobs_of(relations.spark) as jobs:
        try:
            done = _refresh(relations, view, to, full, progress)
        except RollviewError as error:
            failpoint(Failpoint.REFRESH_BEFORE_STOP)
            with ledger.atomic():
                if not isinstance(error, TimeNotReached):
                    ledger.set_view(view.name, state="stopped", reason=str(error))
                ledger.add_refresh(Refresh(
                    view.name, started, time.monotonic() - clock, "", "", "failed", str(error),
                    view.view_time, to, 0, 0, jobs(), {}))  # fmt: skip
            failpoint(Failpoint.REFRESH_AFTER_STOP)
            raise
        seconds = time.monotonic() - clock
        report = RefreshReport(view.name, done.technique, done.reason, done.view_time, seconds,
                               done.rows, done.bytes, jobs(), done.steps, done.details)  # fmt: skip
    failpoint(Failpoint.REFRESH_BEFORE_HISTORY)
    ledger.add_refresh(Refresh(
        view.name, started, seconds, report.technique, report.reason, "ok", "", view.view_time,
        report.view_time, report.rows, report.bytes, report.jobs,
        {**report.details, "steps": report.steps}))  # fmt: skip
    failpoint(Failpoint.REFRESH_AFTER_HISTORY)
    return report


def _refresh(
    relations: Relations, view: ViewRow, to: Csn, full: bool, progress: Progress
) -> RefreshReport:
    if relations.ledger.being_built(view.name):
        return resume_build(relations, view, to, progress)
    mark = high_water_mark(applying.face(relations.ledger, view.name).frontier)
    if full or view.options.get("policy", "auto") == "full":
        _, details = _compared(relations, view, to)
        return _recompute(relations, view, to, "asked for", progress, details)
    if to <= mark:
        applying.apply(relations.ledger, view.name, to)
        if to == relations.ledger.newest_csn():
            check_going(relations, view.definition)
            relations.ledger.set_view(view.name, state="ready", reason="")
        return RefreshReport(
            view.name, "NO_OP", "the view delta reaches that time already", to, 0, 0
        )
    lost = _lost(relations, view, to)
    if lost is not None:
        if view.options.get("policy") == "incremental_strict":
            raise lost
        return _recompute(relations, view, to, f"CHANGE_SET_MISSING: {lost.what}", progress)
    costs, details = _compared(relations, view, to)
    if view.options.get("policy", "auto") == "auto" and costs.full < costs.incremental:
        reason = (f"INCREMENTAL_PLAN_REJECTED_BY_COST_MODEL: {costs.incremental:.1f} s estimated "
                  f"against {costs.full:.1f} s")  # fmt: skip
        return _recompute(relations, view, to, reason, progress, details)
    try:
        return _incremental(relations, view, to, details)
    except QueryFailed as failed:
        strict = view.options.get("policy") == "incremental_strict"
        if strict or not _may_have_gone(relations, view, to, failed):
            raise
        # The row may have gone since. At the times that show it the view has no contents, so that no view delta
        # can lead through them: the view starts anew after them.
        reason = f"QUERY_FAILED_ON_THE_WAY: {failed.detail}"
        return _recompute(relations, view, to, reason, progress, details)


def _compared(relations: Relations, view: ViewRow, to: Csn) -> tuple[Estimate, dict[str, Any]]:
    """Both ways' cost as far as it is known here, and what the history keeps of it to learn from."""
    plain = estimated(relations, view, to)
    costs = learned_from(relations.ledger, view.name).applied(plain)
    return costs, {
        "estimate": {"incremental": costs.incremental, "full": costs.full},
        "by_constants": {"incremental": plain.incremental, "full": plain.full},
    }


def _lost(relations: Relations, view: ViewRow, to: Csn) -> ChangesLost | None:
    """A view that this one reads was recomputed in full, or a table registered anew: its changes are gone."""
    for number, block in enumerate(view.definition.blocks):
        row = relations.ledger.block(view.definition.block_name(number))
        assert row is not None, "the view's blocks are in the ledger"
        for at, i in zip(row.frontier, inputs(block), strict=True):
            own = i.relation.startswith(f"{view.name}#")
            if not own and at < relations(i.relation).oldest:
                problem = relations.reach(i.relation, i.columns, at, to).problem
                assert isinstance(problem, ChangesLost), "the relation forgot what was needed"
                return problem
    return None


def _incremental(
    relations: Relations, view: ViewRow, to: Csn, details: dict[str, Any]
) -> RefreshReport:
    ledger = relations.ledger
    how = technique(relations, view, to)

    def arrived() -> None:
        ledger.set_view(view.name, state="ready", reason="", view_time=to)

    done = propagate(relations, view.definition, to, view.options, arrived)
    if done.problem is not None:
        if done.reached > (view.view_time or 0):
            applying.apply(ledger, view.name, done.reached)
        raise done.problem
    if view.options.get("fold") == "always":
        applying.fold_blocks(relations, view, to)
    if to == ledger.newest_csn():
        check_going(relations, view.definition)
    rows, size = sum(s.rows for s in done.steps), sum(s.bytes for s in done.steps)
    ran = sum(1 for s in done.steps if s.read)
    details = {**details, "read": sum(s.read for s in done.steps), **_asked(done)}
    reason = _why(how, done)
    return RefreshReport(view.name, how if ran else "NO_OP", reason, to, 0, rows, size, 0, ran,
                         details)  # fmt: skip


def _asked(done: PropagateReport) -> dict[str, Any]:
    """What was asked of live databases, if anything: in how many round trips, by how many keys, for how many rows."""
    total: dict[str, Asked] = {}
    for step in done.steps:
        for source, asked in step.asked.items():
            total.setdefault(source, Asked()).add(asked)
    return {"asked": {source: asdict(asked) for source, asked in total.items()}} if total else {}


def _may_have_gone(relations: Relations, view: ViewRow, to: Csn, failed: QueryFailed) -> bool:
    """Whether the query may succeed at `to`: an input lost rows on the way there, or a total became smaller."""
    if isinstance(failed, TotalOverflows):
        return failed.until < to
    for number, block in enumerate(view.definition.blocks):
        row = applying.face(relations.ledger, view.definition.block_name(number))
        for at, i in zip(row.frontier, inputs(block), strict=True):
            if relations.taken_rows(i.relation, at, to):
                return True
    return False


def _why(technique: str, done: PropagateReport) -> str:
    read = sum(s.read for s in done.steps)
    if not read:
        return "nothing that the view reads has changed"
    kind = {"APPEND_ONLY": "rows were only added", "GROUP_AGGREGATE": "only touched groups change",
            "GENERIC_AGGREGATE": "touched groups were computed anew",
            "WINDOW_FUNCTION": "touched partitions were computed anew",
            "RECURSIVE": "changed rows were followed level by level",
            "ROW_BASED": "changed rows were joined with the other inputs"}[technique]  # fmt: skip
    return f"{read} changed row{'s' * (read != 1)}; {kind}"


def technique(relations: Relations, view: ViewRow, to: Csn) -> str:
    """How the changes up to `to` are worked in."""
    always = technique_of(view.definition)
    if always is not None:
        return always
    row = applying.face(relations.ledger, view.name)
    taken = sum(
        relations.taken_rows(i.relation, at, to)
        for at, i in zip(row.frontier, inputs(view.definition.blocks[-1]), strict=True)
    )
    return "ROW_BASED" if taken else "APPEND_ONLY"


def technique_of(definition: Definition) -> str | None:
    """How changes are worked in, where that depends on the definition alone.

    Hidden blocks that only count, such as the matches of an outer join, are not spoken of.
    """
    blocks = definition.blocks
    if any(isinstance(block, Fixpoint) for block in blocks):
        return "RECURSIVE"
    if any(isinstance(block, BagReduce) and not block.grouped for block in blocks):
        return "WINDOW_FUNCTION"
    if any(isinstance(block, BagReduce) for block in blocks):
        return "GENERIC_AGGREGATE"
    if isinstance(blocks[-1], Reduce):
        return "GROUP_AGGREGATE"
    # What is added to a block below, or to a part that takes away, may take rows away above.
    return "ROW_BASED" if len(blocks) > 1 or signed(blocks[-1]) else None


def estimated(relations: Relations, view: ViewRow, to: Csn) -> Estimate:
    """Both ways' cost by the constants and the timeline's row counts."""
    incremental = full = 0.0
    for number, block in enumerate(view.definition.blocks):
        row = relations.ledger.block(view.definition.block_name(number))
        assert row is not None, "the view's blocks are in the ledger"
        sizes, first = [], 0
        for join in joins(block):
            part = row.frontier[first : first + len(join.inputs)]
            sizes.append(_size(relations, join, part, to))
            first += len(join.inputs)
        costs = estimate(sizes, isinstance(block, Reduce | BagReduce))
        if isinstance(block, BagReduce) and costs.incremental > START_SECONDS:
            costs = with_memory(costs, sizes, row.rows)
        incremental, full = incremental + costs.incremental, full + costs.full
    return Estimate(incremental, full)


def _size(relations: Relations, join: Join, frontier: Frontier, to: Csn) -> JoinSize:
    read = tuple(
        InputSize(relations.rows(i.relation), relations.changed_rows(i.relation, at, to))
        for at, i in zip(frontier, join.inputs, strict=True)
    )
    terms = [forward_term(frontier, k, to) for k, i in enumerate(read) if i.changed]
    core = core_of(join)
    few = core is not None and all(fetchable(relations, core, term) for term in terms)
    return JoinSize(read, few)


def _recompute(
    relations: Relations,
    view: ViewRow,
    to: Csn,
    reason: str,
    progress: Progress,
    details: dict[str, Any] | None = None,
) -> RefreshReport:
    mark = high_water_mark(applying.face(relations.ledger, view.name).frontier)
    if to < mark:
        raise RefreshError(
            f'view "{view.name}" cannot be recomputed at {to}',
            f"its view delta reaches {mark} already",
            f"roll it there without full, or recompute at {mark} or later",
        )
    check_reach(relations, view.definition, to)
    _upstream(relations, view, to)
    relations.ledger.begin("build", view.name, {"at": to})
    _build(relations, view, to, progress)
    rows = applying.face(relations.ledger, view.name).rows
    return RefreshReport(view.name, FULL, reason, to, 0, rows, details=details or {})


def check_going(relations: Relations, definition: Definition) -> None:
    """Raise if a source table that the view reads has stopped: it has changes that nobody could capture."""
    for block in definition.blocks:
        for i in inputs(block):
            table = relations.base(i.relation)
            upstream = None if table is not None else relations.ledger.view(i.relation)
            if table is not None and table.stopped is not None:
                raise stopped_problem(table)
            if upstream is not None:
                check_going(relations, upstream.definition)


def check_reach(relations: Relations, definition: Definition, to: Csn) -> None:
    """Raise if a source table cannot be read as of `to` with the columns that the view reads."""
    check_going(relations, definition)
    for number, block in enumerate(definition.blocks):
        row = relations.ledger.block(definition.block_name(number))
        for k, i in enumerate(inputs(block)):
            table = relations.base(i.relation)
            if table is not None:
                start = Csn(max(table.base_csn, row.frontier[k])) if row else to
                problem = relations.reach(i.relation, i.columns, start, to).problem
                if problem is not None:
                    raise problem


def _upstream(relations: Relations, view: ViewRow, to: Csn) -> None:
    """Views that this one reads come first, as far as `to`."""
    for block in view.definition.blocks:
        for i in inputs(block):
            upstream = relations.ledger.view(i.relation)
            if upstream is not None:
                done = propagate(relations, upstream.definition, to, upstream.options)
                if done.problem is not None:
                    raise done.problem


def resume_build(relations: Relations, view: ViewRow, to: Csn, progress: Progress) -> RefreshReport:
    """Finish a build that was begun, as of its own CSN, then go on to `to`."""
    begun = [i for i in relations.ledger.intents("build") if i.subject == view.name]
    mark = high_water_mark(applying.face(relations.ledger, view.name).frontier)
    recorded = begun[0].payload["at"]
    at = Csn(int(recorded)) if recorded is not None else Csn(max(to, mark))
    _upstream(relations, view, at)
    _build(relations, view, at, progress)
    ready = relations.ledger.view(view.name)
    assert ready is not None, "the view was just built"
    if to > at:
        return _incremental(relations, ready, to, {"built_at": at})
    return RefreshReport(view.name, FULL, "the view was being built", at, 0,
                         applying.face(relations.ledger, view.name).rows)  # fmt: skip


def _build(relations: Relations, view: ViewRow, at: Csn, progress: Progress) -> None:
    """Build at `at`; a build that failed there is tried again at a later time, where it may succeed."""
    try:
        build(relations, view.definition, at, view.options, progress)
    except RollviewError:
        with relations.ledger.atomic():
            for intent in relations.ledger.intents("build"):
                if intent.subject == view.name:
                    relations.ledger.end(intent.id)
            relations.ledger.begin("build", view.name, {"at": None})
        raise
