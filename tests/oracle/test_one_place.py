"""Many small tables joined in one place: one Spark job for a step over all of them, and the right rows."""

from __future__ import annotations

import pytest
from oracle.lake import Lake
from oracle.oracles import Oracles

import rollview
from rollview.spark import evaluate

pytestmark = pytest.mark.spark

TABLES = 3
CHAIN = "SELECT t1.a, t3.b FROM lake.r1 t1 " + " ".join(
    f"JOIN lake.r{n} t{n} ON t{n - 1}.b = t{n}.a" for n in range(2, TABLES + 1)
)
VIEWS = {
    "chain": CHAIN,
    # Written in an order in which neighbours are apart, with a condition that is no equality.
    "apart": "SELECT t1.a, t2.a AS c, t3.b FROM lake.r1 t1, lake.r3 t3, lake.r2 t2 "
    "WHERE t2.b = t3.a AND t1.b = t2.a AND t1.a <= t3.b",
}


@pytest.mark.slow
def test_a_step_over_many_small_tables_is_one_job(spark, tmp_path, monkeypatch):
    lake = Lake(spark, tmp_path / "lake")
    for n in range(1, TABLES + 1):
        rows = [(k % 7, (k * n) % 7) for k in range(20)] + [(None, 1), (1, None)]
        lake.create(f"r{n}", "a INT, b INT", rows)
    with rollview.open(tmp_path / "wh", spark=spark) as warehouse:
        warehouse.add_source("lake", delta=str(lake.folder))
        lake.registered()
        for name, sql in VIEWS.items():
            warehouse.create(name, sql, policy="incremental")
        oracles = Oracles(lake, VIEWS)
        counts = []
        for turn in range(3):
            for n in range(1, TABLES + 1):
                lake.insert(f"r{n}", [(turn, n % 7), (None, turn)])
            lake.delete(f"r{1 + turn}", a=turn + 2)
            if turn == 2:  # the same by broadcasts
                monkeypatch.setattr(evaluate, "MANY_LEAVES", 100)
            counts.append([warehouse.refresh(name).jobs for name in VIEWS])
            oracles.hold(warehouse, [(v, t) for v in VIEWS for t in (lake.csn - 3, lake.csn)])
    assert counts[1] == [1, 1]
    assert all(jobs > 2 for jobs in counts[2]), "a broadcast each: this test would not notice"
