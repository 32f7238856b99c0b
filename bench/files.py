"""Generated tables under build/bench: made once, then copied by links.

D1  A lake's history is made once and kept: the tables, and batch after batch of commits. A working copy starts with
    the first contents; `Copy.reveal` lets the next batch appear, as if another writer had just committed it.
D2  Data files are never changed in place, by Delta Lake or by rollview, so that links to them are as good as copies;
    the files of a Delta Lake log are copied.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

CACHE = Path(__file__).resolve().parent.parent / "build" / "bench"
LOG = "_delta_log"
LAST = "_last_checkpoint"

MADE: list[float] = []
"""Seconds that were spent on tables, which the next run finds."""

Marks = list[dict[str, int]]
"""For the first contents and after each batch: the newest version of each table."""


def cached(name: str, make: Callable[[Path], Marks]) -> Path:
    """The folder of that name in the cache, made if it is not there; a half-made one is made anew."""
    folder = CACHE / name
    if not (folder / "marks.json").exists():
        began = time.perf_counter()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        marks = make(folder)
        (folder / "marks.json").write_text(json.dumps(marks))
        MADE.append(time.perf_counter() - began)
    return folder


def versions(lake: Path) -> dict[str, int]:
    """The newest version of each table of a lake."""
    return {
        table.name: max(int(f.stem) for f in (table / LOG).glob("*.json"))
        for table in sorted(lake.iterdir())
        if (table / LOG).is_dir()
    }


def linked(source: Path, target: Path) -> Path:
    """A working copy of a folder of tables: links to the data, copies of everything else (D2)."""

    def copy(one: str, other: str) -> str:
        data = one.endswith((".parquet", ".bin")) and LOG not in one
        (os.link if data else shutil.copy2)(one, other)
        return other

    return Path(shutil.copytree(source, target, copy_function=copy))


class Copy:
    """A working copy of a lake that shows one batch of commits after the other (D1)."""

    def __init__(self, source: Path, target: Path) -> None:
        self.source, self.path = source, target
        self.marks: Marks = json.loads((source / "marks.json").read_text())
        self.shown = -1
        for table in self.marks[0]:
            linked(source / table, target / table)
            log = target / table / LOG
            shutil.rmtree(log)
            log.mkdir()
        self.reveal()

    @property
    def left(self) -> int:
        """How many batches are still to come."""
        return len(self.marks) - 1 - self.shown

    def reveal(self) -> None:
        """Let the next batch appear: its checkpoint files first, then its commits in order."""
        before = self.marks[self.shown] if self.shown >= 0 else {}
        self.shown += 1
        for table, newest in self.marks[self.shown].items():
            oldest = before.get(table, -1)
            new = [f for f in (self.source / table / LOG).iterdir() if _version(f) is not None
                   and oldest < (_version(f) or 0) <= newest]  # fmt: skip
            for file in sorted(new, key=lambda f: (f.suffix == ".json", f.name)):
                shutil.copy(file, self.path / table / LOG / file.name)


def _version(file: Path) -> int | None:
    """The version that a file of a log belongs to."""
    first = file.name.split(".")[0]
    return int(first) if first.isdigit() else None


def only_newest(table: Path) -> None:
    """Delete the data files of a table that its newest commit, an overwrite, replaced."""
    newest = max((table / LOG).glob("*.json"))
    actions: Sequence[dict[str, Any]] = [
        json.loads(line) for line in newest.read_text().splitlines()
    ]
    kept = {action["add"]["path"] for action in actions if "add" in action}
    for file in table.glob("*.parquet"):
        if file.name not in kept:
            file.unlink()


def size_of(folder: Path) -> tuple[int, int]:
    """Files below a folder, and their bytes."""
    sizes = [f.stat().st_size for f in folder.rglob("*") if f.is_file()]
    return len(sizes), sum(sizes)
