"""Benchmarks: ratios in one run on one machine.

`python -m bench star --rows 1_000_000 --changes 1000 --quick` measures one cell; `all` is `make bench`. With --save the
results go to bench/results, else to build/bench/results; `report` writes docs/performance.md from the saved ones.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from bench import (
    chain,
    commits,
    files,
    grid,
    jdbc,
    many,
    postgresql,
    profile,
    results,
    shapes,
    start,
    tables,
)
from bench.measure import Runner, session

YES_NO = {"both": (False, True), "yes": (True,), "no": (False,)}
Found = list[dict[str, Any]]


def star(chosen: argparse.Namespace, runner: Runner, work: Path) -> Found:
    """The cells that were asked for, star after star."""
    found = []
    for rows in chosen.rows or [1_000_000, 10_000_000]:
        for vectors in YES_NO[chosen.vectors]:
            if vectors and chosen.benchmark == "all" and rows <= grid.SMALL:
                continue  # deletion vectors are what large tables have them for
            folder = work / f"{rows}-{vectors}"
            found += grid.measured(runner, folder, _cells(chosen, rows, vectors))
            results.write("star", found, chosen.save)  # a later star may not come to its end
            shutil.rmtree(folder)
    return found


def _cells(chosen: argparse.Namespace, rows: int, vectors: bool) -> list[grid.Cell]:
    if not chosen.changes:
        return (grid.whole if chosen.large else grid.standard)(rows, vectors)
    rounds, others = (3, 2) if chosen.quick else (5, chosen.others)
    return [grid.Cell(rows, n, customers, vectors, rounds, others, readers=not chosen.quick)
            for n in chosen.changes for customers in YES_NO[chosen.customers]]  # fmt: skip


def _chain(chosen: argparse.Namespace, runner: Runner, work: Path) -> Found:
    return chain.measured(runner, work, chain.QUICK if chosen.quick else chain.STANDARD)


def _many(chosen: argparse.Namespace, runner: Runner, work: Path) -> Found:
    return many.measured(runner, work, *((100_000, 20, 2) if chosen.quick else ()))


def _commits(chosen: argparse.Namespace, runner: Runner, work: Path) -> Found:
    return commits.measured(runner, work, *((60, 100_000) if chosen.quick else ()))


def _shapes(chosen: argparse.Namespace, runner: Runner, work: Path) -> Found:
    return shapes.measured(runner, work, *((100_000, 2) if chosen.quick else ()))


def _start(chosen: argparse.Namespace, runner: Runner, work: Path) -> Found:
    return start.measured(runner, work, *((2,) if chosen.quick else ()))


def _postgresql(chosen: argparse.Namespace, runner: Runner, work: Path) -> Found:
    rows = (chosen.rows or [10_000_000])[0]
    cells = [postgresql.Cell(n, 3, 2) for n in chosen.changes or ()]
    standard = postgresql.QUICK if chosen.quick else postgresql.STANDARD
    return postgresql.measured(
        runner, work, rows, tuple(cells) or standard, 5.0 if chosen.quick else 15.0
    )


def _profile(chosen: argparse.Namespace, runner: Runner, work: Path) -> Found:
    rows, changes = (chosen.rows or [1_000_000])[0], (chosen.changes or [1_000])[0]
    customers, vectors = chosen.customers == "yes", chosen.vectors == "yes"
    return profile.measured(runner, work, rows, changes, customers, vectors)


BENCHMARKS: dict[str, Callable[[argparse.Namespace, Runner, Path], Found]] = {
    "star": star,
    "chain": _chain,
    "many": _many,
    "commits": _commits,
    "shapes": _shapes,
    "start": _start,
    "profile": _profile,
    "postgresql": _postgresql,
}

ALL = [name for name in BENCHMARKS if name not in ("shapes", "postgresql")]
"""What `make bench` runs; a database of 10 million rows has a target of its own, and so have the other shapes."""


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    others = ["all", "report", "compare"]
    parser.add_argument("benchmark", choices=[*BENCHMARKS, *others])
    parser.add_argument(
        "--rows", type=int, nargs="+", help="sizes of the star, or of the sales in PostgreSQL"
    )
    parser.add_argument("--changes", type=int, nargs="+", help="changes in a batch")
    parser.add_argument("--customers", choices=YES_NO, default="no", help="1 %% customer updates")
    parser.add_argument("--vectors", choices=YES_NO, default="no", help="deletion vectors")
    parser.add_argument(
        "--others", type=int, default=5, help="of the rounds, those with recompute and MERGE"
    )
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    parser.add_argument("--large", action="store_true", help="every cell of the star")
    parser.add_argument("--save", action="store_true", help="write to bench/results")
    parser.add_argument("--against", default="HEAD", help="the commit that compare looks at")
    return parser.parse_args()


def main() -> None:
    """Run, print, write."""
    chosen, console = arguments(), Console(width=170)
    if chosen.benchmark == "compare":
        from bench import compare

        console.print(compare.shown(chosen.against))
        return
    if chosen.benchmark == "report":
        from bench import report

        report.write()
        return
    files.CACHE.mkdir(parents=True, exist_ok=True)
    names = list(ALL) if chosen.benchmark == "all" else [chosen.benchmark]
    runner = Runner(session([jdbc.driver()] if "postgresql" in names else []))
    for name in names:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(dir=files.CACHE) as folder:
            found = BENCHMARKS[name](chosen, runner, Path(folder))
        console.print(tables.TABLES[name](found))
        written = results.write(name, found, chosen.save)
        taken = time.perf_counter() - began
        made = f", of which {sum(files.MADE):.0f} s for tables that are kept" if files.MADE else ""
        files.MADE.clear()
        console.print(f"{name}: {taken:.0f} s{made}; written to {written.name}\n")


if __name__ == "__main__":
    main()
