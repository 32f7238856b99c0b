"""What a Reduce adds up, added up by Arrow (spark/added.py), against plain Python."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from decimal import Decimal, getcontext
from random import Random

import pyarrow as pa
import pytest

from rollview.changes import COUNT, STAMP
from rollview.spark.added import addable, added_up
from rollview.views.blocks import Column, Join, Reduce, Union

KINDS = {"s": "string", "d": "date", "x": "decimal(10,2)"}


def reduce(keys: dict[str, str], sums: dict[str, str]) -> Reduce:
    columns = tuple(Column(name, name, kind) for name, kind in keys.items())
    source = Union((Join((), None, columns),))
    return Reduce(source, tuple(keys), tuple(Column(n, n, k) for n, k in sums.items()), ())


def rows(columns: dict[str, tuple[pa.DataType, list[object]]], counts: list[int]) -> pa.Table:
    stamps = (pa.int64(), [1 + n % 2 for n in range(len(counts))])
    every = {**columns, STAMP: stamps, COUNT: (pa.int64(), counts)}
    return pa.table({name: pa.array(values, kind) for name, (kind, values) in every.items()})


def test_j1_sums_by_key_and_stamp_are_those_of_plain_python() -> None:
    pick, n = Random(1), 500
    getcontext().prec = 60  # the plain sums must be exact
    columns = {
        "s": (pa.string(), [pick.choice(["a", "b", "", None]) for _ in range(n)]),
        "d": (pa.date32(), [pick.choice([date(1, 1, 1), date(2026, 1, 1), None]) for _ in range(n)]),
        "x": (pa.decimal128(10, 2), [pick.choice([Decimal("1.00"), None]) for _ in range(n)]),
        "small": (pa.int64(), [pick.randint(-5, 5) for _ in range(n)]),
        "wide": (pa.decimal128(38, 3), [Decimal(pick.randint(-10**37, 10**37)) / 1000 for _ in range(n)]),
    }  # fmt: skip
    given = rows(columns, [pick.choice([-1, 1, 2]) for _ in range(n)])
    block = reduce(KINDS, {"small": "bigint", "wide": "decimal(38,3)"})
    want: dict[tuple[object, ...], list[object]] = defaultdict(lambda: [0, Decimal(0), 0])
    for row in given.to_pylist():
        sums = want[row["s"], row["d"], row["x"], row[STAMP]]
        for k, name in enumerate(("small", "wide", COUNT)):
            sums[k] += row[name]
    found = added_up(block, given)
    assert addable(block)
    assert found.schema == given.schema, "what is written has the types of what was read"
    got = {
        (r["s"], r["d"], r["x"], r[STAMP]): [r["small"], r["wide"], r[COUNT]]
        for r in found.to_pylist()
    }
    assert got == dict(want)
    assert found.num_rows == len(want), "one row per key and stamp, NULL keys too"


def test_without_keys_there_is_a_row_for_each_stamp() -> None:
    found = added_up(reduce({}, {}), rows({}, [1, 1, 1]))
    assert sorted(map(tuple, (r.values() for r in found.to_pylist()))) == [(1, 2), (2, 1)]
    assert added_up(reduce({}, {}), rows({}, [])).num_rows == 0


@pytest.mark.parametrize(
    ("kind", "value"), [(pa.int64(), 2**62), (pa.decimal128(38, 0), Decimal(9 * 10**37))]
)
def test_j1_a_sum_that_its_type_cannot_hold_raises(kind: pa.DataType, value: object) -> None:
    block = reduce({}, {"n": "bigint" if kind == pa.int64() else "decimal(38,0)"})
    fits = {"n": (kind, [value, 0, 0])}
    assert added_up(block, rows(fits, [1, 1, 1])).num_rows == 2
    with pytest.raises(OverflowError, match="more digits"):
        added_up(block, rows({"n": (kind, [value, 0, value])}, [1, 1, 1]))


@pytest.mark.parametrize("kind", ["double", "float", "array<int>", "string collate UTF8_LCASE"])
def test_j2_keys_that_spark_and_arrow_compare_differently_are_left_to_spark(kind: str) -> None:
    assert not addable(reduce({"k": kind}, {}))
