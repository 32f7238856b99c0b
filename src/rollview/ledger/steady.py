"""The ledger while nothing is captured: what it says of sources and the timeline is read once.

L19  In a round only views and their blocks move. Everything that capture writes stands still, so that an answer about
     it serves every view and every step of the round; whoever needs a later one asks the ledger itself.
L20  A view that is refreshed in the round, with its blocks, is moved by one thread and through this ledger: its row
     is read once until it is written, at first together with those of the others. Inside a transaction every row is
     read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from sqlalchemy import Update

from rollview.changes import Csn
from rollview.ledger.rows import BaseRelation, CapturedChange, SchemaEpoch
from rollview.ledger.store import BlockRow, Ledger, ViewRow

T = TypeVar("T")
OWN = ("view", "block", "being_built")
"""What is asked about a view that is refreshed in the round (L20)."""


class SteadyLedger(Ledger):
    """A ledger for one round; it shares transactions with the one that it is made of (L19, L20).

    `own`: views that are refreshed, each by one thread, and their blocks.
    """

    def __init__(self, ledger: Ledger, own: Iterable[str] = ()) -> None:
        super().__init__(ledger._transactions, ledger.warehouse_id)
        self._said: dict[tuple[Any, ...], Any] = {}
        self._own = frozenset(own)
        self._blocks: dict[str, list[str]] = {}

    def owning(self, views: Iterable[str]) -> SteadyLedger:
        """The same for views that are refreshed side by side, and their blocks; what was read stays known."""
        wanted = frozenset(views)
        mine = [row for row in self.views() if row.name in wanted]
        blocks = [row for row in self.every_block() if row.view in wanted]
        begun = {intent.subject for intent in self.intents("build")}
        own = [*(row.name for row in mine), *(row.name for row in blocks)]
        other = SteadyLedger(self, own)
        other._said = {k: v for k, v in self._said.items() if k[0] not in OWN}
        other._said |= {("view", row.name): row for row in mine}
        other._said |= {("block", row.name): row for row in blocks}
        other._said |= {("being_built", row.name): row.name in begun for row in mine}
        other._said |= {("relation", name): None for name in own}  # what is a view is no table
        for row in sorted(blocks, key=lambda row: row.number):
            other._blocks.setdefault(row.view or "", []).append(row.name)
        return other

    def _once(self, ask: Callable[..., T], *about: object) -> T:
        key = (ask.__name__, *about)
        if key not in self._said:
            self._said[key] = ask(*about)
        found: T = self._said[key]
        return found

    def relation(self, name: str) -> BaseRelation | None:
        """The source table of that name."""
        return self._once(super().relation, name)

    def schema_epochs(self, relation: str) -> list[SchemaEpoch]:
        """The schemas that the table has had."""
        return list(self._once(super().schema_epochs, relation))

    def newest_csn(self) -> Csn:
        """The newest captured CSN."""
        return self._once(super().newest_csn)

    def changes_of(self, relation: str, lo: Csn, hi: Csn) -> list[CapturedChange]:
        """The changes of the table in (lo, hi]."""
        return list(self._once(super().changes_of, relation, lo, hi))

    def changed_rows(self, relation: str, lo: Csn, hi: Csn) -> int:
        """How many rows of the table changed in (lo, hi]."""
        return self._once(super().changed_rows, relation, lo, hi)

    def last_change(self, relation: str, at: Csn) -> CapturedChange | None:
        """The newest change of the table that is not later than `at`."""
        return self._once(super().last_change, relation, at)

    def view(self, name: str) -> ViewRow | None:
        """The view of that name."""
        return self._once(super().view, name) if self._settled(name) else super().view(name)

    def block(self, name: str) -> BlockRow | None:
        """The block of that name."""
        return self._once(super().block, name) if self._settled(name) else super().block(name)

    def being_built(self, view: str) -> bool:
        """Whether a build of the view had been left when its turn came: whoever asks goes on with it."""
        known = self._settled(view)
        return self._once(super().being_built, view) if known else super().being_built(view)

    def blocks(self, view: str) -> list[BlockRow]:
        """The blocks of the view, in order of number."""
        if not self._settled(view):
            return super().blocks(view)
        return [row for name in self._blocks[view] if (row := self.block(name)) is not None]

    def _settled(self, name: str) -> bool:
        return name in self._own and not self._transactions.open

    def _set(self, statement: Update, kind: str, name: str, given: dict[str, Any]) -> None:
        super()._set(statement, kind, name, given)
        self._said.pop((kind, name), None)
