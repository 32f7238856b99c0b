"""What the history of a view tells of the machine: how far its work was from the cost model's constants.

C1  A refresh keeps both estimates by the constants (`by_constants`), a fold its own: a later one learns from them.
C2  A fold is due when the readers have paid as much as it costs: one read of the whole is assumed a step, since
    nobody tells how often a view is read.
"""

from __future__ import annotations

from dataclasses import dataclass

from rollview.calculus.cost import LEARN_FROM, Learned, fold_seconds, learned, paid_by_readers
from rollview.changes import Csn
from rollview.ledger.store import BlockRow, Ledger

FOLD = "FOLD"
"""What the history calls a fold."""
FULL = "COMPLETE_RECOMPUTE"
_NOTHING = "NO_OP"


def learned_from(ledger: Ledger, name: str) -> Learned:
    """What the view's own refreshes and folds tell of this machine."""
    kinds = {FULL: "full", FOLD: "fold"}
    seen = []
    for r in ledger.history(name, LEARN_FROM):
        if r.state == "ok" and r.technique != _NOTHING and "by_constants" in r.details:
            kind = kinds.get(r.technique, "incremental")
            seen.append((kind, r.details["by_constants"][kind], r.seconds))
    return learned(seen)


@dataclass(frozen=True, slots=True)
class Folding:
    """The pending steps of a block, what readers have paid for them, and what a fold costs, in seconds."""

    block: str
    steps: int
    rows: int
    paid: float
    cost: float

    @property
    def due(self) -> bool:
        """A fold pays (C2)."""
        return self.paid >= self.cost


def folding(ledger: Ledger, block: BlockRow, factors: Learned) -> Folding:
    """How far a block is from its next fold."""
    pending = ledger.steps(block.name, min(block.fold_times, default=Csn(0)), None)
    sizes = [step.rows for step in pending]
    cost = fold_seconds(block.rows) * factors.fold
    return Folding(block.name, len(sizes), sum(sizes), paid_by_readers(sizes, block.rows), cost)
