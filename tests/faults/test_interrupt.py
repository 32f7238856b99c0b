"""A build that is interrupted: readable not before it is whole, gone on with, never done twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from world import World, check_finished, check_rows, check_whole, create_sql, died

from rollview.errors import TimeNotReached
from rollview.warehouse import Warehouse

pytestmark = [pytest.mark.faults, pytest.mark.spark]

PIECES = 3  # 30 rows at 10 a piece


class Interrupting:
    """A watcher of progress that presses Ctrl-C once `pieces` are done."""

    def __init__(self, pieces: int | None) -> None:
        self.pieces, self.seen = pieces, list[tuple[int, int, str]]()

    def __call__(self, done: int, total: int, what: str) -> None:
        self.seen.append((done, total, what))
        if done == self.pieces:
            raise KeyboardInterrupt


def staged(wh: Warehouse) -> dict[str, int]:
    """The finished pieces of view n, and when each was made."""
    block = wh.ledger.block("n")
    assert block is not None
    return {p.name: p.stat().st_mtime_ns for p in (wh.path / block.folder).glob("build/*/piece-*")}


def interrupted(world: World, pieces: int) -> Warehouse:
    wh = Warehouse(world.warehouse, world.spark, progress=Interrupting(pieces))
    with pytest.raises(KeyboardInterrupt):
        wh.sql(create_sql("n"))
    return wh


def test_a_view_that_is_being_built_says_so(world: World) -> None:
    with interrupted(world, 1) as wh:
        status = wh.status("n")
        assert (status.state, status.view_time) == ("building", None)
        newest = wh.ledger.newest_csn()
        for read in (
            lambda: wh.table("n"),
            lambda: wh.table("n", as_of=newest),
            lambda: wh.changes("n", newest),
            lambda: wh.verify("n"),
            lambda: wh.query("SELECT count(*) FROM n"),
            lambda: wh.apply("n"),
            lambda: wh.fold("n"),
            lambda: wh.sql("CREATE MATERIALIZED VIEW m AS SELECT n.cust FROM n"),
        ):
            with pytest.raises(TimeNotReached, match='view "n" is still being built') as caught:
                read()
            assert "refresh" in caught.value.hint
        assert [v.name for v in wh.ledger.views()] == ["g", "j", "n"]
        assert (wh.status("n").state, wh.status("n").view_time) == ("building", None)


@pytest.mark.slow
@pytest.mark.parametrize("process", ["the same", "another"])
def test_the_next_refresh_goes_on_with_the_build(world: World, process: str) -> None:
    wh = interrupted(world, 1)
    before = staged(wh)
    assert list(before) == [f"piece-0-of-{PIECES}"]
    built_at = wh.ledger.newest_csn()
    if process == "another":
        died(wh)
        wh = world.open()
    watcher = wh.progress = Interrupting(PIECES)  # once more, after the last piece
    with pytest.raises(KeyboardInterrupt):
        wh.refresh("n")
    assert staged(wh).items() >= before.items()
    assert len(staged(wh)) == PIECES
    assert wh.status("n").state == "building"

    watcher = wh.progress = Interrupting(None)
    report = wh.refresh("n")
    assert report.view_time == built_at
    assert [done for done, _, _ in watcher.seen][-1] == PIECES
    check_rows(world, wh, {"n": (built_at, built_at)})
    check_finished(world, wh, ("n",))
    wh.close()


@pytest.mark.slow
def test_it_is_built_at_its_own_time_and_rolls_on(world: World, tmp_path: Path) -> None:
    """The sources move on between the interruption and the refresh."""
    hidden = hide_later_commits(world, tmp_path / "hidden")
    with interrupted(world, 2) as wh:
        built_at = wh.ledger.newest_csn()
    show_again(hidden)
    with world.open() as wh:
        report = wh.refresh("n")
        assert report.view_time == wh.ledger.newest_csn() > built_at
        face = wh.ledger.block("n")
        assert face is not None and face.oldest == built_at
        check_finished(world, wh, ("n",))


@pytest.mark.slow
def test_a_view_can_be_dropped_in_the_middle_of_its_build(world: World) -> None:
    """And another of the same name takes nothing from it, although it is built at the same time."""
    with interrupted(world, 3) as wh:
        wh.drop("n")
        wh.progress = Interrupting(None)
        wh.sql(create_sql("n").replace("s.id < 20", "s.id < 10"))
        rows = wh.table("n").count()
        assert rows == wh.query("SELECT cust FROM lake.sales WHERE id < 10").count()
        wh.drop("n")
        check_whole(world, wh)


def hide_later_commits(world: World, away: Path) -> list[tuple[Path, Path]]:
    """Take the commits that nobody captured yet out of the logs."""
    away.mkdir()
    moved = []
    for table, captured in (("sales", 2), ("cust", 1)):
        for file in sorted((world.table(table) / "_delta_log").glob("0*")):
            if int(file.name.split(".")[0]) > captured:
                moved.append((file, away / f"{table}-{file.name}"))
    for file, hidden in moved:
        file.rename(hidden)
    return moved


def show_again(moved: list[tuple[Path, Path]]) -> None:
    for file, hidden in moved:
        hidden.rename(file)
