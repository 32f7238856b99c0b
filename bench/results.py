"""Results as JSON: one file a benchmark, under bench/results if they are to be kept, else under build/bench."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench import files, machine

KEPT = Path(__file__).parent / "results"
NAMES = ("rows", "changes", "customers", "vectors", "view", "tables", "views", "case")
"""What names a cell; everything else was measured."""

Cell = dict[str, Any]


def key(cell: Cell) -> tuple[tuple[str, Any], ...]:
    """The name of a cell."""
    return tuple((name, cell[name]) for name in NAMES if name in cell)


def path(benchmark: str, kept: bool) -> Path:
    """Where the results of a benchmark are."""
    return (KEPT if kept else files.CACHE / "results") / f"{benchmark}.json"


def read(file: Path) -> list[Cell]:
    """The cells of a file; none if there is no file."""
    return json.loads(file.read_text())["cells"] if file.exists() else []


def write(benchmark: str, cells: list[Cell], kept: bool) -> Path:
    """Write cells; those of earlier runs that were not run now stay, each with its own day."""
    now = machine.described()
    file = path(benchmark, kept)
    known = {key(cell): cell for cell in read(file)}
    known.update({key(cell): {**cell, "at": now["at"]} for cell in cells})
    file.parent.mkdir(parents=True, exist_ok=True)
    ordered = sorted(known.values(), key=lambda c: [str(v).rjust(12) for _, v in key(c)])
    file.write_text(json.dumps({"machine": now, "cells": ordered}, indent=1) + "\n")
    return file
