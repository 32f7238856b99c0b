"""C1 of changes.py: the net effect leads from one state to the next."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from recorded import Recorded, examples, plus, transactions

from rollview.changes import Change, net


@examples(100)
@given(st.lists(transactions(1), max_size=8), st.data())
def test_c1_the_net_effect_of_an_interval_added_to_a_state_gives_the_later_state(commits, data):
    recorded, log = Recorded(["a"]), []
    for transaction in commits:
        for count, row in recorded.commit(transaction)["a"]:
            log.append(Change(recorded.now, count, row))
    s = data.draw(st.integers(0, recorded.now))
    t = data.draw(st.integers(s, recorded.now))
    effect = net(change for change in log if s < change.stamp <= t)
    moved = plus(recorded.states[s]["a"], ((count, row) for row, count in effect.items()))
    assert moved == recorded.states[t]["a"]


CHANGES = st.lists(
    st.builds(Change, st.integers(1, 5), st.integers(-2, 2), st.tuples(st.integers(0, 2))),
    max_size=8,
)


@examples(100)
@given(CHANGES, CHANGES)
def test_net_effects_add_up_and_hold_no_zeros(first, second):
    added = Counter(net(first))
    added.update(net(second))
    assert net(first + second) == {row: count for row, count in added.items() if count}
    assert 0 not in net(first).values()


def test_a_row_that_comes_and_goes_has_no_net_effect():
    assert net([Change(1, 2, ("a", None)), Change(3, -2, ("a", None))]) == {}
    assert net([]) == {}
