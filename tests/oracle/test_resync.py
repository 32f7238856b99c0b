"""A table whose changes are lost is registered anew; its views recompute and say so, others go on."""

import shutil

import pytest

import rollview
from rollview.errors import ChangesLost, SchemaChanged, TimeNotReached

pytestmark = pytest.mark.spark


def write(spark, path, sql, mode="append"):
    spark.sql(sql).coalesce(1).write.format("delta").mode(mode).option(
        "delta.enableChangeDataFeed", "true"
    ).save(str(path))


@pytest.fixture
def shop(spark, tmp_path):
    write(spark, tmp_path / "lake" / "sales", "SELECT 1 AS id, 10 AS amount")
    write(spark, tmp_path / "lake" / "other", "SELECT 1 AS id")
    with rollview.open(tmp_path / "warehouse", spark) as wh:
        wh.add_source("lake", delta=str(tmp_path / "lake"))
        wh.create("total", "SELECT COUNT(*) AS n, SUM(amount) AS amount FROM lake.sales")
        wh.create("ids", "SELECT id FROM lake.other")
        yield wh, tmp_path / "lake"


def lose(spark, lake, sql="SELECT 5 AS id, 50 AS amount"):
    """The table is dropped and made again at the same path."""
    shutil.rmtree(lake / "sales")
    write(spark, lake / "sales", sql)


def test_a_table_registered_anew_is_right_again(spark, shop):
    wh, lake = shop
    lose(spark, lake)
    with pytest.raises(ChangesLost):
        wh.refresh("total")
    assert wh.status("total").state == "stopped"
    assert [tuple(r) for r in wh.table("total").collect()] == [(1, 10)]

    assert wh.resync("lake").added == ("lake.sales",)
    done = wh.refresh("total")
    assert (done.technique, done.reason.split(":")[0]) == (
        "COMPLETE_RECOMPUTE",
        "CHANGE_SET_MISSING",
    )
    assert wh.status("total").state == "ready"
    assert [tuple(r) for r in wh.table("total").collect()] == [(1, 50)]

    write(spark, lake / "sales", "SELECT 6 AS id, 60 AS amount")
    write(spark, lake / "other", "SELECT 2 AS id")
    assert [r.technique for r in wh.refresh(["total", "ids"])] == ["GROUP_AGGREGATE", "APPEND_ONLY"]
    assert wh.verify("total").ok
    assert wh.verify("ids").ok


@pytest.mark.slow
def test_a_strict_view_waits_to_be_told(spark, shop):
    wh, lake = shop
    wh.alter("total", {"policy": "incremental_strict"})
    lose(spark, lake)
    with pytest.raises(ChangesLost):
        wh.refresh("total")
    wh.resync("lake.sales")
    with pytest.raises(ChangesLost, match="no longer has its changes"):
        wh.refresh("total")
    assert wh.refresh("total", full=True).technique == "COMPLETE_RECOMPUTE"
    assert wh.verify("total").ok


def test_a_table_with_other_columns_is_refused(spark, shop):
    wh, lake = shop
    lose(spark, lake, "SELECT 5 AS id, 'fifty' AS amount")
    before = wh.ledger.relation("lake.sales")
    with pytest.raises(SchemaChanged, match="amount"):
        wh.resync("lake.sales")
    assert wh.ledger.relation("lake.sales").table_id == before.table_id


def test_a_table_is_not_asked_for_a_time_before_it_was_registered(spark, shop):
    wh, lake = shop
    write(spark, lake / "other", "SELECT 2 AS id")
    assert wh.capture().csn == 1
    write(spark, lake.parent / "more" / "late", "SELECT 7 AS id")
    wh.add_source("more", delta=str(lake.parent / "more"))
    assert [tuple(r) for r in wh.query("SELECT id FROM more.late").collect()] == [(7,)]
    with pytest.raises(TimeNotReached, match="registered at 1"):
        wh.query("SELECT id FROM more.late", as_of=0)
