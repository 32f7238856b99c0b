"""Z1 to Z3: at which times a view with a resolution is exact, and what is said about the others."""

from __future__ import annotations

from dataclasses import replace

import ledger_rows as make
import pytest

from rollview.define import alter
from rollview.errors import ConfigError, TimeNotReached
from rollview.ledger.resolution import MOST_CELLS, cells, check_exact
from rollview.ledger.store import Ledger
from rollview.views.blocks import BagReduce, Column, Definition, Input, Join, Union


def reading(relation):
    column = Column("id", "`t`.`id`", "bigint")
    return Union((Join((Input("t", relation, ("id",)),), None, (column,)),))


@pytest.fixture
def ledger(tmp_path):
    """CSN n was committed n seconds after the start; "v" is rounded to 10 seconds, "w" reads it."""
    opened = Ledger.open(tmp_path / "wh", None, create=True)
    make.registered(opened)
    for csn in range(1, 41):
        opened.add_commit(make.commit(csn, csn - 0.123456), [make.change(csn)])
    largest = BagReduce(reading("lake.sales"), (), (Column("id", "MAX(`id`)", "bigint"),))
    for name, block, options in (
        ("v", largest, {"resolution": "10 seconds"}), ("w", reading("v"), {})
    ):  # fmt: skip
        definition = Definition(name, "SELECT", (block,))
        row = replace(make.view(name), definition=definition, options=options)
        opened.add_view(row, [replace(make.blocks(name)[0], number=0, frontier=(35,))])
    for lo, hi in ((3, 17), (18, 35)):  # two steps, of which the second begins inside a cell
        opened.add_step(make.step(f"s{lo}", lo, hi))
    yield opened
    opened.close()


def test_z1_cells_end_where_the_next_commit_is_in_another_one(ledger):
    assert cells(ledger, 10, 0, 40) == (9, 19, 29, 39, 40)
    assert cells(ledger, 10, 12, 25) == (19, 25)
    assert cells(ledger, 0, 0, 40) == ()
    assert len(cells(ledger, 0.001, 0, 40)) == 40 <= MOST_CELLS


@pytest.mark.parametrize("time", [2, 9, 17, 19, 29, 35])
@pytest.mark.parametrize("view", ["v", "w"])
def test_z2_ends_of_cells_and_of_steps_can_be_read(ledger, view, time):
    check_exact(ledger, view, time)


@pytest.mark.parametrize(
    ("time", "before", "after"),
    [(3, 2, 9), (8, 2, 9), (10, 9, 17), (16, 9, 17), (18, 17, 19), (24, 19, 29), (34, 29, 35)],
)
@pytest.mark.parametrize("view", ["v", "w"])
def test_z2_other_times_are_refused_with_their_neighbours(ledger, view, time, before, after):
    with pytest.raises(TimeNotReached) as refused:
        check_exact(ledger, view, time)
    assert f'view "{view}" cannot be read at {time}' in refused.value.what
    assert f"{before} and {after}" in refused.value.detail
    assert f"{before} or {after}" in refused.value.hint


def test_a_resolution_cannot_be_changed_under_the_view(ledger):
    with pytest.raises(ConfigError, match="cannot be changed"):
        alter(ledger, "v", {"resolution": "1 second"})
    alter(ledger, "v", {"resolution": 10, "comment": "the same"})
