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
from rollview import propagate
from rollview.sources.delta_lake import read
from rollview.sources.delta_lake.named_rows import Stored
from rollview.spark import bags, fetched, fetched_rolled, kept, products, recursion, written

pytestmark = pytest.mark.spark


@pytest.fixture
def lake(spark, tmp_path):
    return made_lake(spark, tmp_path)


def test_d3_rows_of_every_plain_type_come_as_arrow_brings_them(spark):
    """More than a batch of Spark's pickler; values that Python has no name for are numbers on the way."""
    rows = spark.sql("""SELECT id, CAST(id % 100 AS TINYINT) AS t, CAST(id AS FLOAT) / 7 AS f, double('NaN') AS n,
        CAST(id AS DECIMAL(38, 3)) / 8 AS d, id % 3 = 0 AS b, CONCAT('ü', id) AS s, BINARY(CONCAT('b', id)) AS y,
        DATE'9999-12-31' + INT(id) AS day, TIMESTAMP'0001-01-01 00:00:00.000001 UTC' + MAKE_INTERVAL(id) AS at,
        IF(id % 2 = 0, NULL, id) AS some FROM RANGE(250)""")
    found = written.collected(rows)
    assert found.schema.equals(rows.toArrow().schema)
    assert found["y"].to_pylist()[0] == b"b0"
    for name in ("day", "at"):
        number = {"day": pa.int32(), "at": pa.int64()}[name]
        assert found[name].cast(number).to_pylist() == rows.toArrow()[name].cast(number).to_pylist()
    others = [c for c in found.column_names if c not in ("day", "at", "n")]
    assert found.select(others).to_pylist() == rows.toArrow().select(others).to_pylist()
    assert found["n"].null_count == 0 and all(x != x for x in found["n"].to_pylist())
    empty = rows.where("id < 0")
    assert written.collected(empty).schema.equals(found.schema)
    assert written.collected(empty).num_rows == 0


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


@pytest.mark.parametrize("keep", [kept.KEEP_ROWS, pytest.param(0, marks=pytest.mark.slow)])
def test_p1_every_time_is_right_over_tables_with_deletion_vectors(
    spark, tmp_path, made, monkeypatch, keep
):
    """Looked up, or kept whole: the rows that are hidden are not there, and no job is needed to know it."""
    monkeypatch.setattr(kept, "KEEP_ROWS", keep)
    assert played(spark, made_lake(spark, tmp_path, vectors=True), tmp_path, every=3) == []
    assert any(made) and None not in made


def test_the_oracles_see_rows_that_a_vector_hides(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(read, "Stored", lambda files, _: Stored(files))
    assert played(spark, made_lake(spark, tmp_path, vectors=True), tmp_path, every=3) != []


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
        "dated": f"SELECT t.k, {names.replace('t.c11, ', '')}, u.d FROM lake.t t JOIN lake.u u ON t.k = u.k",
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
        assert warehouse.refresh("rows").jobs == jobs() - before == 1, "times without a zone"
        assert warehouse.refresh("dated").jobs == 0
        lake.delete("t", k=1)
        warehouse.refresh()
        times = range(lake.csn + 1)
        assert not Oracles(lake, views).mismatches(
            warehouse, [(v, t) for v in views for t in times]
        )
    assert any(made)


REMEMBERED = {
    "least": "SELECT k, MIN(v) AS least, COUNT(DISTINCT v) AS n FROM lake.t GROUP BY k",
    "places": "SELECT id, k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS place FROM lake.t",
    "top": "SELECT id, v FROM lake.t ORDER BY v DESC, id LIMIT 3",
    "over": "SELECT p.id, u.d FROM places p JOIN lake.u u ON p.k = u.k WHERE p.place = 1",
    "ways": "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM lake.link UNION ALL "
    "SELECT r.a, l.b FROM r JOIN lake.link l ON r.b = l.a) SELECT a, b FROM r",
}


def remembering(spark, tmp_path):
    """A history of bags, first rows, a view on a view and a recursion, compared at every time; what differs."""
    lake = Lake(spark, tmp_path / "lake")
    rows = [(n, n % 4, n * 7 % 10) for n in range(12)]
    lake.create("t", "id INT, k INT, v INT", rows)
    lake.create("u", "k INT, d STRING", [(n, f"d{n}") for n in range(3)])
    lake.create("link", "a INT, b INT", [(3 * n, 3 * n + 1) for n in range(5)])
    with rollview.open(tmp_path / "wh", spark=spark) as warehouse:
        warehouse.add_source("lake", delta=str(lake.folder))
        lake.registered()
        for name, sql in REMEMBERED.items():
            warehouse.create(name, sql, policy="incremental_strict")
        lake.delete("t", id=5)
        lake.insert("t", [(20, 1, 9), (21, 7, 3)])
        lake.insert("link", [(3 * n + 1, 3 * n + 2) for n in range(5)])
        warehouse.refresh()
        lake.update("t", {"v": 30}, id=3)
        lake.delete("t", id=20)
        lake.delete("link", a=4)
        lake.insert("u", [(1, "again"), (7, "seven")])
        warehouse.refresh(to=lake.csn - 1)
        lake.insert("t", [(22, None, 1), (23, 2, 100)])
        lake.delete("t", k=0)
        lake.insert("link", [(5, 9), (11, 12)])
        warehouse.refresh()
        assert warehouse.refresh("places").technique == "NO_OP"
        looked_at = [(view, t) for view in REMEMBERED for t in range(lake.csn, -1, -2)]
        return Oracles(lake, REMEMBERED).mismatches(warehouse, looked_at)


@pytest.fixture
def remembered(monkeypatch):
    """How much of the memory of each step of a bag was fetched: the source, the block itself, both or neither."""
    found, right = [], propagate.fetched_memory

    def told(*of):
        made = right(*of)
        found.append(len(made))
        return made

    monkeypatch.setattr(propagate, "fetched_memory", told)
    return found


def test_x1_m5_g4_bags_first_rows_and_recursions_at_every_time(spark, tmp_path, made, remembered):
    assert remembering(spark, tmp_path) == []
    assert None not in made
    assert {1, 2} <= set(remembered), (
        "the top has no keys; others are read whole where a key is NULL"
    )


def no_row_of_a_bag(monkeypatch):
    right = bags.fetched

    def fewer(*of):
        rows = right(*of)
        return None if rows is None else rows.slice(1)

    monkeypatch.setattr(bags, "fetched", fewer)


def no_log(monkeypatch):
    right = fetched_rolled.within
    monkeypatch.setattr(fetched_rolled, "within", lambda rows, lo, hi: right(rows, hi, hi))


def too_few_first_rows(monkeypatch):
    right = bags.first_memory

    def none_moved(*of):
        found = right(*of)
        return None if found is None else (0, found[1])

    monkeypatch.setattr(propagate, "first_memory", none_moved)


def no_way_of_a_level(monkeypatch):
    right = recursion.keys_in
    monkeypatch.setattr(recursion, "keys_in", lambda *of: right(*of)[:-1])


@pytest.mark.slow
@pytest.mark.parametrize("sabotage", [no_row_of_a_bag, no_log, too_few_first_rows, no_way_of_a_level])  # fmt: skip
def test_the_oracles_see_what_memory_lacks(sabotage, spark, tmp_path, monkeypatch):
    sabotage(monkeypatch)
    assert remembering(spark, tmp_path) != []


def firsts(spark, tmp_path):
    """A history of the first rows, refreshed after each transaction, compared at every time; what differs."""
    views = {
        "top": "SELECT v, id FROM lake.t WHERE id >= 0 ORDER BY v DESC NULLS LAST, id LIMIT 3",
        "late": "SELECT id, v FROM lake.t ORDER BY v DESC, id LIMIT 2 OFFSET 1",
    }
    lake = Lake(spark, tmp_path / "lake")
    lake.create("t", "id INT, v INT", [(n, n * 7 % 10) for n in range(10)])
    with rollview.open(tmp_path / "wh", spark=spark) as warehouse:
        warehouse.add_source("lake", delta=str(lake.folder))
        lake.registered()
        for name, sql in views.items():
            warehouse.create(name, sql, policy="incremental_strict")

        def both(*changes):
            for change in changes:
                change()
            warehouse.refresh()

        both(lambda: lake.delete("t", id=3))  # far behind
        both(lambda: lake.insert("t", [(3, 1)]), lambda: lake.insert("t", [(20, 50), (20, 50)]))
        both(lambda: lake.delete("t", id=20))  # in front, twice
        both(lambda: lake.update("t", {"v": 60}, id=0), lambda: lake.delete("t", id=1))
        both(lambda: lake.insert("t", [(None, 99), (30, None)]), lambda: lake.delete("t", id=30))
        both(lambda: lake.delete("t", v=60), lambda: lake.insert("t", [(31, 61)]))
        both(lambda: lake.delete("t"), lambda: lake.insert("t", [(40, None)]))
        both(lambda: lake.insert("t", [(41, None), (42, 1)]))
        looked_at = [(view, t) for view in views for t in range(lake.csn + 1)]
        return Oracles(lake, views).mismatches(warehouse, looked_at)


def test_m6_first_rows_by_what_is_shown_at_every_time(spark, tmp_path, made, remembered):
    assert firsts(spark, tmp_path) == []
    assert None not in made
    assert remembered.count(2) >= 3, "steps that need no more than what is shown"
    assert remembered.count(1) >= 8 + 3, "the view with an OFFSET, and steps that take shown rows"


def test_the_oracles_see_that_a_shown_row_went(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(bags, "_apart", lambda *_: True)
    assert firsts(spark, tmp_path) != []
