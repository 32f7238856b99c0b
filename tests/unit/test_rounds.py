"""rounds.py: who runs beside whom. What runs side by side is held to the oracle in tests/oracle."""

from dataclasses import dataclass

from rollview.rounds import levels
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
