"""The worked examples 1 to 12 of Sze and Ling, Efficient View Maintenance Using Version Numbers, with their data.

Interfering updates are made happen where the examples say: between the notification of an update and the question
that it leads to. Example 5 (the join graph) is in tests/unit/test_probing.py as well.
"""

import psycopg
import pytest
from maintained import Maintained

from rollview.calculus.probing import Askable, Edge, probe_plan
from rollview.calculus.terms import AsOf, Changes
from rollview.changes import Csn
from rollview.errors import ChangesLost
from rollview.sources.postgresql import live
from rollview.warehouse import Warehouse

pytest_plugins = ["servers"]


class Source:
    """A data source with tables of texts."""

    def __init__(self, url, **tables):
        self.url, self.tables = url, tables
        self.connection = psycopg.connect(url, autocommit=True)
        for name, (columns, rows) in tables.items():
            listed = ", ".join(f"{c} text" for c in columns)
            self.run(f"CREATE TABLE {name} ({listed}, PRIMARY KEY ({columns[0]}))",
                     f"ALTER TABLE {name} REPLICA IDENTITY FULL")  # fmt: skip
            for row in rows:
                self.insert(name, row)

    def run(self, *statements):
        for statement in statements:
            self.connection.execute(statement)

    def insert(self, table, *rows):
        """One transaction."""
        listed = ", ".join("(" + ", ".join(f"'{v}'" for v in row.split(",")) + ")" for row in rows)
        self.run(f"INSERT INTO {table} VALUES {listed}")

    def delete(self, table, row):
        column = self.tables[table][0][0]
        self.run(f"DELETE FROM {table} WHERE {column} = '{row.split(',')[0]}'")


@pytest.fixture
def sources(database, tmp_path):
    """Makes sources and registers their tables; gives the warehouse."""
    opened = []

    def make(*given):
        wh = Warehouse(tmp_path / "wh")
        made = [Source(database(), **tables) for tables in given]
        for n, source in enumerate(made, 1):
            wh.add_source(f"s{n}", postgres=source.url, tables=list(source.tables), mode="live")
        opened.extend([wh, *(s.connection for s in made)])
        return wh, *made

    yield make
    for each in opened:
        each.close()


def two_relations(sources):
    """R1(A, B) with (a1, b1) in one source, R2(B, C) empty in another; V = C of their join."""
    wh, one, two = sources({"r1": (("a", "b"), ["a1,b1"])}, {"r2": (("b", "c"), [])})
    view = Maintained(wh, ["s1.r1", "s2.r2"], [Edge(0, 1, (("b", "b"),))], [(1, "c")])
    assert view.view() == {}
    return wh, one, two, view


def captured(wh):
    wh.capture()
    return wh.ledger.newest_csn()


def test_example_1_updates_far_apart(sources):
    wh, one, two, view = two_relations(sources)
    one.insert("r1", "a2,b1")
    view.roll(captured(wh))
    assert view.view() == {}
    two.insert("r2", "b1,c1")
    view.roll(captured(wh))
    assert view.view() == {("c1",): 2}


def test_example_2_an_interfering_update(sources):
    """R2(b1, c1) is inserted just before the question of R1(a2, b1) reaches R2: the count is 2, not 3."""
    wh, one, two, view = two_relations(sources)
    one.insert("r1", "a2,b1")
    first = captured(wh)
    view.before_asking = lambda: two.insert("r2", "b1,c1")
    view.step(0, first)
    assert net_of(view.delta) == {}, "what the server showed too early was taken out"
    view.before_asking = lambda: None
    view.step(1, first)
    assert view.view() == {}
    view.roll(captured(wh))
    assert view.view() == {("c1",): 2}


def test_example_2_without_compensation_counts_too_much(sources, monkeypatch):
    """The same with the compensation taken away: the paper's anomaly."""
    wh, one, two, view = two_relations(sources)
    monkeypatch.setattr(live, "patches", lambda *_: {})
    monkeypatch.setattr(live, "_tail", lambda *_: {})
    one.insert("r1", "a2,b1")
    view.before_asking = lambda: two.insert("r2", "b1,c1")
    view.step(0, captured(wh))
    view.before_asking = lambda: None
    view.step(1, captured(wh))
    assert net_of(view.delta)[("c1",)] > 2


@pytest.mark.parametrize("first_captured", [1, 2])
def test_example_3_the_order_in_which_messages_arrive_does_not_matter(sources, first_captured):
    """Notification and answer swapped: the update of R2 is known before, or only after, the question is answered."""
    wh, one, two, view = two_relations(sources)
    one.insert("r1", "a2,b1")
    first = captured(wh)
    two.insert("r2", "b1,c1")
    if first_captured == 1:
        captured(wh)
    view.step(0, first)
    view.step(1, first)
    assert view.view() == {}
    view.roll(captured(wh))
    assert view.view() == {("c1",): 2}


def test_example_4_a_lost_message_is_noticed(sources):
    """The notification of R2(b1, c1) is lost (somebody moved the slot): no wrong answer, the source says so."""
    wh, one, two, view = two_relations(sources)
    one.insert("r1", "a2,b1")
    first = captured(wh)
    two.insert("r2", "b1,c1")
    slot = wh.ledger.stream("s2").slot
    two.run(f"SELECT pg_replication_slot_advance('{slot}', pg_current_wal_lsn())")
    with pytest.raises(ChangesLost, match="moved replication slot"):
        view.step(0, first)
    assert view.delta == []
    (problem,) = wh.capture().problems
    assert isinstance(problem, ChangesLost)


def test_example_5_three_questions_instead_of_five():
    graph = [Edge(0, 3, (("a", "a"),)), Edge(1, 3, (("b", "b"),)), Edge(2, 3, (("c", "c"),)),
             Edge(0, 4, (("d", "d"),)), Edge(3, 5, (("e", "e"),))]  # fmt: skip
    term = (Changes(0, Csn(0), Csn(1)), *(AsOf(n, Csn(0)) for n in range(1, 6)))
    databases = {1: "one", 2: "one", 3: "one", 4: "two", 5: "two"}
    plan = probe_plan(graph, term, databases, Askable())
    assert len({(k, databases[p.input]) for k, r in enumerate(plan.rounds) for p in r.probes}) == 3


def three_relations(sources):
    """R1(A, B, C) in one source, R2(C, D, E) and R3(E, F, G) in another; V = B, C, F of their join."""
    wh, one, two = sources(
        {"r1": (("a", "b", "c"), ["a1,b1,c1"])},
        {
            "r2": (("c", "d", "e"), ["c1,d1,e1", "c2,d2,e2"]),
            "r3": (("e", "f", "g"), ["e1,f1,g1", "e2,f2,g2"]),
        },
    )
    edges = [Edge(0, 1, (("c", "c"),)), Edge(1, 2, (("e", "e"),))]
    view = Maintained(wh, ["s1.r1", "s2.r2", "s2.r3"], edges, [(0, "b"), (0, "c"), (2, "f")])
    assert view.view() == {("b1", "c1", "f1"): 1}
    return wh, one, two, view


def test_examples_6_and_7_insertions_and_a_modification(sources):
    wh, one, two, view = three_relations(sources)
    one.insert("r1", "a2,b2,c2", "a3,b3,c1")
    view.roll(captured(wh))
    assert view.view() == {("b1", "c1", "f1"): 1, ("b3", "c1", "f1"): 1, ("b2", "c2", "f2"): 1}
    assert view.asked[0] == {"s2": 1}, "R2 and R3 are asked together"
    two.run("UPDATE r3 SET f = 'f2' WHERE e = 'e1'")
    view.roll(captured(wh))
    assert view.view() == {("b1", "c1", "f2"): 1, ("b3", "c1", "f2"): 1, ("b2", "c2", "f2"): 1}


def concurrent_updates(wh, one, two):
    """The three update transactions of example 8; the CSN of each."""
    two.delete("r2", "c1,d1,e1")
    first = captured(wh)
    one.insert("r1", "a3,b3,c1", "a2,b2,c2")
    second = captured(wh)
    two.delete("r3", "e2,f2,g2")
    return first, second, captured(wh)


def test_examples_8_to_12_all_updates_before_the_first_question(sources):
    """Every question sees all three updates; what is produced is what each update alone would have produced."""
    wh, one, two, view = three_relations(sources)
    first, second, third = concurrent_updates(wh, one, two)

    view.step(1, first)  # delete R2(c1, d1, e1): tables 1 and 6, example 11
    assert net_of(view.delta) == {("b1", "c1", "f1"): -1}
    view.step(0, first)
    view.step(2, first)
    assert view.view() == {}  # example 12, first state

    produced = len(view.delta)
    view.step(
        0, second
    )  # insert R1(a3, b3, c1) and R1(a2, b2, c2): tables 2, 4 and 5, examples 9 and 10
    assert net_of(view.delta[produced:]) == {("b2", "c2", "f2"): 1}
    view.step(1, second)
    view.step(2, second)
    assert view.view() == {("b2", "c2", "f2"): 1}  # example 12, second state

    view.roll(third)  # delete R3(e2, f2, g2): table 3
    assert view.view() == {}
    assert view.view(second) == {("b2", "c2", "f2"): 1}
    assert view.view(first) == {}


def test_examples_8_to_12_updates_that_are_not_captured_yet(sources):
    """The same with the later updates seen by the server only: they are read from the slot and taken out."""
    wh, one, two, view = three_relations(sources)
    two.delete("r2", "c1,d1,e1")
    first = captured(wh)
    one.insert("r1", "a3,b3,c1", "a2,b2,c2")
    two.delete("r3", "e2,f2,g2")
    view.roll(first)
    assert view.view() == {}
    assert net_of(view.delta) == {("b1", "c1", "f1"): -1}
    last = captured(wh)
    view.roll(last)
    assert view.view() == {}
    middle = view.view(Csn(last - 1))
    assert middle in ({("b2", "c2", "f2"): 1}, {}), (
        "by the order in which the two sources committed"
    )


def net_of(delta):
    total = {}
    for _, row, count in delta:
        total[row] = total.get(row, 0) + count
    return {row: n for row, n in total.items() if n}
