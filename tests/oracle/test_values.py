"""Values that go wrong elsewhere: NULL and NaN, edges of types, odd names, groups that come and go.

Every case has tables of its own in one lake; their commits are made in turns, all views are refreshed twice, and
each is then compared with both oracles at every time at which its tables changed, and again after a fold.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from oracle.lake import Lake, Row
from oracle.oracles import Oracles
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from spark_session import interpreted

import rollview
from rollview.errors import RefreshError, RollviewError, TotalOverflows
from rollview.spark import overflows

pytestmark = [pytest.mark.spark, pytest.mark.slow]

NAN, INFINITY = float("nan"), float("inf")
D = Decimal
Change = Callable[[Lake], None]


@dataclass(frozen=True)
class Made:
    """A table of a case: its columns, first rows, and how it is made."""

    columns: str
    rows: list[Row]
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """Tables, one view over them, and what happens to them; `both` if DuckDB reads the SQL alike."""

    view: str
    tables: Mapping[str, Made]
    changes: list[Change]
    both: bool = True


def do(verb: str, table: str, *arguments: Any, **where: Any) -> Change:
    """A change, to be made later."""
    return lambda lake: getattr(lake, verb)(table, *arguments, **where)


def moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.timezone.utc)


NESTED = [
    ([1, None, 3], {"a": 1, "b": "x"}, [{"c": 1.5}]),
    ([1, None, 3], {"a": 1, "b": "x"}, [{"c": 1.5}]),
    ([], {"a": None, "b": None}, []),
    (None, None, None),
    ([3, 1], {"a": 1, "b": None}, [{"c": None}, None]),
]
TEXTS = ["", " ", "it's", '"', "\\", "\\n", "a\nb", "\t", "NULL", "null", "é", "é", "É", "日本", "🎈",
         "a" * 3000, "%_", "`x`", "$1", "\x7f", "--", "/* */", ";", None]  # fmt: skip

CASES = {
    "null_keys": Case(
        "SELECT a.k, a.v, b.v AS w FROM lake.nk_left a JOIN lake.nk_right b ON a.k = b.k",
        {"nk_left": Made("k BIGINT, v INT", [(None, 1), (1, 1), (1, None)]),
         "nk_right": Made("k BIGINT, v INT", [(None, 5), (1, 6), (1, 6)])},
        [do("insert", "nk_left", [(None, 1), (2, 2)]), do("insert", "nk_right", [(None, 7), (2, 7)]),
         do("delete", "nk_left", k=None), do("update", "nk_right", {"k": None}, k=1)],
    ),
    "null_is_null": Case(
        "SELECT a.k, b.v FROM lake.nn_left a JOIN lake.nn_right b ON a.k IS NOT DISTINCT FROM b.k",
        {"nn_left": Made("k BIGINT", [(None,), (1,)]),
         "nn_right": Made("k BIGINT, v INT", [(None, 5), (None, 5), (1, 6)])},
        [do("insert", "nn_left", [(None,)]), do("delete", "nn_right", k=1),
         do("delete", "nn_left", k=None), do("insert", "nn_right", [(None, None)])],
    ),
    "null_groups": Case(
        "SELECT k, COUNT(*) AS n, COUNT(v) AS values, SUM(v) AS total FROM lake.ng GROUP BY k",
        {"ng": Made("k STRING, v INT", [(None, 1), (None, None), ("a", None)])},
        [do("delete", "ng", k=None, v=1), do("insert", "ng", [("a", 3), (None, None)]),
         do("update", "ng", {"v": None}, v=3), do("delete", "ng", k=None)],
    ),
    "nan_rows": Case(
        "SELECT x, y FROM lake.nr",
        {"nr": Made("x DOUBLE, y FLOAT", [(NAN, 1.0), (0.0, NAN), (-0.0, -0.0), (INFINITY, None)])},
        [do("insert", "nr", [(NAN, 1.0), (-0.0, 0.0), (0.0, 0.0)]), do("delete", "nr", x=NAN),
         do("delete", "nr", x=0.0), do("insert", "nr", [(-0.0, 0.0), (-INFINITY, NAN)])],
    ),
    "nan_groups": Case(
        "SELECT x, COUNT(*) AS n FROM lake.nx GROUP BY x",
        {"nx": Made("x DOUBLE", [(NAN,), (NAN,), (0.0,), (-0.0,), (None,), (INFINITY,)])},
        [do("insert", "nx", [(NAN,), (-0.0,)]), do("delete", "nx", x=NAN),
         do("delete", "nx", x=0.0), do("insert", "nx", [(-0.0,), (NAN,)])],
    ),
    "nan_sums": Case(
        "SELECT k, SUM(x) AS total, AVG(x) AS mean, COUNT(x) AS n FROM lake.ns GROUP BY k",
        {"ns": Made("k INT, x DOUBLE", [(1, NAN), (1, 2.0), (2, INFINITY), (3, 1.0), (4, None)])},
        [do("delete", "ns", x=NAN), do("insert", "ns", [(2, -INFINITY), (3, NAN), (4, -0.0)]),
         do("delete", "ns", x=INFINITY), do("delete", "ns", k=2), do("insert", "ns", [(2, 0.5)])],
        both=False,
    ),
    "doubles_without_residue": Case(
        "SELECT k, SUM(x) AS total, AVG(x) AS mean FROM lake.dr GROUP BY k",
        {"dr": Made("k INT, x DOUBLE", [(1, 0.1), (1, 0.2), (1, 1e14), (2, 1e-5)])},
        [do("delete", "dr", x=1e14), do("insert", "dr", [(1, 0.7), (2, 3e13), (3, 1e-300)]),
         do("delete", "dr", k=1), do("delete", "dr", x=3e13),
         do("insert", "dr", [(1, 0.3), (3, 1e-300)])],
    ),
    "floats": Case(
        "SELECT k, SUM(x) AS total, AVG(t) AS mean, SUM(s) AS small FROM lake.fl GROUP BY k",
        {"fl": Made("k INT, x FLOAT, t TINYINT, s SMALLINT", [(1, 0.5, 127, 32767), (1, 0.1, -128, 1)])},
        [do("insert", "fl", [(1, 1.5, 100, 32767), (2, None, None, None)]),
         do("delete", "fl", t=127), do("update", "fl", {"x": None}, k=1)],
    ),
    "wide_decimals": Case(
        "SELECT k, SUM(x) AS total, SUM(y) AS other, COUNT(x) AS n FROM lake.wd GROUP BY k",
        {"wd": Made("k INT, x DECIMAL(38,18), y DECIMAL(28,10)",
                    [(1, D("9999999999999999999.999999999999999999"), D("0.0000000001")),
                     (1, D("-9999999999999999999.999999999999999998"), D("999999999999999999.9999999999")),
                     (2, None, None)])},
        [do("insert", "wd", [(1, D("0.000000000000000001"), D("-0.0000000001")), (2, D("0.5"), D("1"))]),
         do("delete", "wd", y=D("0.0000000001")), do("delete", "wd", k=2),
         do("insert", "wd", [(2, D("-0.000000000000000001"), None)])],
        both=False,
    ),
    "decimal_means": Case(
        "SELECT k, AVG(x) AS x, AVG(y) AS y, AVG(z) AS z FROM lake.dm GROUP BY k",
        {"dm": Made("k INT, x DECIMAL(10,2), y DECIMAL(28,10), z DECIMAL(5,0)",
                    [(1, D("1.00"), D("1"), D("2")), (1, D("2.00"), D("0.0000000001"), D("3")),
                     (1, D("2.00"), None, D("-99999"))])},
        [do("insert", "dm", [(1, D("99999999.99"), D("999999999999999999.9999999999"), None)]),
         do("delete", "dm", z=D("3")), do("insert", "dm", [(2, D("-0.01"), D("-0.5"), D("1"))])],
        both=False,
    ),
    "large_integers": Case(
        "SELECT k, SUM(v) AS total, AVG(w) AS mean FROM lake.li GROUP BY k",
        {"li": Made("k INT, v BIGINT, w BIGINT", [(1, 2**62, 2**40), (1, -(2**62), 3), (2, -(2**63), None)])},
        [do("delete", "li", v=-(2**62)), do("insert", "li", [(1, 2**62 - 1, 1), (2, 2**63 - 1, 2**50)]),
         do("delete", "li", v=2**62)],
    ),
    "group_empties_and_refills": Case(
        "SELECT k, COUNT(*) AS n, SUM(x) AS total, SUM(d) AS money FROM lake.er GROUP BY k",
        {"er": Made("k STRING, x DOUBLE, d DECIMAL(10,2)", [("a", 0.1, D("1.10")), ("b", 1.0, None)])},
        [do("delete", "er", k="a"), do("insert", "er", [("a", 0.2, D("2.20")), ("a", 0.1, None)]),
         do("delete", "er"), do("insert", "er", [("b", 0.3, D("0.01"))])],
    ),
    "having": Case(
        "SELECT k, COUNT(*) AS n FROM lake.hv GROUP BY k HAVING COUNT(*) > 1 AND SUM(v) < 10",
        {"hv": Made("k INT, v INT", [(1, 1), (1, 2), (2, 1)])},
        [do("insert", "hv", [(2, 1)]), do("insert", "hv", [(1, 20)]), do("delete", "hv", v=20),
         do("delete", "hv", k=1, v=1), do("update", "hv", {"v": None}, k=2)],
    ),
    "one_row_over_nothing": Case(
        "SELECT COUNT(*) AS n, COUNT(v) AS values, SUM(v) AS total, AVG(x) AS mean FROM lake.oo",
        {"oo": Made("v INT, x DOUBLE", [])},
        [do("insert", "oo", [(1, 0.5), (None, None)]), do("delete", "oo"),
         do("insert", "oo", [(None, 2.5)]), do("overwrite", "oo", [(7, None)])],
    ),
    "one_row_filtered": Case(
        "SELECT COUNT(*) AS n, SUM(v) AS total FROM lake.of WHERE v > 100 HAVING COUNT(*) < 2",
        {"of": Made("v INT", [(1,)])},
        [do("insert", "of", [(101,)]), do("insert", "of", [(102,)]), do("delete", "of", v=101)],
    ),
    "duplicates": Case(
        "SELECT a, b FROM lake.du",
        {"du": Made("a INT, b STRING", [(1, "x")] * 3 + [(None, None)] * 2)},
        [do("insert", "du", [(1, "x"), (None, None)]), do("delete", "du", a=1),
         do("insert", "du", [(1, "x")] * 2), do("delete", "du", a=None),
         do("overwrite", "du", [(1, "x")] * 5)],
    ),
    "distinct_over_duplicates": Case(
        "SELECT DISTINCT a, b FROM lake.dd",
        {"dd": Made("a INT, b STRING", [(1, "x")] * 2 + [(None, None)])},
        [do("insert", "dd", [(1, "x"), (None, None), (2, None)]), do("update", "dd", {"a": 2}, a=1),
         do("delete", "dd", a=None), do("delete", "dd", a=2)],
    ),
    "deleted_and_inserted_again": Case(
        "SELECT a.k, b.v FROM lake.ri_a a JOIN lake.ri_b b ON a.k = b.k",
        {"ri_a": Made("k INT", [(1,), (2,)]), "ri_b": Made("k INT, v STRING", [(1, "x"), (2, "y")])},
        [do("delete", "ri_a", k=1), do("insert", "ri_a", [(1,)]), do("delete", "ri_b", k=1),
         do("delete", "ri_a", k=1), do("insert", "ri_b", [(1, "x")]), do("insert", "ri_a", [(1,), (1,)])],
    ),
    "nothing_changes": Case(
        "SELECT k, v FROM lake.nc",
        {"nc": Made("k INT, v STRING", [(1, "x"), (1, "x"), (2, None)])},
        [do("update", "nc", {"v": "x"}, k=1), do("rewrite", "nc"), do("merge", "nc", "k", [(2, None)]),
         do("optimize", "nc"), do("delete", "nc", k=3), do("insert", "nc", [])],
    ),
    "times": Case(
        "SELECT d, t, n, COUNT(*) AS c FROM lake.ti GROUP BY d, t, n",
        {"ti": Made("d DATE, t TIMESTAMP, n TIMESTAMP_NTZ", [
            (dt.date(1, 1, 1), moment("1970-01-01"), dt.datetime(2024, 2, 29, 12, 0, 0, 1)),
            (dt.date(9999, 12, 31), moment("2999-12-31 23:59:59.999999"), None),
            (None, moment("1969-12-31 23:59:59.5"), dt.datetime(1900, 1, 1))])},
        [do("insert", "ti", [(dt.date(1582, 10, 4), moment("1883-11-18"), dt.datetime(2024, 3, 31, 2, 30))]),
         do("delete", "ti", d=None), do("update", "ti", {"t": None}, d=dt.date(1, 1, 1))],
    ),
    "texts": Case(
        "SELECT a.s, b.n FROM lake.tx_a a JOIN lake.tx_b b ON a.s = b.s",
        {"tx_a": Made("s STRING", [(s,) for s in TEXTS]),
         "tx_b": Made("s STRING, n INT", [(s, n) for n, s in enumerate(TEXTS)])},
        [do("insert", "tx_a", [(s,) for s in TEXTS[:9]]), do("delete", "tx_b", s="it's"),
         do("delete", "tx_a", s=""), do("update", "tx_b", {"s": "É"}, s="é"),
         do("delete", "tx_a", s="🎈"), do("delete", "tx_b", s=None)],
    ),
    "flags_and_bytes": Case(
        "SELECT f, b, COUNT(*) AS n FROM lake.fb GROUP BY f, b",
        {"fb": Made("f BOOLEAN, b BINARY", [(True, b""), (False, b"\x00\xff"), (None, None), (True, b"")])},
        [do("insert", "fb", [(None, b"\x00"), (True, b"")]), do("delete", "fb", f=True),
         do("delete", "fb", b=b"\x00\xff"), do("insert", "fb", [(False, b"")])],
    ),
    "nested_rows": Case(
        "SELECT l, s, m FROM lake.ne",
        {"ne": Made("l ARRAY<INT>, s STRUCT<a: INT, b: STRING>, m ARRAY<STRUCT<c: DOUBLE>>, k INT",
                    [(*row, k) for k, row in enumerate(NESTED)])},
        [do("insert", "ne", [(*row, 9) for row in NESTED]), do("delete", "ne", k=9),
         do("delete", "ne", k=0), do("insert", "ne", [(*NESTED[0], 0)]), do("delete", "ne", k=3)],
        both=False,
    ),
    "nested_keys": Case(
        "SELECT l, s, COUNT(*) AS n, s.a AS part FROM lake.nd GROUP BY l, s, s.a",
        {"nd": Made("l ARRAY<INT>, s STRUCT<a: INT, b: STRING>", [row[:2] for row in NESTED])},
        [do("insert", "nd", [row[:2] for row in NESTED[2:]]), do("delete", "nd", l=None),
         do("delete", "nd"), do("insert", "nd", [NESTED[0][:2]])],
        both=False,
    ),
    "odd_names": Case(
        "SELECT `a.b`, `c``d` AS `x y`, `select`, `Größe`, COUNT(*) AS `n.``n` FROM lake.od "
        "GROUP BY `a.b`, `c``d`, `select`, `Größe`",
        {"od": Made("`a.b` INT, `c``d` STRING, `select` INT, `Größe` INT", [(1, "x", 2, 3), (1, "x", 2, 3)])},
        [do("insert", "od", [(1, None, 2, 3)]), do("delete", "od", **{"c`d": "x"}),
         do("delete", "od", Größe=3), do("insert", "od", [(None, None, None, None)])],
        both=False,
    ),
    "mapped_names": Case(
        "SELECT a.`key (1)`, b.`a, b`, b.`x.y` AS `x.y` FROM lake.mp_a a "
        "JOIN lake.mp_b b ON a.`key (1)` = b.`key (1)`",
        {"mp_a": Made("`key (1)` INT", [(1,), (2,)],
                      {"properties": {"delta.columnMapping.mode": "name"}}),
         "mp_b": Made("`key (1)` INT, `a, b` STRING, `x.y` STRING", [(1, "p", "q"), (2, None, None)],
                      {"properties": {"delta.columnMapping.mode": "name"}, "vectors": True})},
        [do("insert", "mp_b", [(1, "p", "q"), (1, "=;", "{}")]), do("delete", "mp_a", **{"key (1)": 2}),
         do("update", "mp_b", {"a, b": None}, **{"x.y": "q"}), do("overwrite", "mp_a", [(2,), (1,)])],
        both=False,
    ),
    "partitions": Case(
        "SELECT p, q, COUNT(*) AS n, SUM(v) AS total FROM lake.pa GROUP BY p, q",
        {"pa": Made("v INT, p STRING, q DATE", [(1, "a b", None), (2, "ä/=%", dt.date(2024, 1, 31)),
                                               (3, None, None), (4, "", None)],
                    {"partitioned": ["p", "q"]})},
        [do("insert", "pa", [(5, "a b", None), (6, "x", dt.date(1, 1, 1))]),
         do("update", "pa", {"p": "moved"}, p="a b"), do("delete", "pa", p=None),
         do("overwrite", "pa", [(1, "a b", None), (2, "x", None)])],
        both=False,
    ),
    "partitions_and_vectors": Case(
        "SELECT a.p, a.v, b.v AS w FROM lake.pv a JOIN lake.pv b ON a.p = b.p AND a.v < b.v",
        {"pv": Made("v INT, p INT", [(1, 1), (2, 1), (3, None), (4, 2), (5, 2)],
                    {"partitioned": ["p"], "vectors": True})},
        [do("delete", "pv", v=2), do("update", "pv", {"p": 1}, v=4), do("merge", "pv", "v", [(5, 1)], [1]),
         do("insert", "pv", [(1, 1), (1, 1)]), do("delete", "pv")],
    ),
}  # fmt: skip


@dataclass
class Played:
    """The lake, its warehouse, at which CSNs each case's tables changed, and what failed."""

    oracles: Oracles
    warehouse: Any
    times: dict[str, list[int]]
    failed: dict[str, Exception]

    def hold(self, name: str, times: list[int]) -> None:
        """The case's view is right at these times."""
        if name in self.failed:
            raise self.failed[name]
        self.oracles.hold(self.warehouse, [(name, csn) for csn in times])


@pytest.fixture(scope="module")
def played(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp("values")
    with interpreted(spark):
        yield from played_in(folder, Lake(spark, folder / "lake"))


def played_in(folder: Path, lake: Lake) -> Iterator[Played]:
    """Make the tables and the views, and let everything happen."""
    for case in CASES.values():
        for table, made in case.tables.items():
            lake.create(table, made.columns, made.rows, **made.options)
    with rollview.open(folder / "wh", lake.spark) as warehouse:
        warehouse.add_source("lake", delta=folder / "lake")
        lake.registered()
        failed: dict[str, Exception] = {}
        attempted(failed, lambda name: warehouse.create(
            name, CASES[name].view, policy="incremental"))  # fmt: skip
        for turn in range(max(len(case.changes) for case in CASES.values())):
            attempted(failed, lambda name, turn=turn: [
                change(lake) for change in CASES[name].changes[turn : turn + 1]])  # fmt: skip
            if turn == 1:
                attempted(failed, warehouse.refresh)
        attempted(failed, warehouse.refresh)
        times = {
            name: [0, *(n + 1 for n, c in enumerate(lake.commits) if c.table in case.tables)]
            for name, case in CASES.items()
        }
        views = {name: case.view for name, case in CASES.items()}
        spark_only = frozenset(name for name, case in CASES.items() if not case.both)
        yield Played(Oracles(lake, views, spark_only), warehouse, times, failed)


def attempted(failed: dict[str, Exception], run: Callable[[str], object]) -> None:
    """Do it for every case; one that fails is left out from there on."""
    for name in CASES:
        if name not in failed:
            try:
                run(name)
            except (RollviewError, PySparkException, AssertionError) as error:
                failed[name] = error


@pytest.mark.parametrize("name", sorted(CASES))
def test_values(name: str, played: Played) -> None:
    times = played.times[name]
    played.hold(name, times)
    played.warehouse.fold(name, to=times[len(times) // 2])
    played.hold(name, [times[1], times[-1]])


def test_every_change_of_a_view_adds_up(played: Played) -> None:
    """state(0) + changes (0, t] = state(t), for a view of rows and a view of groups."""
    for name in ("duplicates", "null_groups"):
        times = played.times[name]
        changes = played.warehouse.changes(name, 0, times[-1]).collect()
        for csn in times:
            bag = bag_at(played, name, 0)
            for *row, stamp, count in changes:
                if stamp <= csn:
                    bag[tuple(row)] = bag.get(tuple(row), 0) + count
            assert {r: n for r, n in bag.items() if n} == bag_at(played, name, csn)


def bag_at(played: Played, name: str, csn: int) -> dict[tuple[Any, ...], int]:
    bag: dict[tuple[Any, ...], int] = {}
    for row in played.warehouse.table(name, as_of=csn).collect():
        bag[tuple(row)] = bag.get(tuple(row), 0) + 1
    return bag


@dataclass
class Sum:
    """One table and one view that adds it up."""

    lake: Lake
    warehouse: Any
    view: str


@pytest.fixture
def total(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sum]:
    columns, rows, view = request.param
    folder: Path = tmp_path_factory.mktemp("total")
    lake = Lake(spark, folder / "lake")
    lake.create("t", columns, rows)
    with rollview.open(folder / "wh", spark) as warehouse:
        warehouse.add_source("lake", delta=folder / "lake")
        lake.registered()
        warehouse.create("v", view, policy="incremental")
        yield Sum(lake, warehouse, view)


SUMMED = "SELECT k, SUM(v) AS total FROM lake.t GROUP BY k"
BIGINTS = ("k INT, v BIGINT", [(1, 2**63 - 1), (2, 1)])
OVERFLOWS = {
    "bigint": (*BIGINTS, SUMMED),
    "least": ("k INT, v BIGINT", [(1, -(2**63)), (2, 1)], SUMMED),
    "decimal": ("k INT, v DECIMAL(38,0)", [(1, D(10**38 - 1)), (2, D(1))], SUMMED),
    "in two sums": ("k INT, v DECIMAL(38,18)", [(1, D(10**20 - 1)), (2, D(1))], SUMMED),
    "all rows": (*BIGINTS, "SELECT SUM(v) AS total FROM lake.t WHERE k = 1"),
    "hidden group": (*BIGINTS, f"{SUMMED} HAVING COUNT(*) > 5"),
    "only in having": (*BIGINTS, "SELECT k AS total FROM lake.t GROUP BY k HAVING SUM(v) > 0"),
    "mapped names": (*BIGINTS, "SELECT k, SUM(v), 1 AS total FROM lake.t GROUP BY k"),
    "hidden block": (*BIGINTS, f"SELECT x.k, x.total FROM ({SUMMED}) x JOIN lake.t s ON x.k = s.k"),
    "cast": ("k INT, v BIGINT", [(1, 0)] * 127, "SELECT k, CAST(COUNT(v) AS TINYINT) AS total "
             "FROM lake.t GROUP BY k"),
}  # fmt: skip


@pytest.mark.parametrize("total", OVERFLOWS.values(), ids=OVERFLOWS, indirect=True)
def test_a_sum_that_overflows_stops_the_view_until_the_row_goes(
    total: Sum, request: pytest.FixtureRequest
) -> None:
    """At that time, as a recompute fails; the last good time stays readable, and mended rows mend the view."""
    lake, warehouse = total.lake, total.warehouse
    oracles = Oracles(lake, {"v": total.view})
    case = request.node.callspec.id
    one = -1 if case == "least" else 1
    lake.insert("t", [(1, one)])
    with pytest.raises(PySparkException, match=r"OVERFLOW|OUT_OF_RANGE"):
        oracles.by_spark("v", 1).collect()
    for _ in range(2):  # also when it is tried again
        with pytest.raises(TotalOverflows, match=r'view "v" .*SUM exceeds its type') as caught:
            warehouse.refresh("v")
    assert caught.value.until == 1
    detail = caught.value.detail
    odd = {"only in having": "HAVING", "mapped names": 'column "sum(v)"', "hidden block": "column"}
    assert f"group in transaction 1, {odd.get(case, 'column')}" in detail
    assert 'column "total": ' in detail or case in odd
    assert detail.endswith("all rows" if case == "all rows" else "= 1")
    status = warehouse.status("v")
    assert (status.view_time, status.state) == (0, "stopped")
    assert warehouse.ledger.intents() == []
    oracles.hold(warehouse, [("v", 0)])
    lake.delete("t", k=1, v=one)
    report = warehouse.refresh("v")
    assert (report.view_time, report.technique) == (2, "COMPLETE_RECOMPUTE")
    assert "QUERY_FAILED_ON_THE_WAY" in report.reason
    oracles.hold(warehouse, [("v", 2)])
    assert warehouse.status("v").state == "ready"


@pytest.mark.parametrize("total", [(*BIGINTS, SUMMED)], indirect=True)
def test_a_sum_that_overflowed_is_mended_by_a_row_that_comes(total: Sum) -> None:
    lake, warehouse = total.lake, total.warehouse
    lake.insert("t", [(1, 1)])
    with pytest.raises(TotalOverflows):
        warehouse.refresh("v")
    lake.insert("t", [(2, 5)])
    with pytest.raises(TotalOverflows) as caught:
        warehouse.refresh("v")
    assert caught.value.until == 2, "known without a recompute: group 1 is as it was"
    lake.insert("t", [(1, -1)])
    assert warehouse.refresh("v").view_time == 3
    total_of = {row.k: row.total for row in warehouse.table("v").collect()}
    assert total_of == {1: 2**63 - 1, 2: 6}


@pytest.mark.parametrize(
    "total", [("k INT, v BIGINT", [(1, 2**62), (2, 1)], SUMMED)], indirect=True
)
def test_groups_are_looked_at_only_where_a_sum_might_overflow(
    total: Sum, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not while files bound the sums, nor again for what was looked at; a new process asks the files again."""
    lake, warehouse = total.lake, total.warehouse
    looked: list[Any] = []
    look = overflows._looked
    monkeypatch.setattr(overflows, "_looked", lambda *a: (looked.append(a), look(*a))[1])

    def looks(*rows: tuple[int, int]) -> int:
        lake.insert("t", rows)
        before = len(looked)
        warehouse.refresh("v")
        return len(looked) - before

    assert looks((1, -(2**61)), (2, 2**61)) == 0
    assert looks((3, 2**61)) == 1  # for all that the footers say, group 1 might be at 2 ** 63
    assert looks((1, 7), (2, 2**61), (4, 1)) == 0
    assert looks((1, 2**61)) == 1
    warehouse.relations.kept.totals.clear()
    assert looks((1, 1)) == 1
    warehouse.fold("v")
    assert looks((1, 1)) == 0
    Oracles(lake, {"v": total.view}).hold(warehouse, [("v", n) for n in range(7)])


@pytest.mark.parametrize("total", [
    ("k INT, v BIGINT", [(1, 2**62), (2, -(2**62)), (3, -(2**62))], SUMMED)
], indirect=True)  # fmt: skip
def test_sums_may_be_as_large_as_their_type(total: Sum) -> None:
    lake, warehouse = total.lake, total.warehouse
    lake.insert("t", [(1, 2**62 - 1), (2, -(2**62)), (3, -(2**61)), (3, -(2**61))])
    warehouse.refresh("v")
    lake.insert("t", [(1, 0), (2, 1), (3, 1)])
    warehouse.refresh("v")
    Oracles(lake, {"v": total.view}).hold(warehouse, [("v", 1), ("v", 2)])


@pytest.mark.parametrize("total", [(*BIGINTS, SUMMED)], indirect=True)
def test_a_view_on_a_sum_that_overflows_stops_and_heals_with_it(total: Sum) -> None:
    lake, warehouse = total.lake, total.warehouse
    warehouse.create("w", "SELECT COUNT(*) AS n FROM v WHERE total > 1", policy="incremental")
    lake.insert("t", [(1, 1)])
    with pytest.raises(RefreshError, match="SUM exceeds its type"):
        warehouse.refresh()
    assert {(s.name, s.state, s.view_time) for s in map(warehouse.status, "vw")} == {
        ("v", "stopped", 0), ("w", "stopped", 0)}  # fmt: skip
    assert [tuple(row) for row in warehouse.table("w").collect()] == [(1,)]
    lake.insert("t", [(1, -1), (2, 1)])
    warehouse.refresh()
    assert {(s.state, s.view_time) for s in map(warehouse.status, "vw")} == {("ready", 2)}
    assert [tuple(row) for row in warehouse.table("w").collect()] == [(2,)]


DIVIDED = "SELECT k, 100 / SUM(v) AS share FROM lake.t GROUP BY k"
SHARES = ("k INT, v INT", [(1, 5), (2, 1)])


@pytest.mark.parametrize("total", [
    (*SHARES, DIVIDED),
    (*SHARES, "SELECT k FROM lake.t GROUP BY k HAVING 100 / SUM(v) > 0"),
    (*SHARES, f"SELECT x.k, x.share FROM ({DIVIDED}) x JOIN lake.t s ON x.k = s.k"),
], indirect=True)  # fmt: skip
def test_a_group_that_divides_by_zero_stops_the_view_until_it_does_not(total: Sum) -> None:
    lake, warehouse = total.lake, total.warehouse
    oracles = Oracles(lake, {"v": total.view})
    lake.insert("t", [(1, -5), (3, 1)])
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        oracles.by_spark("v", 1).collect()
    with pytest.raises(TotalOverflows, match="DIVIDE_BY_ZERO") as caught:
        warehouse.refresh("v")
    assert "group in transaction 1, " in caught.value.detail
    assert caught.value.detail.endswith(" = 1")
    assert (warehouse.status("v").view_time, warehouse.status("v").state) == (0, "stopped")
    oracles.hold(warehouse, [("v", 0)])
    lake.insert("t", [(1, 3)])
    assert warehouse.refresh("v").view_time == 2
    oracles.hold(warehouse, [("v", 2)])


@pytest.mark.parametrize("total", [(*SHARES, DIVIDED)], indirect=True)
def test_a_group_that_is_gone_divides_nothing(total: Sum) -> None:
    total.lake.delete("t", k=1)
    total.warehouse.refresh("v")
    Oracles(total.lake, {"v": total.view}).hold(total.warehouse, [("v", 0), ("v", 1)])


@pytest.mark.parametrize(
    "total",
    [(*SHARES, f"{DIVIDED} HAVING SUM(v) <> 0 AND CONCAT(k, '{{') <> '{{0}}'")],
    indirect=True,
)
def test_a_group_that_having_hides_divides_nothing(total: Sum) -> None:
    """As SQL has it. Spark's own recompute divides before it filters, and fails: no oracle here."""
    total.lake.insert("t", [(2, -1)])
    total.warehouse.refresh("v")
    assert [tuple(row) for row in total.warehouse.table("v").collect()] == [(1, 20.0)]


def test_a_sum_is_looked_at_when_its_time_is_complete(spark: SparkSession, tmp_path: Path) -> None:
    """The change that makes it overflow is in a step that was ahead of the other input."""
    lake = Lake(spark, tmp_path / "lake")
    lake.create("t", "k INT, v BIGINT", [(1, 2**62)])
    lake.create("u", "k INT", [(1,)])
    view = "SELECT t.k, SUM(t.v) AS total FROM lake.t t JOIN lake.u u ON t.k = u.k GROUP BY t.k"
    with rollview.open(tmp_path / "wh", spark) as warehouse:
        warehouse.add_source("lake", delta=tmp_path / "lake")
        lake.registered()
        warehouse.create("v", view, policy="incremental", step_rows=1)
        lake.insert("t", [(2, 1)])
        lake.insert("t", [(3, 1)])
        lake.insert("u", [(1,)])
        with pytest.raises(TotalOverflows, match=r"group in transaction 3, .*: k = 1") as caught:
            warehouse.refresh("v")
        assert caught.value.until == 3
        row = warehouse.ledger.block("v")
        assert min(row.frontier) < max(row.frontier), "an input is ahead"
        Oracles(lake, {"v": view}).hold(warehouse, [("v", n) for n in range(min(row.frontier) + 1)])


@pytest.mark.parametrize(
    "total", [("k INT, d INT", [(1, 4)], "SELECT k, 100 / d AS share FROM lake.t")], indirect=True
)
def test_a_poisonous_row_stops_the_view_and_its_end_heals_it(total: Sum) -> None:
    lake, warehouse = total.lake, total.warehouse
    oracles = Oracles(lake, {"v": total.view})
    lake.insert("t", [(2, 0)])
    with pytest.raises(RefreshError, match="DIVIDE_BY_ZERO") as caught:
        warehouse.refresh("v")
    assert 'row of "lake.t" in transaction 1: k = 2, d = 0' in str(caught.value)
    status = warehouse.status("v")
    assert (status.view_time, status.state) == (0, "stopped")
    oracles.hold(warehouse, [("v", 0)])
    lake.delete("t", k=2)
    lake.insert("t", [(3, 5)])
    report = warehouse.refresh("v")
    assert (report.view_time, report.technique) == (3, "COMPLETE_RECOMPUTE")
    assert "QUERY_FAILED_ON_THE_WAY" in report.reason
    oracles.hold(warehouse, [("v", 3)])
    assert warehouse.status("v").state == "ready"
    lake.insert("t", [(4, 10)])
    assert warehouse.refresh("v").technique == "APPEND_ONLY"
    oracles.hold(warehouse, [("v", 4)])


@pytest.mark.parametrize(
    "total",
    [
        (
            "k INT, v DECIMAL(38,18)",
            [(1, D(10) ** 19)],
            "SELECT k, SUM(v) AS total FROM lake.t GROUP BY k",
        )
    ],
    indirect=True,
)
def test_a_sum_that_needs_every_digit_of_its_type(total: Sum) -> None:
    total.lake.insert("t", [(1, D(10) ** 19), (1, D("0.000000000000000001"))])
    total.warehouse.refresh("v")
    Oracles(total.lake, {"v": total.view}).hold(total.warehouse, [("v", 1)])
