"""Small steps joined on the driver: the right rows at every time, one Spark job, and what is not for the driver."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from oracle import test_lookups
from oracle.lake import Lake
from oracle.oracles import Oracles
from oracle.test_lookups import made_lake

import rollview
from rollview.sources.delta_lake import read
from rollview.spark import fetched, kept, products

pytestmark = pytest.mark.spark


@pytest.fixture
def lake(spark, tmp_path):
    return made_lake(spark, tmp_path)


SAID = [
    "lake.sales is fetched by (cust) for the (id) of changes of lake.customer, and joined by the driver",
    "lake.customer is fetched by (id) for the (cust) of changes of lake.sales, and joined by the driver",
]


def played(spark, lake, tmp_path, every=1):
    """Views with equalities of one and two columns, of numbers, texts and dates, and of a table with itself."""
    return test_lookups.played(spark, lake, tmp_path, every, SAID)


@pytest.fixture
def made(monkeypatch):
    """How many rows each product on the driver has; None where Spark joined."""
    rows, right = [], products.joined

    def told(*of):
        table = right(*of)
        rows.append(None if table is None else table.num_rows)
        return table

    monkeypatch.setattr(products, "joined", told)
    return rows


def test_p1_every_time_is_right(spark, lake, tmp_path, made):
    assert played(spark, lake, tmp_path, every=3) == []
    assert any(made) and None not in made


@pytest.mark.slow
def test_p1_every_time_is_right_where_no_table_is_kept(spark, lake, tmp_path, made, monkeypatch):
    monkeypatch.setattr(kept, "KEEP_ROWS", 0)
    assert played(spark, lake, tmp_path) == []
    assert any(made) and None not in made


@pytest.mark.slow
def test_p3_what_would_be_too_much_is_joined_by_spark(spark, lake, tmp_path, made, monkeypatch):
    monkeypatch.setattr(fetched, "MOST_ROWS", 3)
    assert played(spark, lake, tmp_path) == []
    assert None in made


def no_patch(monkeypatch):
    monkeypatch.setattr(read, "patched", lambda rows, later, _: rows.append_column(
        "_rv_count", pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows)))  # fmt: skip


def no_stamp(monkeypatch):
    monkeypatch.setattr(fetched.pc, "max_element_wise", lambda one, _: one)


def no_last_row(monkeypatch):
    right = products.joined
    monkeypatch.setattr(
        products, "joined", lambda *of: (rows := right(*of)) and rows.slice(0, max(0, rows.num_rows - 1))
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("sabotage", [no_patch, no_stamp, no_last_row])
def test_the_oracles_see(sabotage, spark, lake, tmp_path, monkeypatch):
    sabotage(monkeypatch)
    assert played(spark, lake, tmp_path) != []


TYPES = {
    "bigint": [1, -(2**62)], "int": [2, None], "smallint": [3, 4], "tinyint": [5, 6],
    "double": [float("nan"), -0.0], "float": [0.1, float("-inf")], "boolean": [True, None],
    "string": ["it's", ""], "binary": [b"\0a", None], "date": [dt.date(1, 1, 1), dt.date(1890, 5, 6)],
    "timestamp": [dt.datetime(1500, 1, 1, 2, 3, 4, 5), None],
    "timestamp_ntz": [dt.datetime(1500, 1, 1, 2, 3, 4, 5), dt.datetime(9999, 12, 31)],
    "decimal(10,2)": [Decimal("-1.25"), None], "decimal(38,18)": [Decimal("1e-18"), Decimal("7")],
}  # fmt: skip


def test_l1_values_of_every_plain_type_arrive(spark, tmp_path, made, jobs):
    """Old dates, special numbers and NULLs: as Spark reads and writes them itself."""
    lake = Lake(spark, tmp_path / "lake")
    columns = {f"c{n}": kind for n, kind in enumerate(TYPES)}
    lake.create("t", "k INT, " + ", ".join(f"{c} {kind}" for c, kind in columns.items()))
    lake.create("u", "k INT, d INT", [(0, 1), (1, 2), (None, 3)])
    names = ", ".join(f"t.{c}" for c in columns)
    views = {
        "rows": f"SELECT t.k, {names}, u.d FROM lake.t t JOIN lake.u u ON t.k = u.k",
        "one": "SELECT c11, COUNT(*) AS n, MAX(u.d) AS d FROM lake.t t JOIN lake.u u ON t.k = u.k GROUP BY c11",
        "two": "SELECT c7, COUNT(*) AS n, SUM(c12) AS s FROM lake.t t GROUP BY c7",
    }
    with rollview.open(tmp_path / "wh", spark=spark) as warehouse:
        warehouse.add_source("lake", delta=str(lake.folder))
        lake.registered()
        for name, sql in views.items():
            warehouse.create(name, sql, policy="incremental_strict")
        lake.insert("t", [(n % 2, *(v[n % 2] for v in TYPES.values())) for n in range(3)])
        warehouse.capture()
        before = jobs()
        assert warehouse.refresh("rows").jobs == jobs() - before == 1
        lake.delete("t", k=1)
        warehouse.refresh()
        times = range(lake.csn + 1)
        assert not Oracles(lake, views).mismatches(
            warehouse, [(v, t) for v in views for t in times]
        )
    assert any(made)
