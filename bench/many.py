"""100 views over one star, refreshed in one round, against the refresh of one of them.

The views differ in filters, columns and groups: half are select-joins, half are aggregates. A round is one call that
brings all of them to one time; the one view is in a warehouse of its own and sees the same batches.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rollview
from bench import baseline, files, star
from bench.measure import Runner, Samples, fingerprint
from bench.star import Batch

JOINED = """FROM lake.sales s JOIN lake.customer c ON s.cust_id = c.cust_id
JOIN lake.product p ON s.prod_id = p.prod_id"""


def view(number: int) -> tuple[str, str]:
    """Name and query of one of the views."""
    kind, k = ("rows", number // 2) if number % 2 == 0 else ("sums", number // 2)
    if kind == "rows":
        return f"rows_{k}", (f"SELECT s.sale_id, s.amount, c.state, p.category, p.price {JOINED} "
                             f"WHERE p.category = {k % star.CATEGORIES} AND c.state >= {k % 5}")  # fmt: skip
    group = ("c.state", "c.segment", "p.category")[k % 3]
    return f"sums_{k}", (f"SELECT {group}, COUNT(*) AS n, SUM(s.amount) AS total {JOINED} "
                         f"WHERE p.price >= {1000 * k} GROUP BY {group}")  # fmt: skip


def measured(
    runner: Runner, work: Path, rows: int = 1_000_000, views: int = 100, rounds: int = 5
) -> list[dict[str, Any]]:
    """The round and the one view, alternating."""
    spark = runner.spark
    plan = [Batch(1_000)] * (1 + rounds)
    lake = files.Copy(star.history(spark, rows, False, plan), work / "lake")
    queries = dict(view(n) for n in range(views))
    # The reference is a select-join and an aggregate, each alone: the round has half of either.
    alone = [view(0), view(1)]
    one, every = rollview.open(work / "one", spark), rollview.open(work / "every", spark)
    for warehouse, wanted in ((one, dict(alone)), (every, queries)):
        warehouse.add_source("lake", delta=lake.path)
        for name, sql in wanted.items():
            warehouse.create(name, sql, policy="incremental")
    samples = {name: Samples() for name in ("round", *dict(alone))}
    for number in range(1 + rounds):
        lake.reveal()
        variants = {"round": every.refresh, **{n: lambda n=n: one.refresh(n) for n, _ in alone}}
        for name, run in runner.round(number, variants).items():
            if number:
                samples[name].runs.append(run)
    for name in list(queries)[:: max(1, views // 10)]:
        want = fingerprint(baseline.recomputed(spark, lake.path, queries[name]))
        if fingerprint(every.table(name)) != want:
            raise SystemExit(f"view {name} of the round is wrong")
    one.close()
    every.close()
    first, second = (samples[name].summary() for name, _ in alone)
    return [
        {"rows": rows, "changes": 1_000, "views": views, "round": samples["round"].summary(),
         "select_join": first, "aggregate": second}
    ]  # fmt: skip
