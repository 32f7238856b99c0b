"""Large tables are looked up by the keys of the changes that join them: whole rows, the right ones, at every time."""

import datetime as dt

import pyarrow as pa
import pytest
from oracle.lake import Lake
from oracle.oracles import Oracles

import rollview
from rollview.sources.delta_lake import lookup, named_rows, read
from rollview.sources.frames import frame
from rollview.spark import fetched, lookups

pytestmark = pytest.mark.spark

VIEWS = {
    "by_number": "SELECT s.id, s.amount, c.state FROM lake.sales s JOIN lake.customer c ON s.cust = c.id",
    "by_text": "SELECT c.state, COUNT(*) AS n, SUM(s.amount) AS total FROM lake.sales s "
    "JOIN lake.customer c ON s.code = c.code AND s.cust = c.id GROUP BY c.state",
    "by_date": "SELECT s.id, c.id AS cust FROM lake.sales s JOIN lake.customer c ON s.day = c.day",
    "by_itself": "SELECT a.id AS a, b.id AS b FROM lake.sales a JOIN lake.sales b ON a.cust = b.id",
}


def day(n):
    return dt.date(2024, 1, 1 + n % 5) if n % 4 else None


def sale(n, amount=7):
    return (n, n % 6 if n % 7 else None, "it's" if n % 2 else "b\\", day(n), amount)


@pytest.fixture
def lake(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(lookups, "KEEP_ROWS", 0)
    monkeypatch.setattr(fetched, "MOST_CHANGED", 0)  # Spark joins
    return made_lake(spark, tmp_path)


def made_lake(spark, tmp_path, vectors=False):
    made = Lake(spark, tmp_path / "lake")
    made.create("sales", "id INT, cust BIGINT, code STRING, day DATE, amount INT",
                map(sale, range(20)), vectors=vectors)  # fmt: skip
    made.create("customer", "id INT, code STRING, day DATE, state INT",
                [(n, "it's" if n % 2 else "b\\", day(n), n) for n in range(6)], vectors=vectors)  # fmt: skip
    return made


@pytest.fixture
def found(monkeypatch):
    """How many rows each lookup found; None where it was left to Spark."""
    rows, right = [], lookup.looked_up

    def told(files, columns, keys):
        table = right(files, columns, keys)
        rows.append(None if table is None else table.num_rows)
        return table

    monkeypatch.setattr(read, "looked_up", told)
    return rows


def lookups_of(warehouse):
    """What the next refresh of a view looks up, as explain says it."""
    (step,) = warehouse.explain("by_number").steps
    return sorted(step.asked, reverse=True)


SAID = [
    "lake.sales is looked up by (cust) for the (id) of changes of lake.customer",
    "lake.customer is looked up by (id) for the (cust) of changes of lake.sales",
]


def history(lake, warehouse, said):
    """Commits of both tables, several to a step, and one step that sees changes of the other table after it."""
    lake.update("customer", {"state": 50}, id=2)
    lake.insert("sales", [sale(n) for n in (30, 31, 32)])
    lake.insert("customer", [(30, "b\\", day(3), 3), (None, "it's", None, 4)])
    lake.delete("sales", id=4)
    warehouse.refresh(to=2)
    lake.update("sales", {"amount": 9}, cust=2)
    lake.delete("customer", id=1)
    warehouse.capture()
    assert lookups_of(warehouse) == said
    warehouse.refresh(to=lake.csn - 1)
    lake.insert("customer", [(1, "it's", day(1), 1), (1, "it's", day(1), 1)])
    warehouse.refresh()


def played(spark, lake, tmp_path, every=1, said=SAID):
    """The history, compared at every time, or at every third."""
    with rollview.open(tmp_path / "wh", spark=spark) as warehouse:
        warehouse.add_source("lake", delta=str(lake.folder))
        lake.registered()
        for name, sql in VIEWS.items():
            warehouse.create(name, sql, policy="incremental_strict")
        history(lake, warehouse, said)
        return Oracles(lake, VIEWS).mismatches(
            warehouse, [(v, t) for v in VIEWS for t in range(lake.csn, -1, -every)]
        )


def test_i1_every_row_of_the_driver_arrives(spark):
    """Also behind a piece of the table that has none, where Spark itself stops."""
    pieces = [pa.table({"a": pa.array(rows, pa.int64())}) for rows in ([1], [], [2])]
    found = frame(spark, pa.concat_tables(pieces), "a bigint").collect()
    assert sorted(row.a for row in found) == [1, 2]


def test_o1_every_time_is_right(spark, lake, tmp_path, found):
    assert played(spark, lake, tmp_path, every=3) == []
    assert any(found) and None not in found


@pytest.mark.slow
def test_o1_keys_that_a_scan_is_told(spark, lake, tmp_path, found, monkeypatch):
    monkeypatch.setattr(named_rows, "MOST_BYTES", 0)
    assert played(spark, lake, tmp_path) == []
    assert None in found


@pytest.mark.slow
def test_the_oracles_see_a_key_that_is_left_out(spark, lake, tmp_path, monkeypatch):
    right = lookup.keys_of
    monkeypatch.setattr("rollview.sources.delta_lake.relation.keys_of",
                        lambda *of: (keys := right(*of)) and keys[:-1])  # fmt: skip
    assert played(spark, lake, tmp_path) != []
