"""A round: several views brought to one time, side by side.

U1  A view comes after the views that it reads. Views of one level share nothing but what they read, and run side by
    side: while one waits for the driver, another uses the cores.
U2  A view's failure is its own: the others go on.
U3  A view with a `target_lag` waits for more changes as long as it is not late: one refresh then does the work of many.
U4  What several views of a level make of the changes by the same joins is made once (calculus/sharing.py).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime

from rollview.build import Progress
from rollview.calculus.sharing import Columns, Core, shared
from rollview.changes import Csn
from rollview.config import seconds_of
from rollview.errors import RollviewError
from rollview.ledger.learning import learned_from
from rollview.ledger.steady import SteadyLedger
from rollview.ledger.store import ViewRow
from rollview.refresh import RefreshReport, estimated, refresh_view
from rollview.spark.products import Products
from rollview.spark.relations import Relations
from rollview.views.blocks import Fixpoint, Join, inputs, joins

SIDE_BY_SIDE = max(2, min(8, os.cpu_count() or 2))
"""Views at a time; each takes about as much of one core in the driver as in its tasks."""

Outcome = RefreshReport | RollviewError


def refresh_views(
    relations: Relations, rows: Sequence[ViewRow], to: Csn, full: bool, progress: Progress
) -> dict[str, Outcome]:
    """Bring every view to `to`; what became of each (U2)."""

    def one(row: ViewRow) -> Outcome:
        try:
            return refresh_view(relations, row, to, full, progress)
        except RollviewError as failure:
            return failure

    done: dict[str, Outcome] = {}
    known = SteadyLedger(relations.ledger)  # nothing is captured now
    for level in levels(rows):
        names = [row.name for row in level]
        relations = replace(relations, ledger=known.owning(names))
        products = Products(steady(relations, level, shared(joins_of(level))))
        several = products if len(level) > 1 else None
        relations = replace(relations, products=several)
        try:
            with ThreadPoolExecutor(min(SIDE_BY_SIDE, len(level)), "rollview") as threads:
                done |= zip(names, threads.map(one, level), strict=True)
        finally:
            products.clear()
    return done


def steady(
    relations: Relations, level: Sequence[ViewRow], cores: Mapping[Core, Columns]
) -> dict[Core, Columns]:
    """The cores of tables that have kept their columns since the view that stands furthest back stood there.

    A view that a schema change stopped would else ask others for a column that is gone.
    """
    ledger = relations.ledger
    frontiers = (at for row in level for block in ledger.blocks(row.name) for at in block.frontier)
    since = min(frontiers, default=Csn(0))

    def kept(name: str) -> bool:
        return all(epoch.csn < since for epoch in ledger.schema_epochs(name)[1:])

    return {core: columns for core, columns in cores.items() if all(map(kept, core.relations))}


def joins_of(rows: Sequence[ViewRow]) -> list[Join]:
    """The joins whose terms may share a product (U4): all but those of recursions."""
    blocks = (block for row in rows for block in row.definition.blocks)
    return [join for block in blocks if not isinstance(block, Fixpoint) for join in joins(block)]


def may_wait(relations: Relations, view: ViewRow, to: Csn, until: datetime) -> bool:
    """Whether a refresh that starts at `until` would still end within the view's `target_lag` (U3)."""
    if "target_lag" not in view.options or view.state != "ready" or view.view_time is None:
        return False
    oldest = relations.ledger.committed_at(Csn(view.view_time + 1))
    if oldest is None:
        return False
    costs = learned_from(relations.ledger, view.name).applied(estimated(relations, view, to))
    lag = (until - oldest).total_seconds() + min(costs.incremental, costs.full)
    return lag < seconds_of(view.options["target_lag"], "target_lag")


def levels(rows: Sequence[ViewRow]) -> list[list[ViewRow]]:
    """The views in levels, each view above those that it reads (U1)."""
    by_name, found = {row.name: row for row in rows}, dict[str, int]()

    def level(row: ViewRow) -> int:
        if row.name not in found:
            read = {i.relation for block in row.definition.blocks for i in inputs(block)}
            below = [level(by_name[name]) for name in read if name in by_name]
            found[row.name] = 1 + max(below, default=-1)
        return found[row.name]

    ordered: dict[int, list[ViewRow]] = {}
    for row in by_name.values():
        ordered.setdefault(level(row), []).append(row)
    return [ordered[number] for number in sorted(ordered)]
