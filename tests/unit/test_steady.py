"""L19: in a round the timeline is read once, and views still move."""

import ledger_rows as make

from rollview.changes import Csn
from rollview.ledger.steady import SteadyLedger
from rollview.ledger.store import Ledger

TABLE = "lake.sales"


def said(ledger):
    return (
        ledger.newest_csn(), ledger.changes_of(TABLE, Csn(0), Csn(9)), ledger.changed_rows(TABLE, Csn(0), Csn(9)),
        ledger.last_change(TABLE, Csn(9)), ledger.relation(TABLE), ledger.schema_epochs(TABLE),
    )  # fmt: skip


def test_l19_what_capture_writes_stands_still_and_views_do_not(tmp_path):
    ledger = make.registered(Ledger.open(tmp_path, create=True))
    ledger.add_commit(make.commit(1), [make.change(1)])
    steady = SteadyLedger(ledger)
    before = said(steady)
    assert before == said(ledger)
    ledger.add_commit(make.commit(2), [make.change(2)])
    assert said(steady) == before != said(ledger)
    assert said(SteadyLedger(ledger)) == said(ledger)
    steady.add_view(make.view(), make.blocks())
    assert ledger.view("v") == steady.view("v") is not None
    steady.set_view("v", state="ready")
    assert steady.view("v").state == ledger.view("v").state == "ready"


def test_l19_what_was_said_is_nobodys_to_change(tmp_path):
    ledger = make.registered(Ledger.open(tmp_path, create=True))
    ledger.add_commit(make.commit(1), [make.change(1)])
    steady = SteadyLedger(ledger)
    steady.changes_of(TABLE, Csn(0), Csn(9)).clear()
    assert len(steady.changes_of(TABLE, Csn(0), Csn(9))) == 1


def test_l20_a_row_of_ones_own_is_read_once_until_it_is_written(tmp_path):
    ledger = make.registered(Ledger.open(tmp_path, create=True))
    ledger.add_view(make.view(), make.blocks())
    name = make.blocks()[0].name
    steady = SteadyLedger(ledger).owning(["v"])
    before = steady.block(name), steady.view("v")
    ledger.set_block(name, rows=77)
    ledger.set_view("v", state="stopped")
    assert (steady.block(name), steady.view("v")) == before, "somebody else wrote them"
    assert SteadyLedger(ledger).block(name).rows == 77, "not its own: read anew"
    with steady.atomic():
        assert steady.block(name).rows == 77, "in a transaction, read anew"
        steady.set_block(name, rows=78)
    steady.set_view("v", reason="told")
    assert (steady.block(name), steady.view("v")) == (ledger.block(name), ledger.view("v"))
    assert steady.block(name).rows == 78
    assert steady.blocks("v") == ledger.blocks("v")


def test_l20_the_rows_of_all_views_of_a_round_are_read_together(tmp_path, monkeypatch):
    ledger = make.registered(Ledger.open(tmp_path, create=True))
    ledger.add_view(make.view(), make.blocks())
    steady = SteadyLedger(ledger).owning(["v"])
    want = ledger.view("v"), ledger.blocks("v"), ledger.block(make.blocks()[0].name)

    def asked(*_: object) -> None:
        raise AssertionError("asked again")

    monkeypatch.setattr(Ledger, "_rows", asked)
    assert (steady.view("v"), steady.blocks("v"), steady.block(make.blocks()[0].name)) == want


def test_l20_what_is_a_view_is_no_table_and_builds_that_were_left_are_known(tmp_path, monkeypatch):
    ledger = make.registered(Ledger.open(tmp_path, create=True))
    for name in ("left", "whole"):
        ledger.add_view(make.view(name), make.blocks(name))
    ledger.begin("build", "left", {})
    assert [ledger.being_built(name) for name in ("left", "whole")] == [True, False]
    known = SteadyLedger(ledger).owning(["left", "whole"])
    other = SteadyLedger(ledger).owning(["whole"])
    assert other.being_built("left"), "not its own: read anew"

    def asked(*_: object) -> None:
        raise AssertionError("asked again")

    monkeypatch.setattr(Ledger, "_rows", asked)
    assert [known.being_built(name) for name in ("left", "whole")] == [True, False]
    assert known.relation("left") is known.relation("whole") is None
