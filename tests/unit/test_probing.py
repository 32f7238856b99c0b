"""Which inputs are asked for what, and in how many round trips (A1, A2)."""

from hypothesis import given
from hypothesis import strategies as st

from rollview.calculus.probing import Askable, Edge, Probe, edges, probe_plan, round_trips
from rollview.calculus.terms import AsOf, Changes, Timed
from rollview.changes import Csn
from rollview.views.blocks import Column, Input, Join


def joined(condition, *inputs):
    """A join of relations named like their aliases."""
    return Join(
        tuple(Input(a, f"db.{a}", c) for a, c in inputs), condition, (Column("x", "1", "int"),)
    )


def term(changed, count, timed=()):
    return tuple(
        Changes(n, Csn(1), Csn(2)) if n == changed
        else Timed(n, Csn(1), Csn(2)) if n in timed else AsOf(n, Csn(1))
        for n in range(count)
    )  # fmt: skip


INT = {"a": "int", "b": "int", "c": "int"}


def test_edges_are_the_equalities_that_must_hold():
    join = joined("`r`.`a` = `s`.`b` AND (`s`.`c` = `r`.`c`) AND `r`.`b` > 3 AND (`r`.`a` = 1 OR `r`.`b` = `s`.`b`)",
                  ("r", ("a", "b", "c")), ("s", ("b", "c")))  # fmt: skip
    assert edges(join, {"db.r": INT, "db.s": INT}) == [Edge(0, 1, (("a", "b"), ("c", "c")))]


def test_types_that_compare_otherwise_elsewhere_are_no_edge():
    join = joined("`r`.`a` = `s`.`b`", ("r", ("a",)), ("s", ("b",)))
    for left, right, found in [("int", "bigint", 1), ("int", "string", 0), ("decimal(9,2)", "decimal(9,3)", 0),
                               ("string", "string", 1), ("double", "float", 0), (None, None, 0)]:  # fmt: skip
        types = {"db.r": {"a": left} if left else {}, "db.s": {"b": right} if right else {}}
        assert len(edges(join, types)) == found, (left, right)


def test_example_5_of_sze_and_ling():
    """Six relations, R1 at home, R2 to R4 in one database, R5 and R6 in another: three queries, two round trips."""
    graph = [Edge(0, 3, (("a", "a"),)), Edge(1, 3, (("b", "b"),)), Edge(2, 3, (("c", "c"),)),
             Edge(0, 4, (("d", "d"),)), Edge(3, 5, (("e", "e"),))]  # fmt: skip
    databases = {1: "one", 2: "one", 3: "one", 4: "two", 5: "two"}
    plan = probe_plan(graph, term(0, 6), databases, Askable())
    assert plan.whole == ()
    assert [{p.input for p in r.probes} for r in plan.rounds] == [{1, 2, 3, 4}, {5}]
    assert plan.rounds[0].probes[0] == Probe(3, 0, ("a",), ("a",))
    queries = {(n, databases[p.input]) for n, r in enumerate(plan.rounds) for p in r.probes}
    assert len(queries) == 3
    assert round_trips([(plan, databases)]) == {"one": 1, "two": 2}


def test_round_trips_are_counted_where_they_are_made():
    """Through a lake to one database, then to another: each is asked once; terms share their rounds."""
    graph = [Edge(0, 1, (("a", "a"),)), Edge(1, 2, (("b", "b"),))]
    databases = {1: "one", 2: "two"}
    plan = probe_plan(graph, term(0, 3), databases, Askable())
    assert [len(r.probes) for r in plan.rounds] == [1, 1]
    back = probe_plan(graph, term(2, 3), {0: "two", 1: "one"}, Askable())
    assert round_trips([(plan, databases)]) == {"one": 1, "two": 1}
    assert round_trips([(plan, databases), (plan, databases)]) == {"one": 1, "two": 1}
    assert round_trips([(plan, databases), (back, {0: "one", 1: "one"})]) == {"one": 2, "two": 1}


def test_what_no_equality_leads_to_is_read_whole():
    plan = probe_plan([], term(0, 2), {1: "one"}, Askable())
    assert (plan.rounds, plan.whole) == ((), (1,))


def test_columns_that_the_server_compares_otherwise_are_not_asked():
    graph = [Edge(0, 1, (("a", "label"), ("b", "b")))]
    plan = probe_plan(graph, term(0, 2), {1: "one"}, Askable({1: frozenset({"label"})}))
    assert plan.rounds[0].probes == (Probe(1, 0, ("b",), ("b",)),)
    plan = probe_plan(graph, term(0, 2), {1: "one"}, Askable({1: frozenset({"label", "b"})}))
    assert plan.whole == (1,)


def test_a_table_that_is_not_asked_is_joined_on_the_way():
    graph = [Edge(0, 1, (("a", "a"),)), Edge(1, 2, (("b", "b"),)), Edge(0, 3, (("c", "c"),))]
    plan = probe_plan(graph, term(0, 4), {2: "one"}, Askable())
    assert len(plan.rounds) == 1
    assert plan.rounds[0].through == (1,)
    assert plan.rounds[0].probes == (Probe(2, 1, ("b",), ("b",)),)


def test_changes_of_a_live_table_start_from_its_own_log():
    plan = probe_plan([Edge(0, 1, (("a", "a"),))], term(1, 2), {0: "one", 1: "one"}, Askable())
    assert plan.start == 1
    assert plan.rounds[0].probes == (Probe(0, 1, ("a",), ("a",)),)


@st.composite
def graphs(draw):
    count = draw(st.integers(2, 7))
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    databases = {
        n: draw(st.sampled_from(["one", "two"])) for n in range(count) if draw(st.booleans())
    }
    return (
        count,
        [Edge(a, b, (("k", "k"),)) for a, b in chosen],
        databases,
        draw(st.integers(0, count - 1)),
    )


@given(graphs())
def test_a2_each_live_input_once_and_only_by_what_is_known(case):
    count, graph, databases, start = case
    plan = probe_plan(graph, term(start, count), databases, Askable())
    known, asked = {start}, []
    for each in plan.rounds:
        known |= set(each.through)
        assert not set(each.through) & set(databases)
        for probe in each.probes:
            together = {
                p.input for p in each.probes if databases[p.input] == databases[probe.input]
            }
            assert probe.source in known | together
            asked.append(probe.input)
        known |= {p.input for p in each.probes}
    assert sorted([*asked, *plan.whole]) == sorted(set(databases) - {start})
    neighbours = {start}
    for _ in range(count):
        neighbours |= {e.right for e in graph if e.left in neighbours}
        neighbours |= {e.left for e in graph if e.right in neighbours}
    assert not neighbours & set(plan.whole), "whatever can be reached is probed"
