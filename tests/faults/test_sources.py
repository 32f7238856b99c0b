"""Sources that lose, change or hide what was there: each is reported as what it is, and nothing is skipped.

The views over such a table stop at their last good time, say why and still answer; the others go on; and where the
table comes back, so do they.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from world import DATA_VERSIONS, World, check_rows, check_shown, check_timeline

from rollview.errors import ChangesLost, SchemaChanged, SourceError, Unreachable
from rollview.warehouse import Warehouse

pytestmark = [pytest.mark.faults, pytest.mark.spark, pytest.mark.slow]

ONLY_CUST = "SELECT c.cust, c.name FROM lake.cust c"
NO_AMOUNT = "SELECT s.id, s.cust FROM lake.sales s WHERE s.cust > 2"


def commit(world: World, table: str, version: int) -> Path:
    return world.table(table) / "_delta_log" / f"{version:020d}.json"


def position(wh: Warehouse, table: str) -> int:
    relation = wh.ledger.relation(table)
    assert relation is not None
    return relation.position


def caught_up(wh: Warehouse, view: str) -> None:
    """The view is at the newest time and right."""
    status = wh.status(view)
    assert (status.state, status.reason, status.lag) == ("ready", "", 0), status
    assert wh.verify(view).ok


def stops(world: World, wh: Warehouse, view: str, kind: type[SourceError], *said: str) -> None:
    """A refresh raises this, twice the same; the view stays at a good time, says why, and answers."""
    before = wh.view(view).view_time
    for _ in range(2):
        with pytest.raises(SourceError) as caught:
            wh.refresh(view)
        assert type(caught.value) is kind, repr(caught.value)
        for part in said:
            assert part in str(caught.value), str(caught.value)
    status = wh.status(view)
    assert status.state == "stopped"
    assert all(part in status.reason for part in said), status.reason
    assert status.view_time is not None and before is not None and status.view_time >= before
    assert wh.ledger.intents() == []
    check_rows(world, wh, {view: (status.view_time, status.view_time)})


def test_a_commit_file_in_the_middle_is_missing(world: World) -> None:
    """Nothing is skipped: once the file is back, every version is in the timeline once."""
    gone = commit(world, "sales", 3)
    gone.rename(gone.with_suffix(".away"))
    with world.open() as wh:
        wh.create("k", ONLY_CUST)
        for view in ("g", "j"):
            stops(
                world, wh, view, ChangesLost, '"lake.sales"', "version 3", "rollview source resync"
            )
        wh.refresh("k")
        caught_up(wh, "k")
        assert wh.verify(
            "g"
        ).ok  # Delta Lake itself cannot read the table; its checksum lists the files
        assert position(wh, "lake.sales") == 2
        check_timeline(wh)
        gone.with_suffix(".away").rename(gone)
        wh.refresh()
        assert position(wh, "lake.sales") == 4
        assert wh.ledger.newest_csn() == sum(map(len, DATA_VERSIONS.values()))
        for view in ("g", "j"):
            caught_up(wh, view)
            assert [c.position for c in wh.ledger.changes_of("lake.sales", 0, 99)] == [2, 3, 4]


def test_a_newest_commit_that_comes_late_is_not_missed(world: World) -> None:
    newest = commit(world, "sales", 4)
    newest.rename(newest.with_suffix(".away"))
    with world.open() as wh:
        wh.refresh("g")
        assert position(wh, "lake.sales") == 3
        newest.with_suffix(".away").rename(newest)
        wh.refresh("g")
        assert position(wh, "lake.sales") == 4
        caught_up(wh, "g")


def test_all_views_are_refreshed_although_one_stops(world: World) -> None:
    """`refresh()` of everything brings the others to the newest time before it says what failed."""
    gone = commit(world, "sales", 3)
    gone.rename(gone.with_suffix(".away"))
    with world.open() as wh:
        wh.create("k", ONLY_CUST)
        wh.apply("k", to=wh.status("k").oldest)
        with pytest.raises(ChangesLost, match=r"lake\.sales"):
            wh.refresh()
        assert {v.name: v.state for v in wh.ledger.views()} == {
            "g": "stopped",
            "j": "stopped",
            "k": "ready",
        }
        caught_up(wh, "k")


def test_the_log_was_cleaned_up_before_it_was_captured(world: World) -> None:
    checkpoint(world, "sales")
    for version in range(5):
        commit(world, "sales", version).unlink()
    with world.open() as wh:
        stops(world, wh, "g", ChangesLost, '"lake.sales"', "version 3", "the oldest available is 5")


def test_the_log_was_cleaned_up_after_it_was_captured(world: World) -> None:
    """What was captured is not needed any more, but for its files; the view rolls on."""
    checkpoint(world, "sales")
    for version in range(3):
        commit(world, "sales", version).unlink()
    with world.open() as wh:
        wh.refresh("g")
        assert (wh.status("g").state, wh.status("g").lag) == ("ready", 0)


def checkpoint(world: World, table: str) -> None:
    """Let Delta Lake write a checkpoint of the newest version, as its clean-up of logs needs one."""
    world.sql(f"ALTER TABLE {{{table}}} SET TBLPROPERTIES ('delta.checkpointInterval' = '1')")


def test_change_files_were_vacuumed(world: World) -> None:
    """It shows only when they are read; the timeline has them, the views do not."""
    shutil.rmtree(world.table("sales") / "_change_data")
    with world.open() as wh:
        for view in ("g", "j"):
            stops(world, wh, view, ChangesLost, '"lake.sales"', "_change_data", "VACUUM")
        check_timeline(wh)
        check_shown(world, wh)


def test_the_table_is_gone_and_comes_back(world: World) -> None:
    table = world.table("cust")
    table.rename(table.with_name(".away"))
    with world.open() as wh:
        wh.create("k", NO_AMOUNT)
        stops(world, wh, "g", Unreachable, str(table), "hint: bring the table back")
        caught_up(wh, "k")
        table.with_name(".away").rename(table)
        wh.drop("k")
        wh.refresh()
        for view in ("g", "j"):
            caught_up(wh, view)


def test_a_torn_commit(world: World) -> None:
    torn = commit(world, "cust", 2)
    whole = torn.read_bytes()
    torn.write_bytes(whole[: len(whole) // 2])
    with world.open() as wh:
        stops(world, wh, "g", SourceError, str(torn), "is not valid")
        assert position(wh, "lake.cust") == 1
        torn.write_bytes(whole)
        wh.refresh()
        for view in ("g", "j"):
            caught_up(wh, view)


def test_a_table_was_made_anew_at_the_same_place(world: World) -> None:
    shutil.rmtree(world.table("cust"))
    world.sql(
        "CREATE TABLE {cust} (cust BIGINT, name STRING) USING delta"
        " TBLPROPERTIES (delta.enableChangeDataFeed = true)",
        *["INSERT INTO {cust} VALUES (1, 'new')"] * 4,
    )
    with world.open() as wh:
        wh.create("k", NO_AMOUNT)
        stops(world, wh, "g", ChangesLost, '"lake.cust" is no longer the one that was registered')
        assert position(wh, "lake.cust") == 1
        caught_up(wh, "k")


def test_restore_is_a_change_like_any_other(world: World) -> None:
    world.sql("RESTORE TABLE {sales} TO VERSION AS OF 1")
    with world.open() as wh:
        wh.refresh()
        for view in ("g", "j"):
            caught_up(wh, view)
        assert position(wh, "lake.sales") == 5
        for view in ("g", "j"):
            wh.apply(view, to=1)
            assert wh.verify(view).ok


def test_optimize_changes_no_rows_and_is_passed_over(world: World) -> None:
    with world.open() as wh:
        world.sql("INSERT INTO {sales} VALUES (300, 1, 5)")
        wh.refresh()
        newest = wh.ledger.newest_csn()
        world.sql("OPTIMIZE {sales}")
        assert [r.technique for r in wh.refresh()] == ["NO_OP", "NO_OP"]
        assert wh.ledger.newest_csn() == newest
        assert position(wh, "lake.sales") == 6
        world.sql("INSERT INTO {sales} VALUES (301, 1, 5)")
        assert [r.technique for r in wh.refresh()] == ["GROUP_AGGREGATE", "APPEND_ONLY"]
        for view in ("g", "j"):
            caught_up(wh, view)


def test_the_change_feed_is_switched_off(world: World) -> None:
    world.sql(
        "ALTER TABLE {sales} SET TBLPROPERTIES (delta.enableChangeDataFeed = false)",
        "INSERT INTO {sales} VALUES (300, 1, 5)",
    )
    with world.open() as wh:
        said = ('"lake.sales" no longer records its changes', "hint: ALTER TABLE")
        stops(world, wh, "g", ChangesLost, *said)
        assert position(wh, "lake.sales") == 4
        check_timeline(wh)


def test_a_new_column_that_no_view_reads(world: World) -> None:
    world.sql(
        "ALTER TABLE {sales} ADD COLUMNS (note STRING)",
        "INSERT INTO {sales} VALUES (300, 1, 5, 'x')",
        "UPDATE {sales} SET note = 'y' WHERE id < 10",
    )
    with world.open() as wh:
        wh.refresh()
        for view in ("g", "j"):
            caught_up(wh, view)
        wh.sql("CREATE MATERIALIZED VIEW noted AS SELECT s.id, s.note FROM lake.sales s")
        caught_up(wh, "noted")


def test_a_column_that_was_just_added_can_be_read_at_once(world: World) -> None:
    """Also by a view over all columns, and although no row has it yet."""
    with world.open() as wh:
        wh.sql("CREATE MATERIALIZED VIEW everything AS SELECT * FROM lake.sales")
        world.sql("ALTER TABLE {sales} ADD COLUMNS (note STRING)")
        wh.sql("CREATE MATERIALIZED VIEW noted AS SELECT s.id, s.note FROM lake.sales s")
        world.sql("INSERT INTO {sales} VALUES (300, 1, 5, 'x')")
        wh.refresh(["noted", "everything"])
        caught_up(wh, "noted")
        caught_up(wh, "everything")
        assert wh.table("everything").columns == ["id", "cust", "amount"]


MAPPED = "ALTER TABLE {sales} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
CHANGED = {
    "dropped": (
        MAPPED,
        "ALTER TABLE {sales} DROP COLUMN amount",
        "INSERT INTO {sales} VALUES (300, 4)",
    ),
    "renamed": (
        MAPPED,
        "ALTER TABLE {sales} RENAME COLUMN amount TO price",
        "INSERT INTO {sales} VALUES (300, 4, 5)",
    ),
    "retyped": (),
}


@pytest.mark.parametrize("how", CHANGED)
def test_a_column_that_a_view_reads_is(world: World, how: str) -> None:
    """The views that read it stop before the change; one that does not goes on."""
    with world.open() as wh:
        wh.sql(
            f"CREATE MATERIALIZED VIEW k TBLPROPERTIES ('policy' = 'incremental') AS {NO_AMOUNT}"
        )
        world.sql(*CHANGED[how])
        if how == "retyped":
            rows = world.spark.createDataFrame(
                [(300, 4, 5.0)], "id BIGINT, cust BIGINT, amount DOUBLE"
            )
            writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
            writer.save(str(world.table("sales")))
        for view in ("g", "j"):
            stops(world, wh, view, SchemaChanged, '"lake.sales"', '"amount" was', how)
        wh.refresh("k")
        caught_up(wh, "k")
        newest = wh.ledger.newest_csn()
        assert newest == sum(map(len, DATA_VERSIONS.values())) + 1, "nothing is skipped"
        for view in ("g", "j"):
            assert wh.status(view).view_time == newest - 1, "the last good time"
