"""What a warehouse has stored, read without rollview and without Spark: is a count anywhere below zero?

Folded rows are found in the log of their Delta Lake table, steps in the ledger; DuckDB adds the counts of each key up,
transaction by transaction from the fold time to the high-water mark, for hidden blocks as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb

from rollview.calculus.queries import kept_keys
from rollview.calculus.rolling import high_water_mark
from rollview.changes import COUNT, STAMP
from rollview.views.blocks import Reduce


def below_zero(warehouse: Any) -> dict[str, str]:
    """Blocks with a count below zero at some time, and which."""
    wrong = {}
    for view in warehouse.ledger.views():
        for number, block in enumerate(view.definition.blocks):
            name = view.definition.block_name(number)
            row = warehouse.ledger.block(name)
            (since,) = set(row.fold_times)  # buckets that were folded apart are not looked at here
            mark = high_water_mark(row.frontier)
            files, names = folded_files(warehouse.path / row.folder / "folded", row.folded_version)
            steps = [
                str(file)
                for step in warehouse.ledger.steps(name, since, mark)
                for file in sorted((warehouse.path / step.folder).glob("*.parquet"))
            ]
            keys = {k.name: names.get(k.name, k.name) for k in kept_keys(block)}
            counted = names.get(COUNT, COUNT) if isinstance(block, Reduce) else None
            found = lowest(files, steps, keys, counted, (since, mark))
            if found:
                wrong[name] = f"counts below zero (key, stamp, count): {found}"
    return wrong


def lowest(
    folded: Sequence[str],
    steps: Sequence[str],
    keys: Mapping[str, str],
    counted: str | None,
    span: tuple[int, int],
) -> list[tuple[Any, ...]]:
    """Keys, stamps and counts where a count is below zero; `keys` have other names in the folded files.

    `counted`: the column in which folded rows have counts, if they do. `span`: the fold time and the mark.
    """
    parts = []
    if folded:
        own = "".join(f"{_quoted(stored)} AS {_quoted(key)}, " for key, stored in keys.items())
        count = _quoted(counted) if counted else "1"
        parts.append(
            f"SELECT {own}{count} AS _rvt_n, {span[0]} AS _rvt_at FROM read_parquet({list(folded)})"
        )
    if steps:
        own = "".join(f"{_quoted(key)}, " for key in keys)
        parts.append(
            f"SELECT {own}{COUNT} AS _rvt_n, {STAMP} AS _rvt_at FROM read_parquet({list(steps)})"
            f" WHERE {STAMP} > {span[0]} AND {STAMP} <= {span[1]}"
        )
    if not parts:
        return []
    listed = "".join(f"{_quoted(key)}, " for key in keys)
    by = f"PARTITION BY {listed[:-2]} " if keys else ""
    sums = f"SELECT {listed}_rvt_at, SUM(_rvt_n) AS _rvt_n FROM ({' UNION ALL '.join(parts)}) GROUP BY ALL"
    running = (
        f"SELECT {listed}_rvt_at, SUM(_rvt_n) OVER ({by}ORDER BY _rvt_at) AS _rvt_n FROM ({sums})"
    )
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        return connection.execute(f"SELECT * FROM ({running}) WHERE _rvt_n < 0 LIMIT 3").fetchall()


def folded_files(folder: Path, version: int) -> tuple[list[str], dict[str, str]]:
    """The files of a version of a small Delta Lake table, and the names of columns in them where they differ."""
    files: dict[str, None] = {}
    names: dict[str, str] = {}
    for number in range(version + 1):
        text = (folder / "_delta_log" / f"{number:020d}.json").read_text(encoding="utf-8")
        actions = [json.loads(line) for line in text.splitlines()]
        for action in actions:
            if "remove" in action:
                files.pop(action["remove"]["path"], None)
            elif "metaData" in action:
                fields = json.loads(action["metaData"]["schemaString"])["fields"]
                physical = "delta.columnMapping.physicalName"
                names = {f["name"]: f["metadata"].get(physical, f["name"]) for f in fields}
        for action in actions:
            if "add" in action:
                assert not action["add"].get("deletionVector"), "folded rows are written whole"
                files[action["add"]["path"]] = None
    return [str(folder / unquote(path)) for path in files], names


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
