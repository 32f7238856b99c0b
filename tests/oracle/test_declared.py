"""Functions of the user's own that are declared deterministic: a Python one and one in SQL, in views and in queries."""

from __future__ import annotations

from pathlib import Path

import pytest
from oracle.lake import Lake
from oracle.oracles import Oracles
from pyspark.sql import SparkSession

import rollview
from rollview.errors import RefreshError, ViewRefused

pytestmark = pytest.mark.spark

VIEW = (
    "SELECT TEST_Twice(s.amount) AS t, COUNT(*) AS n, SUM(test_plus_one(s.id)) AS total FROM lake.sales s"
    " WHERE test_twice(s.id) > 1 GROUP BY 1"
)


def test_a_declared_function_is_called_by_views_and_queries(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = Lake(spark, tmp_path / "lake")
    lake.create("sales", "id INT, amount INT", [(1, 10), (2, 10), (0, 7)])
    names = ["test_twice", "TEST_PLUS_ONE", "test_nowhere"]
    with rollview.open(tmp_path / "wh", spark, deterministic_functions=names) as warehouse:
        warehouse.add_source("lake", delta=lake.folder)
        lake.registered()
        with pytest.raises(ViewRefused, match="does not have a function") as caught:
            warehouse.create("v", VIEW)
        assert "TEST_TWICE" in caught.value.detail and "register" in caught.value.hint
        assert warehouse.ledger.views() == []

        spark.udf.register("test_twice", lambda x: None if x is None else 2 * x, "int")
        spark.sql("CREATE TEMPORARY FUNCTION test_plus_one(x INT) RETURNS INT RETURN x + 1")
        warehouse.create("v", VIEW, policy="incremental")
        lake.insert("sales", [(3, 10), (4, None)])
        lake.delete("sales", id=1)
        warehouse.refresh("v")
        oracles = Oracles(lake, {"v": VIEW}, spark_only=frozenset(["v"]))
        oracles.hold(warehouse, [("v", t) for t in range(lake.csn + 1)])
        assert warehouse.verify("v").ok
        assert warehouse.query("SELECT MAX(test_twice(t)) AS m FROM v").collect()[0].m == 40

        lake.insert("sales", [(5, 5)])
        spark.sql("DROP TEMPORARY FUNCTION test_plus_one")
        with pytest.raises(RefreshError, match="does not have a function") as failed:
            warehouse.refresh("v")
        assert "TEST_PLUS_ONE" in failed.value.detail
        assert warehouse.status("v").view_time == lake.csn - 1
    with rollview.open(tmp_path / "wh", spark) as undeclared:
        with pytest.raises(ViewRefused, match="function TEST_TWICE") as caught:
            undeclared.create("w", "SELECT test_twice(id) AS x FROM lake.sales")
        assert "deterministic_functions" in caught.value.hint
