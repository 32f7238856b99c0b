"""`make bench-compare`: what changed between the saved results and those of a commit."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from bench import results

TIE = 1.15
"""Medians closer than this are a tie on a machine with other work to do."""


def shown(commit: str) -> Group:
    """A table for each benchmark with what got faster or slower."""
    parts: list[Any] = []
    for file in sorted(results.KEPT.glob("*.json")):
        table = Table("cell", "measured", "before s", "now s", "now / before", title=file.stem)
        before = {results.key(c): c for c in committed(file.name, commit)}
        for cell in results.read(file):
            then = dict(medians(before.get(results.key(cell), {})))
            for name, now in medians(cell):
                if name in then and max(now, then[name]) > TIE * min(now, then[name]):
                    told = ", ".join(f"{v:,}" if isinstance(v, int) and not isinstance(v, bool) else f"{k} {v}"
                                     for k, v in results.key(cell) if v is not False)  # fmt: skip
                    table.add_row(
                        told, name, f"{then[name]:.3f}", f"{now:.3f}", f"{now / then[name]:.2f}"
                    )
        parts.append(
            table
            if table.row_count
            else Text(f"{file.stem}: no median differs by more than {TIE - 1:.0%}")
        )
    return Group(*parts)


def committed(name: str, commit: str) -> list[results.Cell]:
    """The cells of a file of results in a commit; none if it was not there."""
    done = subprocess.run(["git", "show", f"{commit}:bench/results/{name}"],
                          cwd=results.KEPT.parent, capture_output=True, text=True, check=False)  # fmt: skip
    return json.loads(done.stdout)["cells"] if done.returncode == 0 else []


def medians(found: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Every median in a cell with its path of names."""
    if isinstance(found, dict):
        if "median" in found:
            yield name, found["median"]
        for key, value in found.items():
            yield from medians(value, f"{name} {key}".strip())
