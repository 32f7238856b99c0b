"""A round: several views brought to one time, side by side.

U1  A view comes after the views that it reads. Views of one level share nothing but what they read, and run side by
    side: while one waits for the driver, another uses the cores.
U2  A view's failure is its own: the others go on.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from rollview.build import Progress
from rollview.changes import Csn
from rollview.errors import RollviewError
from rollview.ledger.store import ViewRow
from rollview.refresh import RefreshReport, refresh_view
from rollview.spark.relations import Relations
from rollview.views.blocks import inputs

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
    for level in levels(rows):
        names = [row.name for row in level]
        if len(level) == 1:
            done[names[0]] = one(level[0])
            continue
        with ThreadPoolExecutor(min(SIDE_BY_SIDE, len(level)), "rollview") as threads:
            done |= zip(names, threads.map(one, level), strict=True)
    return done


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
