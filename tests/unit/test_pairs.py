"""Pairs of rows of two tables in memory: what SQL would join, and never more than was allowed."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from recorded import examples

from rollview.sources.pairs import pairs

KEYS = st.lists(st.tuples(st.none() | st.integers(0, 3), st.none() | st.sampled_from("ab")), max_size=9)  # fmt: skip


def columns(rows):
    return [
        pa.chunked_array([pa.array([n for n, _ in rows], pa.int64())]),
        pa.chunked_array([pa.array([s for _, s in rows], pa.string())]),
    ]


def by_hand(left, right):
    return sorted(
        (i, j)
        for i, row in enumerate(left)
        for j, other in enumerate(right)
        if row == other and None not in row
    )


@examples(100)
@given(left=KEYS, right=KEYS)
def test_v1_rows_that_agree_in_all_columns(left, right):
    found = pairs(columns(left), columns(right), most=100)
    assert sorted(zip(*(side.to_pylist() for side in found), strict=True)) == by_hand(left, right)


@examples(100)
@given(left=KEYS, right=KEYS, most=st.integers(0, 12))
def test_v2_never_more_than_allowed(left, right, most):
    found = pairs(columns(left), columns(right), most)
    wanted = len(by_hand(left, right))
    assert (found is None) == (wanted > most)
    assert found is None or len(found[0]) == wanted
