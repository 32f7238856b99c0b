"""Every method of the ledger, on SQLite and on a real PostgreSQL; the timeline against a list."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import ledger_rows as make
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from rollview.changes import Csn
from rollview.errors import ConfigError, StepConflict
from rollview.ledger.store import Ledger, SchemaEpoch

pytest_plugins = ["servers"]


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    url = request.getfixturevalue("postgres_database")() if request.param == "postgres" else None
    opened = Ledger.open(tmp_path / "wh", url, create=True)
    yield opened
    opened.close()


@pytest.fixture
def timeline(ledger: Ledger) -> Ledger:
    """Commits 1 to 6: lake.sales changes in all, lake.customer in the even ones."""
    make.registered(ledger)
    for csn in range(1, 7):
        changes = [make.change(csn)]
        if csn % 2 == 0:
            changes.append(make.change(csn, "lake.customer", (csn, 0)))
        ledger.add_commit(make.commit(csn), changes)
    return ledger


def test_sources(ledger: Ledger) -> None:
    assert ledger.sources() == [] and ledger.source("lake") is None
    ledger.add_source(make.source("shop"))
    ledger.add_source(make.source("lake"))
    assert ledger.sources() == [make.source("lake"), make.source("shop")]
    assert ledger.source("lake") == make.source("lake")
    with pytest.raises(ConfigError, match='source "lake" exists'):
        ledger.add_source(make.source("lake"))


def test_a_dropped_source_takes_its_relations_along_and_leaves_its_commits(
    timeline: Ledger,
) -> None:
    timeline.add_schema_epoch(SchemaEpoch("lake.sales", 3, Csn(0), ()))
    timeline.drop_source("lake")
    timeline.drop_source("lake")
    assert timeline.sources() == [] and timeline.relations() == []
    assert timeline.changes_of("lake.sales", Csn(0), Csn(9)) == []
    assert timeline.schema_epochs("lake.sales") == []
    assert len(timeline.commits(Csn(0), Csn(9))) == 6 and timeline.newest_csn() == 6


def test_relations_are_replaced_in_place(timeline: Ledger) -> None:
    moved = make.relation(position=9, columns=(("id", "int"),), stopped="gone", rows=-1)
    timeline.put_relation(moved)
    assert timeline.relation("lake.sales") == moved
    assert timeline.relation("lake.nothing") is None
    assert [r.name for r in timeline.relations()] == ["lake.customer", "lake.sales"]
    assert timeline.relations("lake") == timeline.relations() and timeline.relations("shop") == []
    assert len(timeline.changes_of("lake.sales", Csn(0), Csn(9))) == 6, "replacing is no deletion"


def test_a_relation_needs_its_source(ledger: Ledger) -> None:
    with pytest.raises(StepConflict):
        ledger.put_relation(make.relation("nowhere.sales"))
    assert ledger.relations() == []


def test_schema_epochs_ascend(ledger: Ledger) -> None:
    make.registered(ledger)
    epochs = [SchemaEpoch("lake.sales", p, Csn(p * 2), (("a", "int"),) * p) for p in (7, 1, 12)]
    for epoch in epochs:
        ledger.add_schema_epoch(epoch)
    assert ledger.schema_epochs("lake.sales") == sorted(epochs, key=lambda e: e.position)
    assert ledger.schema_epochs("lake.customer") == []


def test_l16_the_timeline_has_no_gaps(ledger: Ledger) -> None:
    make.registered(ledger)
    assert ledger.newest_csn() == 0
    for csn in (0, 2):
        with pytest.raises(StepConflict, match="next CSN is 1"):
            ledger.add_commit(make.commit(csn), [])
    with pytest.raises(StepConflict):
        ledger.add_commit(make.commit(1), [make.change(2)])
    ledger.add_commit(make.commit(1), [])
    with pytest.raises(StepConflict):
        ledger.add_commit(make.commit(1), [])
    assert ledger.newest_csn() == 1


def test_a_commit_with_a_bad_change_leaves_nothing(ledger: Ledger) -> None:
    make.registered(ledger)
    with pytest.raises(StepConflict):
        ledger.add_commit(make.commit(1), [make.change(1), make.change(1)])
    with pytest.raises(StepConflict):
        ledger.add_commit(make.commit(1), [make.change(1, "lake.unknown")])
    assert ledger.newest_csn() == 0 and ledger.changes_of("lake.sales", Csn(0), Csn(9)) == []


def test_intervals_are_open_below_and_closed_above(timeline: Ledger) -> None:
    lo, hi = Csn(2), Csn(4)
    assert timeline.commits(lo, hi) == [make.commit(3), make.commit(4)]
    assert timeline.commits(lo, hi, "lake") == timeline.commits(lo, hi)
    assert timeline.commits(lo, hi, "shop") == []
    assert timeline.changes_of("lake.sales", lo, hi) == [make.change(3), make.change(4)]
    assert timeline.changed_rows("lake.sales", lo, hi) == 6
    assert timeline.changed_rows("lake.customer", lo, hi) == 4
    assert timeline.changed_rows("lake.sales", hi, hi) == timeline.changed_rows("v", lo, hi) == 0


def test_transactions_by_their_ids(ledger: Ledger) -> None:
    """Ids of one server are in another order than its commits, and say nothing of those of another server."""
    ids = {1: ("a", 10), 2: ("b", 900), 3: ("a", 30), 4: ("a", 20), 5: ("b", None), 6: ("a", 40)}
    for csn, (source, xid) in ids.items():
        ledger.add_commit(replace(make.commit(csn), source=source, xid=xid), [])
    assert sorted(ledger.transactions("a", Csn(4), Csn(6), 25)) == [(3, 30), (6, 40)]
    assert sorted(ledger.transactions("a", Csn(4), Csn(5), 99)) == []
    assert sorted(ledger.transactions("a", Csn(0), Csn(4), 20)) == [(1, 10), (3, 30), (4, 20)]
    assert ledger.transactions("b", Csn(3), Csn(6), 900) == [(2, 900)]


def test_no_look_up_reads_the_whole_timeline(tmp_path: Path) -> None:
    """SQLite has no statistics here, and takes the wrong index where it has a choice."""
    ledger, plans = Ledger.open(tmp_path, create=True), list[str]()

    @event.listens_for(ledger.engine, "before_cursor_execute")
    def explain(connection, cursor, statement, parameters, context, many):
        if "rv_commits" in statement:
            cursor.execute("EXPLAIN QUERY PLAN " + statement, parameters)
            plans.extend(row[3] for row in cursor.fetchall())

    ledger.transactions("shop", Csn(5), Csn(9), 3)
    ledger.commits_past("shop", 7)
    ledger.close()
    searches = [p for p in plans if "rv_commits" in p]
    assert [p.partition(" (")[2] for p in searches] == [
        "rowid>? AND rowid<?)", "source=? AND xid>?)", "source=? AND position>?)",
    ], plans  # fmt: skip


def test_last_change(timeline: Ledger) -> None:
    assert timeline.last_change("lake.customer", Csn(1)) is None
    assert timeline.last_change("lake.customer", Csn(5)) == make.change(4, "lake.customer", (4, 0))
    assert timeline.last_change("lake.sales", Csn(99)) == make.change(6)


def test_times_of_day(timeline: Ledger) -> None:
    timeline.add_commit(make.commit(7, seconds=2.5), [])  # a source whose clock is behind
    assert timeline.csn_at(make.at(0.9)) == 0
    assert timeline.csn_at(make.at(2)) == 2
    assert timeline.csn_at(make.at(2) - timedelta(microseconds=1)) == 1
    assert timeline.csn_at(make.at(2.5)) == 7, "every transaction up to then is at or before it"
    elsewhere = make.at(2).astimezone(timezone(timedelta(hours=-7)))
    assert timeline.csn_at(elsewhere) == 2
    assert timeline.committed_at(Csn(3)) == make.at(3) and timeline.committed_at(Csn(99)) is None


def test_a_naive_time_is_refused(timeline: Ledger) -> None:
    with pytest.raises(Exception, match="naive"):
        timeline.csn_at(datetime(2026, 1, 1))


def test_views_and_blocks(ledger: Ledger) -> None:
    ledger.add_view(make.view("w"), [])
    ledger.add_view(make.view(), make.blocks())
    assert ledger.views() == [make.view(), make.view("w")] and ledger.view("v") == make.view()
    assert ledger.blocks("v") == sorted(make.blocks(), key=lambda b: b.number)
    assert ledger.block("v#0") == make.blocks()[1] and ledger.block("x") is None
    with pytest.raises(ConfigError, match='view "v" exists'):
        ledger.add_view(make.view(), [])


def test_only_what_is_given_changes(ledger: Ledger) -> None:
    ledger.add_view(make.view(), make.blocks())
    ledger.set_view("v", state="ready", view_time=Csn(4))
    assert ledger.view("v") == replace(make.view(), state="ready", view_time=Csn(4))
    ledger.set_view("v", reason="", options={})
    assert ledger.view("v") == replace(make.view(), state="ready", view_time=Csn(4), options={})
    ledger.set_block("v", frontier=(Csn(9),), folded_version=0)
    ledger.set_block("v", oldest=Csn(3), fold_times=(Csn(1), Csn(2)), rows=0, bytes=1)
    assert ledger.block("v") == replace(
        make.blocks()[0], frontier=(9,), folded_version=0, oldest=3, fold_times=(1, 2), rows=0, bytes=1
    )  # fmt: skip
    assert ledger.block("v#0") == make.blocks()[1]
    ledger.set_view("v")


def test_l18_changing_what_is_not_there_raises(ledger: Ledger) -> None:
    with pytest.raises(StepConflict, match='view "v"'):
        ledger.set_view("v", state="ready")
    with pytest.raises(StepConflict, match='block "v"'):
        ledger.set_block("v", rows=1)
    with pytest.raises(StepConflict):
        ledger.add_step(make.step("a", 1, 2))
    for drop in (ledger.drop_view, ledger.end, ledger.forget_trash, ledger.drop_source):
        drop("nothing")
    ledger.drop_steps(["nothing"])
    ledger.drop_subscriber("v", "nobody")


def test_steps_that_touch_an_interval(ledger: Ledger) -> None:
    ledger.add_view(make.view(), make.blocks())
    for id, lo, hi in (("c", 5, 9), ("a", 1, 2), ("b", 3, 5)):
        ledger.add_step(make.step(id, lo, hi))
    ledger.add_step(make.step("other", 1, 9, "v#0"))

    def ids(lo: int | None = None, hi: int | None = None) -> str:
        bounds = [None if csn is None else Csn(csn) for csn in (lo, hi)]
        return "".join(step.id for step in ledger.steps("v", *bounds))

    assert ids() == "abc" and ledger.steps("v")[0] == make.step("a", 1, 2)
    assert (ids(2), ids(1), ids(5)) == ("bc", "abc", "c")
    assert (ids(hi=0), ids(hi=1), ids(hi=4)) == ("", "a", "ab")
    assert (ids(2, 4), ids(4, 5), ids(5, 5), ids(9, 20)) == ("b", "bc", "c", "")


def test_l17_what_is_not_named_any_more_is_trash(ledger: Ledger) -> None:
    ledger.add_view(make.view(), make.blocks())
    for id in "abc":
        ledger.add_step(make.step(id, 1, 2))
    before = datetime.now(timezone.utc)
    ledger.drop_steps(["a", "b", "never"])
    assert [folder for folder, _ in ledger.trash()] == ["steps/a", "steps/b"]
    assert all(abs(since - before) < timedelta(minutes=1) for _, since in ledger.trash())
    assert [step.id for step in ledger.steps("v")] == ["c"]
    since = dict(ledger.trash())
    ledger.put_trash("steps/a")
    assert dict(ledger.trash()) == since, "it keeps its time"
    for used in ("steps/c", "views/v/1"):
        with pytest.raises(StepConflict, match="in use"):
            ledger.put_trash(used)
    ledger.forget_trash("steps/a")
    ledger.add_step(make.step("b", 1, 2))
    assert ledger.trash() == [], "a folder that a step names is not in the trash"


def test_a_dropped_view_leaves_trash_and_history(ledger: Ledger) -> None:
    for name in "vw":
        ledger.add_view(make.view(name), make.blocks(name))
    ledger.add_step(make.step("a", 1, 2))
    ledger.add_step(make.step("b", 1, 2, "v#0"))
    ledger.add_step(make.step("c", 1, 2, "w"))
    for name in ("v", "v#0", "w"):
        ledger.set_subscriber(name, "me", Csn(1))
    ledger.add_refresh(make.refresh("v", 1))
    ledger.drop_view("v")
    folders = {"views/v/0", "views/v/1", "steps/a", "steps/b"}
    assert {folder for folder, _ in ledger.trash()} == folders
    assert ledger.view("v") is None and ledger.blocks("v") == [] and ledger.steps("v#0") == []
    assert ledger.subscribers("v") == ledger.subscribers("v#0") == {}
    assert ledger.history("v") == [make.refresh("v", 1)]
    assert ledger.blocks("w") and ledger.steps("w") and ledger.subscribers("w")
    ledger.add_view(make.view(), make.blocks())
    assert {folder for folder, _ in ledger.trash()} == {"steps/a", "steps/b"}


def test_intents(ledger: Ledger) -> None:
    step = ledger.begin("step", "v", {"folder": "x", "frontier": [1, 2]})
    fold = ledger.begin("fold", "v", {})
    assert len(step.id) == 32 and step.id != fold.id
    assert ledger.intents() == [step, fold] and ledger.intents("fold") == [fold]
    ledger.end(step.id)
    assert ledger.intents() == [fold]


def test_subscribers(ledger: Ledger) -> None:
    ledger.set_subscriber("v", "a", Csn(1))
    ledger.set_subscriber("v", "b", Csn(2))
    ledger.set_subscriber("w", "a", Csn(3))
    ledger.set_subscriber("v", "a", Csn(9))
    assert ledger.subscribers("v") == {"a": 9, "b": 2}
    ledger.drop_subscriber("v", "a")
    assert ledger.subscribers("v") == {"b": 2} and ledger.subscribers("w") == {"a": 3}


def test_history_is_newest_first(ledger: Ledger) -> None:
    rows = [make.refresh("vw"[n % 2], n) for n in range(7)]
    for row in rows:
        ledger.add_refresh(row)
    assert ledger.history() == rows[::-1]
    assert ledger.history("w", limit=2) == [rows[5], rows[3]]


def test_large_numbers_and_odd_text_come_back(ledger: Ledger) -> None:
    odd = "läke '\"\\ \n 雪 ; DROP TABLE rv_sources; --"
    row = replace(make.source(), name=odd, config={odd: [2**62, 0.1, True, None, odd]})
    ledger.add_source(row)
    ledger.put_relation(replace(make.relation(), source=odd, bytes=2**62, stopped=odd))
    assert ledger.source(odd) == row and ledger.relations(odd)[0].bytes == 2**62


moments = st.integers(0, 20).map(lambda s: make.at(s / 2))
counts = st.tuples(st.integers(0, 5), st.integers(0, 5))
touched = st.dictionaries(st.sampled_from(["lake.sales", "lake.customer"]), counts)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(moments, touched), max_size=12), st.data())
def test_the_timeline_agrees_with_a_list(history: list, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = make.registered(Ledger.open(Path(folder), create=True))
        commits, changes = [], []
        for csn, (moment, per_relation) in enumerate(history, 1):
            commits.append(replace(make.commit(csn), committed_at=moment))
            added = [make.change(csn, name, rows) for name, rows in per_relation.items()]
            ledger.add_commit(commits[-1], added)
            changes += added
        name = data.draw(st.sampled_from(["lake.sales", "lake.customer"]))
        lo, hi = data.draw(st.integers(0, 13)), data.draw(st.integers(0, 13))
        moment = data.draw(moments)
        mine = [c for c in changes if c.relation == name]
        within = [c for c in mine if lo < c.csn <= hi]
        assert ledger.changes_of(name, Csn(lo), Csn(hi)) == within
        assert ledger.changed_rows(name, Csn(lo), Csn(hi)) == sum(
            c.inserted + c.deleted for c in within
        )
        assert ledger.last_change(name, Csn(hi)) == ([None] + [c for c in mine if c.csn <= hi])[-1]
        assert ledger.commits(Csn(lo), Csn(hi)) == commits[lo:hi]
        assert ledger.csn_at(moment) == max(
            (c.csn for c in commits if c.committed_at <= moment), default=0
        )
        assert ledger.newest_csn() == len(commits)
        ledger.close()
