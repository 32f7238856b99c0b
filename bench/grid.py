"""The cells of the star: refresh against a full recompute and a hand-written MERGE, and what readers pay.

For each size of the star, with or without deletion vectors: batch after batch appears, and after each one every
variant brings its own copy of each view to now, in alternating order. At the end of a star the bags of all variants
are compared: a wrong answer that was fast raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench import baseline, files, star
from bench.kept import Kept, built
from bench.measure import Runner
from bench.star import Batch

SMALL = 1_000_000
WARM = 1
"""Rounds at the start of a cell that are not measured."""
READS = 9
"""Runs of each reader's query: they are short, and their medians are compared to some hundredths of a second."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of the grid: `rounds` of rollview, and `others` of them with recompute and MERGE."""

    rows: int
    changes: int
    customers: bool = False
    vectors: bool = False
    rounds: int = 5
    others: int = 5
    readers: bool = False

    @property
    def key(self) -> dict[str, Any]:
        """What names the cell."""
        return {k: v for k, v in asdict(self).items() if k not in ("rounds", "others", "readers")}


def standard(rows: int, vectors: bool) -> list[Cell]:
    """The cells of `make bench`: 1,000 changes in full, the others with fewer recomputes and MERGEs.

    The growth with the changes is seen on the smaller star; a batch of 100 or 10,000 costs the larger one as much.
    """
    usual = Cell(rows, 1_000, vectors=vectors, readers=not vectors)
    if vectors:
        return [replace(usual, others=3)]
    if rows <= SMALL:
        return [usual, *(Cell(rows, n, others=2) for n in (100, 10_000, 100_000))]
    customers = replace(usual, customers=True, others=3, readers=False)
    return [usual, customers, Cell(rows, 100_000, others=2)]


def whole(rows: int, vectors: bool) -> list[Cell]:
    """The cells of `make bench-large`: every size, with and without customers."""
    return [
        Cell(rows, n, customers, vectors, readers=n == 1_000 and not customers)
        for n in (1_000, 100, 10_000, 100_000)
        for customers in (False, True)
    ]


def measured(runner: Runner, work: Path, cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """The cells of one star (same rows, same deletion vectors), one after the other in one lake."""
    spark, first = runner.spark, cells[0]
    plan = [Batch(c.changes, c.customers) for c in cells for _ in range(WARM + c.rounds)]
    lake = files.Copy(star.history(spark, first.rows, first.vectors, plan), work / "lake")
    seconds = built(runner, work / "built", lake.path, star.VIEWS)
    kept = [Kept(spark, work, lake.path, view, sql, baseline.Merge) for view, sql in star.VIEWS.items()]  # fmt: skip
    found = []
    for cell in cells:
        for number in range(WARM + cell.rounds):
            lake.reveal()
            # After the first cell recompute and MERGE are warm, but for what customers make them do.
            cold = number < WARM and (cell is first or cell.customers)
            with_others = cold or number >= WARM + cell.rounds - cell.others
            for one in kept:
                one.round(runner, number, with_others, number >= WARM)
        for one in kept:
            if cell is cells[-1]:  # what went wrong in an earlier one would still be wrong
                one.check(cell)
            result = {**cell.key, "view": one.view, **one.summary(runner)}
            result["build_seconds"] = seconds[one.view]
            if cell.readers:
                result["readers"] = readers(runner, one)
            found.append(result)
    for one in kept:
        one.close()
    return found


LOOKUPS = {"select_join": "sale_id = 4242", "aggregate": "state = 7 AND category = 7"}
SUMS = {
    "select_join": "SELECT state, COUNT(*), SUM(amount), MAX(price) FROM v GROUP BY state",
    "aggregate": "SELECT state, SUM(n), SUM(total) FROM v GROUP BY state",
}


def readers(runner: Runner, one: Kept) -> dict[str, Any]:
    """Count, full aggregate and point lookup on the plain table and on the view: pending, then folded."""
    status: Any = one.incremental.status(one.view)
    plain = baseline.load(runner.spark, one.full).count()
    pending = _reading(runner, one)
    fold = runner.once(lambda: one.incremental.fold(one.view))
    return {
        "pending": pending,
        "pending_steps": status.pending_steps,
        "pending_share": round(status.pending_rows / plain, 5),
        "fold_seconds": round(fold.seconds, 3),
        "fold_jobs": fold.jobs,
        "folded": _reading(runner, one),
    }


def _reading(runner: Runner, one: Kept) -> dict[str, Any]:
    """Each query on both, alternating; what is read is planned anew each time, as a user's query is."""
    queries = {
        "count": "SELECT COUNT(*) FROM v",
        "aggregate": SUMS[one.view],
        "lookup": f"SELECT * FROM v WHERE {LOOKUPS[one.view]}",
    }
    found = {}
    for name, sql in queries.items():
        variants = {
            "plain": lambda q=sql: _asked(baseline.load(runner.spark, one.full), q),
            "view": lambda q=sql: _asked(one.incremental.table(one.view), q),
        }
        samples = runner.alternating(variants, READS, warm=2)
        found[name] = {variant: s.summary() for variant, s in samples.items()}
        plain, view = (samples[variant].runs[-1].result for variant in ("plain", "view"))
        if plain != view:
            raise SystemExit(f"{name} of {one.view}: the view says {view}, the table {plain}")
    return found


def _asked(rows: Any, sql: str) -> list[Any]:
    rows.createOrReplaceTempView("v")
    found = rows.sparkSession.sql(sql)
    return sorted(tuple(row[c] for c in sorted(found.columns)) for row in found.collect())
