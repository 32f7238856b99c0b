"""What the history of a view tells of the machine: how far its work was from the cost model's constants.

C1  A refresh keeps both estimates by the constants (`by_constants`), a fold its own: a later one learns from them.
C2  A fold is due when the readers have paid as much as it costs: one read of the whole is assumed a step, since
    nobody tells how often a view is read.
C3  What folds replace stays for a grace time, for readers who pinned it. A fold waits where that is MOST_REPLACED times
    what is stored already: so the disk that a view takes is bounded, however often it changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from rollview.calculus.cost import LEARN_FROM, Learned, fold_seconds, learned, paid_by_readers
from rollview.changes import Csn
from rollview.ledger.store import BlockRow, Ledger

FOLD = "FOLD"
"""What the history calls a fold."""
FULL = "COMPLETE_RECOMPUTE"
_NOTHING = "NO_OP"
GRACE_SECONDS = 24 * 3600.0
"""How long files stay that only a reader who pinned them earlier may still read."""
MOST_REPLACED = 10
SPARED_BYTES = 256 * 2**20
"""So much is not worth waiting for."""


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
    """The pending steps of a block, what readers have paid for them, and what a fold costs, in seconds.

    `replaced`: the bytes that earlier folds of the view left for readers; `room`: how many there may be.
    """

    block: str
    steps: int
    rows: int
    paid: float
    cost: float
    replaced: int
    room: int

    @property
    def due(self) -> bool:
        """A fold pays (C2), and has room (C3)."""
        return self.paid >= self.cost and not self.waits

    @property
    def waits(self) -> bool:
        """A fold has no room (C3)."""
        return self.replaced > self.room


def folding(ledger: Ledger, block: BlockRow, factors: Learned) -> Folding:
    """How far a block is from its next fold."""
    pending = ledger.steps(block.name, min(block.fold_times, default=Csn(0)), None)
    sizes = [step.rows for step in pending]
    cost = fold_seconds(block.rows) * factors.fold
    since = datetime.now(timezone.utc) - timedelta(seconds=GRACE_SECONDS)
    replaced = ledger.bytes_of(block.view or block.name, FOLD, since)
    room = max(SPARED_BYTES, MOST_REPLACED * block.bytes)
    paid = paid_by_readers(sizes, block.rows)
    return Folding(block.name, len(sizes), sum(sizes), paid, cost, replaced, room)
