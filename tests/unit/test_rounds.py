"""rounds.py: who runs beside whom. What runs side by side is held to the oracle in tests/oracle."""

from dataclasses import dataclass, replace

import ledger_rows as row
import pytest

from rollview.calculus.sharing import Core
from rollview.changes import Csn
from rollview.ledger.rows import SchemaEpoch
from rollview.ledger.store import Ledger
from rollview.rounds import levels, may_wait, steady
from rollview.spark.relations import Relations
from rollview.views.parse import parse_view

SCHEMA = {"t": (("a", "int"),)}


@dataclass
class Row:
    name: str
    definition: object


def described(query):
    return [("a", "int")]


def rows(*reads):
    schema = dict(SCHEMA)
    found = []
    for name, read in reads:
        found.append(Row(name, parse_view(name, f"SELECT a FROM {read}", schema, described)))
        schema[name] = SCHEMA["t"]
    return found


def names(found):
    return [[row.name for row in level] for level in levels(found)]


def test_views_of_tables_run_side_by_side():
    assert names(rows(("v", "t"), ("w", "t"))) == [["v", "w"]]


def test_u1_a_view_comes_after_the_views_that_it_reads_whatever_the_order_asked_for():
    found = rows(("v", "t"), ("w", "v"), ("x", "w"), ("y", "v"))
    assert names(found) == [["v"], ["w", "y"], ["x"]]
    assert names(found[::-1]) == [["v"], ["y", "w"], ["x"]]


def test_views_that_are_not_asked_for_are_left_out():
    found = rows(("v", "t"), ("w", "v"), ("x", "w"))
    assert names([found[0], found[2]]) == [["v", "x"]]


def test_a_view_that_is_named_twice_runs_once():
    (view,) = rows(("v", "t"))
    assert names([view, view]) == [["v"]]


@pytest.fixture
def relations(tmp_path):
    """A view that shows 2 of 4 transactions, each a second after the one before."""
    ledger = row.registered(Ledger.open(tmp_path, create=True))
    with ledger.atomic():
        for csn in range(1, 5):
            ledger.add_commit(row.commit(csn), [row.change(csn)])
        ledger.add_view(row.view(), row.blocks())
    yield Relations(None, ledger, tmp_path)
    ledger.close()


def waits(relations, until, **changed):
    shown = replace(row.view(state="ready"), view_time=Csn(2), **changed)
    return may_wait(relations, shown, Csn(4), row.at(until))


def test_u3_a_view_waits_while_it_is_in_time(relations):
    """The oldest transaction that it does not show is of second 3, and a refresh takes about a second."""
    lag = {"target_lag": "1 minute"}
    assert waits(relations, 10, options=lag)
    assert waits(relations, 55, options=lag)
    assert not waits(relations, 62.9, options=lag), "a refresh takes some of the time"
    assert not waits(relations, 64, options=lag)


def test_u3_who_set_no_target_lag_or_is_not_ready_does_not_wait(relations):
    assert not waits(relations, 10, options={})
    assert not waits(relations, 10, options={"target_lag": "1 minute"}, state="stopped")


def test_u3_a_view_that_shows_everything_has_nothing_to_wait_for(relations):
    shown = replace(row.view(state="ready"), view_time=Csn(4), options={"target_lag": "1 minute"})
    assert not may_wait(relations, shown, Csn(4), row.at(10))


@pytest.mark.parametrize(("csn", "shared"), [(0, True), (1, False), (3, False)])
def test_u4_a_table_whose_columns_changed_since_a_view_stood_there_is_not_shared(
    relations, csn, shared
):
    """The view's inputs stand at 1 and 2; the columns changed after transaction `csn`."""
    columns = (("id", "bigint"),)
    relations.ledger.add_schema_epoch(SchemaEpoch("lake.sales", 3, Csn(0), columns))
    relations.ledger.add_schema_epoch(SchemaEpoch("lake.sales", 4 + csn, Csn(csn), columns))
    sales, other = (
        Core((name, "lake.customer"), frozenset()) for name in ("lake.sales", "lake.more")
    )
    found = steady(relations, [row.view()], {sales: (("id",), ()), other: ((), ())})
    assert set(found) == ({sales, other} if shared else {other})
