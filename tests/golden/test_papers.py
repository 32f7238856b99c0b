"""What the papers say of stored changes, on their own examples; the rows themselves are golden cases (paper_*.sql)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from duck_engine import listed
from golden.case import FOLDER, read
from golden.play import Play, defined

from rollview.calculus import queries
from rollview.changes import COUNT, STAMP, Change, Row, net


@contextmanager
def played(name: str) -> Iterator[Play]:
    """The case's view, built at its first commit and refreshed to its last."""
    case = read(FOLDER / f"{name}.sql")
    with Play(case.tables, case.views, defined(case.tables, case.views)) as play:
        first, *rest = case.commits
        play.commit(first)
        play.build()
        for changes in rest:
            play.commit(changes)
        play.refresh(play.now)
        yield play


def logged(play: Play) -> list[Change]:
    """The stored changes of the view, as they are in its log."""
    columns = listed((*(c.name for c in queries.kept_keys(play.face.block)),
                      *(c.name for c in queries.kept_sums(play.face.block)), COUNT, STAMP))  # fmt: skip
    rows = play.warehouse.run(f"SELECT {columns} FROM {play.face.log} ORDER BY {STAMP}, {COUNT}")
    return [Change(stamp, count, tuple(row)) for *row, count, stamp in rows]


def test_paper_001_two_sales_at_once_come_to_two_changes_of_the_key() -> None:
    """Lemma 11: for each key at most one row that goes and one that comes; in between each sale has its own stamp."""
    with played("paper_001_net_effect") as play:
        changes = logged(play)
        names = {
            number: f"{who}'s Petunias" for number, who in enumerate(("Paul", "Peter", "Patty"), 1)
        }
        assert [(c.stamp, c.count, c.row[1]) for c in changes] == [
            (2, -1, names[1]), (2, 1, names[2]), (3, -1, names[2]), (3, 1, names[3]),
        ]  # fmt: skip
        assert net(changes) == {(52, names[1]): -1, (52, names[3]): 1}


def test_paper_001_a_summary_change_is_kept_though_its_count_is_zero() -> None:
    """Five rows come and seven go: two fewer. One row for another: no fewer, but another sum."""
    with played("paper_001_state_count") as play:
        by_stamp: dict[int, list[tuple[int, Row]]] = {}
        for change in logged(play):
            by_stamp.setdefault(change.stamp, []).append((change.count, change.row))
        ((two_fewer, _),) = by_stamp[2]
        ((no_fewer, row),) = by_stamp[3]
        ((last, _),) = by_stamp[4]
        assert (two_fewer, no_fewer, last) == (-2, 0, -5)
        assert row[0] == "WI" and 7 in row  # 9 for 2


def test_paper_004_the_ways_to_a_pair_are_counted() -> None:
    """Example 4: two ways to (a, c), one to (a, e); what the lost link takes is one way of each."""
    with played("paper_004_hop_distinct") as play:
        gone = {c.row: c.count for c in logged(play) if c.stamp == 2}
        assert gone == {("a", "c"): -1, ("a", "e"): -1}
        pair = listed(c.name for c in play.face.block.columns)
        counted = {}
        for time in (1, 2):
            state = f"SELECT {pair}, SUM({COUNT}) AS n FROM ({play.face.signed_state(time)}) GROUP BY ALL"
            counted[time] = set(play.warehouse.run(f"FROM ({state}) WHERE n <> 0"))
        assert counted == {1: {("a", "c", 2), ("a", "e", 1)}, 2: {("a", "c", 1)}}


@pytest.mark.parametrize("case", sorted(FOLDER.glob("paper_*.sql")), ids=lambda path: path.stem)
def test_the_examples_are_there(case: object) -> None:
    assert read(case).written.get("rows"), "make golden-rewrite"
