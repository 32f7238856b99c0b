"""1,000 small commits in a row, each refreshed: do refreshes, files and disk stay bounded?

Each commit has 10 changes: 8 inserts, and an update and a delete of sales that the commit before inserted. Commits
are written straight as the Delta Lake protocol says (a change file, the new file, and the file of the commit before
written anew), since a thousand commits through Spark take longer than what is measured. After each refresh the view
is folded if that pays, as `rollview run` does.
"""

from __future__ import annotations

import json
import statistics
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import rollview
from bench import baseline, files, star
from bench.measure import Runner, fingerprint
from rollview.apply import folds_pay, forget, sweep, sweep_folded

WARM = 20
SCHEMA = pa.schema([("sale_id", pa.int64()), ("cust_id", pa.int64()), ("prod_id", pa.int64()),
                    ("amount", pa.decimal128(10, 2))])  # fmt: skip
Rows = list[tuple[int, int, int, Decimal]]


class Writer:
    """Commits to the sales of a star, without Spark."""

    def __init__(self, table: Path, first: int) -> None:
        self.table, self.next = table, first
        self.version = max(int(f.stem) for f in (table / files.LOG).glob("*.json"))
        self.last: tuple[str, Rows] | None = None

    def commit(self) -> None:
        """Eight inserts, an update and a delete."""
        added: Rows = [(n, n * 7919 % star.CUSTOMERS, n * 104_729 % star.PRODUCTS, Decimal(n % 1000))
                       for n in range(self.next, self.next + 8)]  # fmt: skip
        self.next += 8
        self.version += 1
        changed = [(*row, "insert") for row in added]
        actions: list[dict[str, Any]] = []
        if self.last is not None:
            name, rows = self.last
            gone, old, *rest = rows
            new = (*old[:3], old[3] + 1)
            changed += [(*gone, "delete"), (*old, "update_preimage"), (*new, "update_postimage")]
            actions.append(
                {"remove": {"path": name, "dataChange": True, "deletionTimestamp": _now()}}
            )
            actions.append(self._add(f"rest-{self.version:05d}.parquet", [new, *rest]))
        actions.append(self._add(f"new-{self.version:05d}.parquet", added))
        feed = f"_change_data/cdc-{self.version:05d}.parquet"
        (self.table / "_change_data").mkdir(exist_ok=True)
        size = _write(
            self.table / feed, changed, SCHEMA.append(pa.field("_change_type", pa.string()))
        )
        actions.append(
            {"cdc": {"path": feed, "partitionValues": {}, "size": size, "dataChange": False}}
        )
        actions.append(
            {"commitInfo": {"timestamp": _now(), "operation": "MERGE", "operationParameters": {}}}
        )
        self.last = (f"new-{self.version:05d}.parquet", added)
        log = self.table / files.LOG / f"{self.version:020d}.json"
        log.write_text("".join(json.dumps(action) + "\n" for action in actions))

    def _add(self, name: str, rows: Rows) -> dict[str, Any]:
        size = _write(self.table / name, rows, SCHEMA)
        return {"add": {"path": name, "partitionValues": {}, "size": size, "modificationTime": _now(),
                        "dataChange": True, "stats": json.dumps({"numRecords": len(rows)})}}  # fmt: skip


def _write(path: Path, rows: Rows | list[Any], schema: pa.Schema) -> int:
    values = zip(zip(*rows, strict=True), schema, strict=True)
    columns = [pa.array(column, field.type) for column, field in values]
    pq.write_table(pa.table(columns, schema=schema), path)
    return path.stat().st_size


def _now() -> int:
    return int(time.time() * 1000)


def measured(
    runner: Runner, work: Path, commits: int = 1_000, rows: int = 250_000
) -> list[dict[str, Any]]:
    """Both views; each has its own warehouse and sees every commit."""
    spark = runner.spark
    lake = files.Copy(star.history(spark, rows, False, []), work / "lake")
    writer = Writer(lake.path / "sales", 10 * rows)
    warehouses = {}
    for view, sql in star.VIEWS.items():
        warehouses[view] = rollview.open(work / view, spark)
        warehouses[view].add_source("lake", delta=lake.path)
        warehouses[view].create(view, sql, policy="incremental", keep="10 seconds")
    start = {view: files.size_of(work / view) for view in warehouses}
    seconds: dict[str, list[float]] = {view: [] for view in warehouses}
    folds: dict[str, list[float]] = {view: [] for view in warehouses}
    for number in range(WARM + commits):
        writer.commit()
        for view, warehouse in warehouses.items():
            # As in a user's process: no garbage is collected between them, and nothing is asked but the clock.
            began = time.perf_counter()
            warehouse.refresh(view)
            if number >= WARM:
                seconds[view].append(time.perf_counter() - began)
            if folds_pay(warehouse.ledger, view, warehouse.ledger.blocks(view)):
                began = time.perf_counter()
                warehouse.fold(view)
                folds[view].append(time.perf_counter() - began)
            else:
                warehouse.tidy(view)
    found = []
    for view, warehouse in warehouses.items():
        want = fingerprint(baseline.recomputed(spark, lake.path, star.VIEWS[view]))
        if fingerprint(warehouse.table(view)) != want:
            raise SystemExit(f"view {view} is wrong after {commits} commits")
        found.append({"rows": rows, "changes": 10, "view": view, "commits": commits,
                      **_summary(work / view, warehouse, seconds[view], folds[view], start[view])})  # fmt: skip
        warehouse.close()
    return found


def _summary(
    folder: Path, warehouse: Any, seconds: list[float], folds: list[float], start: tuple[int, int]
) -> dict[str, Any]:
    share = min(100, max(1, len(seconds) // 3))
    first, last = statistics.median(seconds[:share]), statistics.median(seconds[-share:])
    hundreds = [statistics.median(seconds[k : k + share]) for k in range(0, len(seconds), share)]
    number, size = files.size_of(folder)
    # What waits for its grace time is deleted now, to see what stays.
    for row in warehouse.ledger.views():
        forget(warehouse.relations, row)
    sweep(warehouse.ledger, warehouse.path, grace_seconds=0)
    for block in warehouse.ledger.every_block():
        sweep_folded(warehouse.path / block.folder / "folded", block.folded_version or 0, 0)
    swept, swept_size = files.size_of(folder)
    return {
        "first": round(first, 4), "last": round(last, 4), "ratio": round(last / first, 2),
        "course": [round(s, 4) for s in hundreds], "folds": len(folds),
        "fold_seconds": round(statistics.median(folds), 3) if folds else None,
        "fold_per_refresh": round(sum(folds) / len(seconds), 4),
        "files": [start[0], number, swept], "bytes": [start[1], size, swept_size],
    }  # fmt: skip
