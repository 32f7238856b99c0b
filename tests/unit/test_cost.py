"""calculus/cost.py: an estimate is only good for comparing, so what must hold are its comparisons."""

from dataclasses import astuple

from hypothesis import given
from hypothesis import strategies as st
from recorded import examples

from rollview.calculus.cost import (
    BUCKET_ROWS,
    Estimate,
    InputSize,
    JoinSize,
    Learned,
    estimate,
    fold_seconds,
    learned,
    number_of_buckets,
    outgrown,
    paid_by_readers,
)

SIZES = st.builds(InputSize, st.integers(0, 10**9), st.integers(0, 10**9))
INPUTS = st.lists(SIZES, min_size=1, max_size=4).map(tuple)
JOINS = st.lists(st.builds(JoinSize, INPUTS, st.booleans()), min_size=1, max_size=3)


def with_input(joins, j, k, size):
    """The joins with another input in one place."""
    inputs = (*joins[j].inputs[:k], size, *joins[j].inputs[k + 1 :])
    return [*joins[:j], JoinSize(inputs, joins[j].fetched), *joins[j + 1 :]]


@examples(100)
@given(JOINS, st.booleans(), st.data())
def test_more_changes_cost_more_incrementally_and_the_same_in_full(joins, reduces, data):
    j = data.draw(st.integers(0, len(joins) - 1))
    k = data.draw(st.integers(0, len(joins[j].inputs) - 1))
    more = data.draw(st.integers(1, 10**9))
    old = joins[j].inputs[k]
    grown = with_input(joins, j, k, InputSize(old.rows, old.changed + more))
    before, after = estimate(joins, reduces), estimate(grown, reduces)
    assert after.incremental > before.incremental
    assert after.full == before.full


@examples(100)
@given(JOINS, st.booleans(), st.data())
def test_larger_inputs_cost_more_in_full_and_never_less_incrementally(joins, reduces, data):
    j = data.draw(st.integers(0, len(joins) - 1))
    k = data.draw(st.integers(0, len(joins[j].inputs) - 1))
    old = joins[j].inputs[k]
    grown = with_input(joins, j, k, InputSize(old.rows + 10**6, old.changed))
    before, after = estimate(joins, reduces), estimate(grown, reduces)
    assert after.full > before.full
    assert after.incremental >= before.incremental


def better(*inputs: InputSize, reduces: bool = False) -> str:
    cost: Estimate = estimate([JoinSize(inputs)], reduces)
    return "incremental" if cost.incremental < cost.full else "full"


def test_few_changes_are_propagated_and_huge_changes_recomputed():
    large, small = InputSize(10_000_000, 0), InputSize(1_000, 0)
    assert better(InputSize(10_000_000, 1_000), small) == "incremental"
    assert better(large, InputSize(1_000, 10)) == "incremental"
    assert better(InputSize(10_000_000, 10_000_000), small) == "full"
    assert better(InputSize(10_000_000, 10_000_000), small, reduces=True) == "full"


@examples(100)
@given(INPUTS, st.booleans())
def test_what_the_driver_joins_costs_less(inputs, reduces):
    by_driver, by_spark = (estimate([JoinSize(inputs, way)], reduces) for way in (True, False))
    assert by_driver.full == by_spark.full
    assert by_driver.incremental <= by_spark.incremental


def test_a_chain_of_six_small_tables_is_propagated():
    chain = (InputSize(100_000, 170),) * 6
    few, many = estimate([JoinSize(chain, True)], False), estimate([JoinSize(chain)], False)
    assert few.incremental < few.full / 2
    assert many.incremental > many.full


def test_nothing_changed_costs_less_than_anything_else():
    idle = estimate([JoinSize((InputSize(10_000_000, 0), InputSize(1_000, 0)))], False)
    assert idle.incremental < estimate([JoinSize((InputSize(0, 1),))], False).incremental
    assert idle.incremental < idle.full


def test_nothing_is_learned_from_nothing_or_from_one_cold_refresh():
    assert learned([]) == Learned(1.0, 1.0, 1.0)
    assert learned([("incremental", 0.5, 9.0)]) == Learned(1.0, 1.0, 1.0)


def test_each_way_is_learned_from_its_own_refreshes():
    slow = [("incremental", 0.5, 1.5)] * 5
    quick = [("full", 2.0, 1.0)] * 5
    folds = [("fold", 1.0, 2.0)] * 5
    assert learned([*slow, *quick, *folds]) == Learned(3.0, 0.5, 2.0)
    assert learned([*slow, *quick]).applied(Estimate(1.0, 1.0)) == Estimate(3.0, 0.5)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("incremental", "full", "fold")),
            st.floats(0, 1e6),
            st.floats(0, 1e9),
        )
    )
)
def test_a_factor_stays_within_bounds(seen):
    factors = learned(seen)
    assert all(1 / 8 <= factor <= 8 for factor in astuple(factors))


STEPS = st.lists(st.integers(0, 10**7), max_size=60)


@examples(100)
@given(STEPS, st.integers(0, 10**9))
def test_readers_pay_more_with_each_step_and_more_of_larger_tables(steps, folded):
    assert paid_by_readers(steps, folded) < paid_by_readers([*steps, 1], folded)
    assert paid_by_readers(steps, folded) <= paid_by_readers(steps, folded + 10**6)


def steps_until_a_fold(rows: int, folded: int) -> int:
    """After how many steps of so many rows a fold is due."""
    return next(
        n for n in range(1, 1000) if paid_by_readers([rows] * n, folded) >= fold_seconds(folded)
    )


def test_small_tables_are_folded_sooner_and_large_steps_too():
    assert 2 <= steps_until_a_fold(1_000, 1_000) < steps_until_a_fold(1_000, 10_000_000) <= 100
    assert steps_until_a_fold(1_000_000, 10_000_000) < steps_until_a_fold(1_000, 10_000_000)


def test_buckets_follow_the_rows_and_do_not_go_to_and_fro():
    assert [number_of_buckets(n * BUCKET_ROWS // 2) for n in (0, 1, 3, 4, 21, 1000)] == [
        1,
        1,
        1,
        2,
        10,
        64,
    ]
    assert number_of_buckets(10**12, "3") == number_of_buckets(10**12, 3, 7) == 3
    for now in (1, 2, 7):
        right = now * BUCKET_ROWS
        assert {number_of_buckets(n, now=now) for n in (right // 2, right, 2 * right)} == {now}
        assert number_of_buckets(2 * right + BUCKET_ROWS, now=now) > now
    assert number_of_buckets(7 * BUCKET_ROWS // 2 - 1, now=7) == 3
    assert number_of_buckets(0, now=1) == 1
    assert not outgrown(2 * BUCKET_ROWS) and outgrown(2 * BUCKET_ROWS + 1)
