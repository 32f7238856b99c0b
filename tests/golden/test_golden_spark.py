"""Golden cases on Spark: a handful, or all of them in shares, so that processes can share the work.

The cases of a share have one lake. Its history is what the files write for each table, and then random transactions.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from golden.case import Case, Schema, Transaction, all_cases
from golden.history import history
from golden.on_spark import OnSpark, viewed
from golden.test_golden import NOT_YET
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CASES = {case.name: case for case in all_cases() if not case.refused}
BUILT = {name: case for name, case in CASES.items() if name not in NOT_YET}
A_FEW = ("join_three", "left_join_extra", "not_in", "scalar_correlated_count", "except_all", "min_max",
         "count_distinct_two", "row_number", "top_n", "rollup", "recursive_closure", "view_on_view")  # fmt: skip
ROUNDS, SHARES = 4, 8


def written_history(cases: dict[str, Case], tables: Schema) -> list[Transaction]:
    """Per table the changes that some case has written for it, side by side."""
    longest = {
        table: max((c.commits for c in cases.values() if table in c.tables), key=len)
        for table in tables
    }
    length = max(map(len, longest.values()))
    return [
        {table: commits[n][table] for table, commits in longest.items() if n < len(commits) and table in commits[n]}
        for n in range(length)
    ]  # fmt: skip


def check(spark: SparkSession, folder: Path, cases: dict[str, Case], rounds: int) -> None:
    """All cases through the written history and a random one; what is wrong is reported by name."""
    seed = int(os.environ.get("ROLLVIEW_SEED", "1"))
    tables = {name: columns for case in cases.values() for name, columns in case.tables.items()}
    for case in cases.values():
        assert all(tables[name] == columns for name, columns in case.tables.items()), case.name
    place = OnSpark(spark, folder, tables, seed)
    first, *rest = written_history(cases, tables)
    place.commit(first)
    wrong = place.create(viewed(c.name, c.views, bool(c.spark_only)) for c in cases.values())
    # The random part starts from empty tables, which is one more transaction.
    emptied = {
        t: [(-1, row) for row in rows] for t, rows in present([first, *rest]).items() if rows
    }
    commits = [*rest, emptied, *history(Random(seed), tables, 2 * rounds)]
    share = -(-len(commits) // rounds)
    for n in range(rounds):
        for changes in commits[n * share : (n + 1) * share]:
            place.commit(changes)
        wrong |= place.refresh(last=n == rounds - 1)
    place.warehouse.close()
    assert not wrong, f"seed {seed}\n" + "\n\n".join(f"{k}: {v}" for k, v in sorted(wrong.items()))
    assert place.compared >= len(cases) * rounds


def present(commits: list[Transaction]) -> dict[str, list[tuple[object, ...]]]:
    """The rows of every table after transactions."""
    rows: dict[str, list[tuple[object, ...]]] = {}
    for changes in commits:
        for table, counted in changes.items():
            for count, row in counted:
                mine = rows.setdefault(table, [])
                mine.append(row) if count > 0 else mine.remove(row)
    return rows


@pytest.mark.slow
def test_a_few_cases(spark: SparkSession, tmp_path: Path) -> None:
    check(spark, tmp_path, {name: BUILT[name] for name in A_FEW if name in BUILT}, rounds=2)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("share", range(SHARES))
def test_every_case(spark: SparkSession, tmp_path: Path, share: int) -> None:
    check(spark, tmp_path, dict(list(BUILT.items())[share::SHARES]), ROUNDS)
