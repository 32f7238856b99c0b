"""A round over views that share a join: each is what its recompute is, also while a schema change stops one of them."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

import rollview
from rollview.errors import SchemaChanged

pytestmark = pytest.mark.spark

JOIN = "FROM lake.sales s JOIN lake.kind k ON s.kind = k.kind"


def write(spark, path, sql, mode="append"):
    writer = spark.sql(sql).coalesce(1).write.format("delta").mode(mode)
    writer.option("delta.enableChangeDataFeed", "true").option("overwriteSchema", "true").save(
        str(path)
    )


def test_a_view_that_a_schema_change_stops_does_not_stop_those_that_share_its_join(spark, tmp_path):
    lake = tmp_path / "lake"
    write(spark, lake / "sales", "SELECT 1 AS id, 1 AS kind, 10 AS amount")
    write(spark, lake / "kind", "SELECT 1 AS kind, 'one' AS name")
    with rollview.open(tmp_path / "wh", spark) as wh:
        wh.add_source("lake", delta=str(lake))
        for name, column in (("ids", "s.id"), ("names", "k.name"), ("amounts", "s.amount")):
            wh.create(name, f"SELECT {column} {JOIN}", policy="incremental_strict")
        write(spark, lake / "sales", "SELECT 2 AS id, 1 AS kind, 20 AS amount")
        assert {r.technique for r in wh.refresh()} == {"APPEND_ONLY"}

        write(spark, lake / "sales", "SELECT 3 AS id, 1 AS kind", "overwrite")  # no amount any more
        with pytest.raises(SchemaChanged, match="amount"):
            wh.refresh()
        assert {s.name: (s.state, s.view_time) for s in wh.status()} == {
            "ids": ("ready", 2), "names": ("ready", 2), "amounts": ("stopped", 1),
        }  # fmt: skip
        assert wh.verify("ids").ok and wh.verify("names").ok
        assert sorted(r[0] for r in wh.table("amounts").collect()) == [10, 20]

        wh.drop("amounts")
        write(spark, lake / "sales", "SELECT 4 AS id, 1 AS kind")
        wh.refresh()
        assert sorted(r[0] for r in wh.table("ids").collect()) == [3, 4]
        assert wh.verify("ids").ok and wh.verify("names").ok


def test_e2_queries_of_two_threads_each_see_their_own_time(spark, tmp_path):
    lake = tmp_path / "lake"
    write(spark, lake / "sales", "SELECT 1 AS id")
    with rollview.open(tmp_path / "wh", spark) as wh:
        wh.add_source("lake", delta=str(lake))
        write(spark, lake / "sales", "SELECT 2 AS id")
        wh.capture()
        start = Barrier(2)

        def asked(time):
            start.wait()
            return [wh.query("SELECT id FROM lake.sales", as_of=time) for _ in range(20)]

        with ThreadPoolExecutor(2) as pool:
            answers = dict(zip((0, 1), pool.map(asked, (0, 1)), strict=True))
        for time, frames in answers.items():
            assert {frame.count() for frame in frames} == {time + 1}
