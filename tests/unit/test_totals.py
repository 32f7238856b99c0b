"""Totals: bounds never too small, limits no smaller than needed (T1, T2), divisors that may be 0 (T3), footers."""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import Decimal as D
from pathlib import Path

import pyarrow as pa
import pytest
from duck import Duck
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from rollview.calculus.totals import Largest, bound, fits, limits, may_divide_by_zero
from rollview.spark.overflows import largest_values
from rollview.views.blocks import Reduce
from rollview.views.parse import parse_view

SCHEMA = {"lake.t": (("k", "int"), ("i", "int"), ("b", "bigint"), ("d", "decimal(10,2)"),
                     ("w", "decimal(38,0)"), ("e", "decimal(38,18)"), ("x", "double"))}  # fmt: skip
BIGINT = 2**63 - 1


@pytest.mark.parametrize(("shown", "expected"), [
    ("SUM(b)", [BIGINT, BIGINT]),
    ("SUM(i)", [BIGINT, BIGINT]),
    ("AVG(b)", [BIGINT, 10**38 - 1]),  # divides the exact total, however large
    ("AVG(b) + SUM(b)", [BIGINT, BIGINT]),
    ("SUM(d)", [BIGINT, 10**18 - 1]),
    ("SUM(w)", [BIGINT, 10**38 - 1]),
    ("SUM(e)", [BIGINT, 10**19 - 1, 10**19 - 1]),  # its integers and its fractions
    ("SUM(x)", [BIGINT, 10**22 - 1, BIGINT, BIGINT, BIGINT]),  # decimals; NaN and infinities, counted
    ("CAST(COUNT(b) AS SMALLINT)", [2**15 - 1]),
    ("TRY_CAST(COUNT(b) AS SMALLINT)", [BIGINT]),
    ("COUNT(*)", []),
    ("2 * SUM(b)", [BIGINT, BIGINT // 2]),
    ("SUM(b) + COUNT(b)", [BIGINT // 2, BIGINT // 2]),
    ("SUM(b) * SUM(b)", [BIGINT, math.isqrt(BIGINT)]),
    ("CAST(SUM(b) AS INT) + 1", [BIGINT, (2**31 - 1) // 2]),
    ("CASE WHEN SUM(b) * 2 > 5 THEN 1 END", [BIGINT, BIGINT // 2]),
])  # fmt: skip
def test_t2_the_narrowest_type_is_the_limit(shown: str, expected: list[int]):
    block = reduce_of(f"SELECT k, {shown} AS s FROM lake.t GROUP BY k")
    assert sorted(limits(block).values()) == sorted(expected)


def test_t2_a_sum_that_only_having_shows_has_its_limit_too():
    block = reduce_of("SELECT k, AVG(b) AS a FROM lake.t GROUP BY k HAVING SUM(b) > 0")
    assert set(limits(block).values()) == {BIGINT}


@pytest.mark.parametrize(("shown", "may"), [
    ("SUM(i) / COUNT(*)", False),
    ("AVG(b)", False),
    ("SUM(i) / 2", False),
    ("SUM(i) / NULLIF(SUM(b), 0)", False),
    ("CASE WHEN SUM(b) = 0 THEN NULL ELSE SUM(i) / SUM(b) END", False),
    ("CASE WHEN SUM(i) = 0 THEN NULL ELSE SUM(i) / SUM(b) END", True),
    ("CASE WHEN SUM(b) = 0 THEN NULL END / SUM(i)", True),
    ("SUM(i) / SUM(b)", True),
    ("SUM(i) / COUNT(b)", True),
    ("SUM(i) / NULLIF(SUM(b), 1)", True),
    ("SUM(i) % SUM(b)", True),
    ("MOD(SUM(i), SUM(b))", True),
    ("SUM(i) DIV SUM(b)", True),
    ("1 / (SUM(i) - SUM(b))", True),
    ("SUM(i) / 0", True),
])  # fmt: skip
def test_t3_a_divisor_may_be_zero_unless_the_query_says_otherwise(shown: str, may: bool):
    assert may_divide_by_zero(reduce_of(f"SELECT k, {shown} AS s FROM lake.t GROUP BY k")) is may


def reduce_of(sql: str) -> Reduce:
    block = parse_view("v", sql, SCHEMA, Duck(SCHEMA).describe).blocks[-1]
    assert isinstance(block, Reduce)
    return block


KEYS = st.integers(0, 2)
VALUES = st.integers(-(2**62), 2**62)
STEPS = st.lists(st.dictionaries(st.tuples(KEYS, st.integers(0, 3)), VALUES, min_size=1), max_size=4)  # fmt: skip


@given(st.dictionaries(KEYS, VALUES), STEPS)
def test_t1_no_total_exceeds_the_bound_at_any_time(
    folded: dict[int, int], steps: list[dict[tuple[int, int], int]]
):
    """Each step: a value per key and stamp, the stamps of step n being 10 n and up to three more."""
    moves: list[tuple[Largest | None, int]] = []
    totals = defaultdict(int, folded)
    for rows in steps:
        stamps = [stamp for _, stamp in rows]
        times = min(len(rows), max(stamps) - min(stamps) + 1)
        moves.append(({"s": max(map(abs, rows.values()))}, times))
        most = bound({"s": max(map(abs, folded.values()), default=0)}, moves)
        assert most is not None
        for (key, _), value in sorted(rows.items(), key=lambda row: row[0][1]):
            totals[key] += value
            assert abs(totals[key]) <= most["s"]


def test_t1_what_is_not_known_is_no_bound():
    assert bound(None, []) is None
    assert bound({"s": 1}, [({"s": 1}, 1), (None, 1)]) is None
    assert not fits(None, {"s": 1})
    assert fits({"s": 1}, {"s": 1}) and not fits({"s": 2}, {"s": 1})


def written(path: Path, **settings: bool) -> Path:
    table = pa.table({
        "key": pa.array([{"s": 1}, {"s": 10**6}, None]),
        "s": pa.array([D("-99999999999999999999999999999999999999"), D(5), D(0)], pa.decimal128(38, 0)),
        "f": pa.array([D("1.25"), D("-7.5"), D(0)], pa.decimal128(38, 16)),
        "c": pa.array([-(2**63), 3, 0]),
    })  # fmt: skip
    parquet.write_table(table, path, **settings)
    parquet.write_table(table.slice(0, 0), path.with_suffix(".empty"))
    return path


def test_the_largest_values_are_in_the_footers(tmp_path: Path):
    file = written(tmp_path / "one.parquet")
    files = [file, file.with_suffix(".empty")]
    assert largest_values(files, {"s": "s", "f": "f", "_rv_s2": "c"}) == {
        "s": 10**38 - 1, "f": 8, "_rv_s2": 2**63}  # fmt: skip
    assert largest_values([], {"s": "s"}) == {"s": 0}


def test_footers_that_do_not_say_are_no_bound(tmp_path: Path):
    file = written(tmp_path / "one.parquet", write_statistics=False)
    assert largest_values([file], {"s": "s"}) is None
    assert largest_values([written(tmp_path / "two.parquet")], {"s": "other"}) is None
