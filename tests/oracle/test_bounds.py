"""What the driver needs does not grow with tables, views or changes: a small JVM is enough (docs/views.md).

Spark fails a job whose results are larger than `spark.driver.maxResultSize`, broadcasts included; the JVM fails when
its heap is full. Tables, view and changes here are each many times larger than either limit allows to hold.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = """
import sys
import rollview
from rollview.spark.session import make_session
heap, results, folder = sys.argv[1:]
spark = make_session({"spark.driver.memory": heap, "spark.driver.maxResultSize": results}, "local[2]")
def sales(first, last):
    # 200 bytes a row that no format makes smaller
    words = [f"sha2(concat(id, '{n}'), 512) AS w{n}" for n in range(2)]
    return spark.range(first, last).selectExpr("id", "id % 1000 AS cust", "id % 97 AS amount", *words)
def written(rows, name, mode="append"):
    path = f"{folder}/lake/{name}"
    rows.write.format("delta").mode(mode).option("delta.enableChangeDataFeed", "true").save(path)
written(sales(0, 2_000_000), "sales")
written(spark.range(1000).selectExpr("id AS cust", "concat('city ', id % 50) AS city"), "cust")
with rollview.open(f"{folder}/wh", spark) as warehouse:
    warehouse.add_source("lake", delta=f"{folder}/lake")
    warehouse.create("rows", "SELECT s.id, s.amount, s.w0, c.city FROM lake.sales s JOIN lake.cust c "
                     "ON s.cust = c.cust", policy="incremental")
    warehouse.create("sums", "SELECT c.city, COUNT(*) AS n, SUM(s.amount) AS total FROM lake.sales s "
                     "JOIN lake.cust c ON s.cust = c.cust GROUP BY c.city", policy="incremental")
    written(sales(2_000_000, 2_500_000), "sales")
    print([r.technique for r in warehouse.refresh()])
    print([tuple(warehouse.table("rows").selectExpr("COUNT(*)", "SUM(amount)").first()),
           tuple(warehouse.table("sums").selectExpr("SUM(n)", "SUM(total)").first())])
    if results == "4m":
        warehouse.fold("rows")
        print(warehouse.table("rows").count())
"""
ROWS, TOTAL = 2_500_000, sum(n % 97 for n in range(2_500_000))


def ran(heap: str, results: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", PROGRAM, heap, results, str(folder)]
    return subprocess.run(
        command, text=True, capture_output=True, env=environment, timeout=900, check=False
    )


def test_a_refresh_of_half_a_million_rows_in_a_small_driver(tmp_path: Path) -> None:
    done = ran("768m", "4m", tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == [
        "['APPEND_ONLY', 'GROUP_AGGREGATE']", f"[({ROWS}, {TOTAL}), ({ROWS}, {TOTAL})]", str(ROWS),
    ]  # fmt: skip


def test_sabotage_the_limit_is_felt(tmp_path: Path) -> None:
    """With a limit below what one small table takes, the same program fails."""
    done = ran("768m", "1k", tmp_path)
    assert done.returncode != 0 and "maxResultSize" in done.stderr
