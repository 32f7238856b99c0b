"""Capture: source commits become rows of the timeline, in commit order, each exactly once.

K1  Every captured transaction gets the next CSN; each source's own order is kept, and different tables are
    merged by commit time.
K2  One ledger transaction adds the commits and moves the positions: nothing lost, nothing twice.
K3  What cannot be captured stops that table at its last good position, with the reason in the ledger; the
    other tables go on.
No Spark job runs here. Knows sources and the ledger; not what views make of it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from datetime import datetime

from rollview.changes import Csn
from rollview.errors import SourceError
from rollview.failpoints import Failpoint, failpoint
from rollview.ledger.store import BaseRelation, CapturedChange, Commit, Ledger, SchemaEpoch
from rollview.sources.delta_lake.capture import Captured, CaptureResult, new_commits


@dataclass(frozen=True, slots=True)
class CaptureReport:
    """What a round of capture found: the newest CSN, how many commits, and what stopped."""

    csn: Csn
    commits: int
    problems: tuple[SourceError, ...] = ()


def capture(ledger: Ledger) -> CaptureReport:
    """One round: everything that the sources committed since the last one."""
    found: list[tuple[BaseRelation, CaptureResult]] = []
    problems = []
    for relation in ledger.relations():
        result = new_commits(relation)
        if result.problem is not None:
            problems.append(result.problem)
        reason = str(result.problem) if result.problem else None
        if result.captured or reason != relation.stopped:
            found.append((replace(relation, stopped=reason), result))
    if not found:
        return CaptureReport(ledger.newest_csn(), 0, tuple(problems))
    failpoint(Failpoint.CAPTURE_BEFORE_COMMIT)
    with ledger.atomic():
        commits = _record(ledger, found)
    failpoint(Failpoint.CAPTURE_AFTER_COMMIT)
    return CaptureReport(ledger.newest_csn(), commits, tuple(problems))


def _record(ledger: Ledger, found: list[tuple[BaseRelation, CaptureResult]]) -> int:
    csn, commits = ledger.newest_csn(), 0
    current = {relation.name: relation for relation, _ in found}
    for name, captured in _merged(found):
        relation = current[name]
        if captured.columns is not None:
            ledger.add_schema_epoch(SchemaEpoch(name, captured.version, csn, captured.columns))
        if captured.data_changed:
            csn, commits = Csn(csn + 1), commits + 1
            ledger.add_commit(
                Commit(csn, relation.source, captured.version, None, captured.committed_at,
                       captured.operation),
                [_change(csn, name, captured)],
            )  # fmt: skip
        current[name] = replace(
            relation,
            position=captured.version,
            columns=captured.columns or relation.columns,
            properties=captured.properties or relation.properties,
            rows=max(0, relation.rows + captured.inserted - captured.deleted),
        )
    for relation, result in found:
        ledger.put_relation(_stop_remembered(current[relation.name], csn, result.problem))
    return commits


def _change(csn: Csn, name: str, captured: Captured) -> CapturedChange:
    """What the commit did; an estimate of no rows at all counts as one, since something did change."""
    inserted = max(captured.inserted, 0 if captured.deleted else 1)
    return CapturedChange(csn, name, captured.version, captured.committed_at, captured.operation,
                          inserted, captured.deleted, captured.files)  # fmt: skip


def _stop_remembered(relation: BaseRelation, csn: Csn, problem: SourceError | None) -> BaseRelation:
    """A table that has just stopped is known to be complete up to `csn`, and no further (K3)."""
    properties = {k: v for k, v in relation.properties.items() if not k.startswith("stopped_")}
    if problem is not None:
        properties["stopped_csn"] = relation.properties.get("stopped_csn", csn)
        properties["stopped_kind"] = type(problem).__name__
    return replace(relation, properties=properties)


def _merged(
    found: list[tuple[BaseRelation, CaptureResult]],
) -> list[tuple[str, Captured]]:
    """All commits by commit time, each table's own order kept (K1)."""
    lists = []
    for order, (relation, result) in enumerate(found):
        latest = datetime.min
        keyed = []
        for commit in result.captured:
            latest = max(latest, commit.committed_at.replace(tzinfo=None))
            keyed.append((latest, order, commit.version, relation.name, commit))
        lists.append(keyed)
    return [(name, commit) for *_, name, commit in heapq.merge(*lists, key=lambda k: k[:3])]
