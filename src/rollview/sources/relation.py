"""The one Protocol behind which everything that can be read lives: source tables, views, blocks, replicas.

P1  changes(lo, hi) is a timed delta for oldest <= lo <= hi <= mark: state(s) + changes(s, t] = state(t).
P2  at(t) is the relation exactly as of t, as a bag whose counts may be signed (a patched read); its net effect
    never has a negative count.
    parts(t) are frames whose union is at(t): what is large by itself, then what patches it.
P3  exact(t) is the same as plain rows: duplicates repeated, no counts.
P4  Building either DataFrame runs no Spark job.
Planners know relations by these verbs only; where the rows lie is the relation's own matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pyspark.sql import DataFrame

from rollview.changes import Csn


class Relation(Protocol):
    """Something with a log of timed changes, readable at any time from `oldest` to `mark`."""

    @property
    def name(self) -> str:
        """Its name in generated SQL and messages."""

    @property
    def mark(self) -> Csn:
        """The log is complete for every time up to here."""

    @property
    def oldest(self) -> Csn:
        """The oldest time that can be read."""

    def changes(self, lo: Csn, hi: Csn, columns: Sequence[str]) -> DataFrame:
        """What changed in (lo, hi]: the columns, `_rv_stamp`, `_rv_count` (P1)."""

    def at(self, time: Csn, columns: Sequence[str]) -> DataFrame:
        """The relation as of `time`: the columns and `_rv_count` (P2)."""

    def parts(self, time: Csn, columns: Sequence[str]) -> tuple[DataFrame, ...]:
        """The relation as of `time` in parts (P2)."""

    def exact(self, time: Csn, columns: Sequence[str]) -> DataFrame:
        """The relation as of `time` as plain rows: the columns, duplicates repeated (P3)."""
