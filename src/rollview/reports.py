"""What the warehouse answers: plain data that both faces print.

The reports of the processes themselves (capture, propagate, refresh, fold, verify, explain) are in their modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rollview.changes import Csn


@dataclass(frozen=True, slots=True)
class SourceReport:
    """A source and the tables that were registered now."""

    name: str
    kind: str
    tables: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ApplyReport:
    """A view that was rolled from one time to another."""

    view: str
    before: Csn | None
    view_time: Csn


@dataclass(frozen=True, slots=True)
class ViewStatus:
    """Where a view stands. `lag` counts transactions, `lag_seconds` is the age of the oldest one not shown."""

    name: str
    state: str
    reason: str
    view_time: Csn | None
    view_time_at: datetime | None
    high_water_mark: Csn
    oldest: Csn
    newest: Csn
    frontier: Mapping[str, Csn]
    policy: str
    lag: int
    lag_seconds: float
    rows: int
    pending_steps: int
    pending_rows: int
    fold_time: Csn
    resolution: str = ""
