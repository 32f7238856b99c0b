"""What users get wrong: an error of the right kind that names the object and helps; nothing is left behind."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from world import FEED, World

from rollview.apply import sweep
from rollview.errors import (
    ConfigError,
    RefreshError,
    RollviewError,
    SourceError,
    TimeNotReached,
    ViewRefused,
)
from rollview.ledger import lock
from rollview.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.faults, pytest.mark.spark]


@pytest.fixture(scope="module")
def wh(tmp_path_factory: pytest.TempPathFactory, origin: World) -> Iterator[Warehouse]:
    """One warehouse for all tests here, which must leave it as it was."""
    with origin.copied(tmp_path_factory.mktemp("bad-input")).open() as opened:
        opened.refresh()
        yield opened
    lock._close_in_child()


def left(wh: Warehouse) -> dict[str, object]:
    """Everything that the warehouse holds: files by name, and the ledger row by row but for the history."""
    files = sorted(str(p) for p in wh.path.rglob("*") if p.is_file() and "ledger.db" not in p.name)
    with closing(sqlite3.connect(wh.path / "ledger.db")) as ledger:
        tables = [
            r[0] for r in ledger.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        rows = {
            t: ledger.execute(f"SELECT * FROM {t}").fetchall()
            for t in tables
            if t != "rv_refreshes"
        }
    return {"files": files, **rows}


@contextmanager
def refused(wh: Warehouse, kind: type[RollviewError], *said: str) -> Iterator[None]:
    """Inside, exactly this kind of error is raised; its text has all that is given, and nothing is left."""
    before = left(wh)
    with pytest.raises(RollviewError) as caught:
        yield
    error = caught.value
    assert type(error) is kind, repr(error)
    for part in said:
        assert part in str(error), str(error)
    assert error.hint or error.detail, f"no help: {error}"
    assert "\tat org." not in str(error) and "Caused by" not in str(error), "a Java stack"
    assert left(wh) == before


REFUSED = {
    "missing table": ("SELECT x FROM lake.nothing", 'there is no table "lake.nothing"', "lake."),
    "missing source": ("SELECT x FROM ocean.sales", 'there is no table "ocean.sales"', "lake.sales"),
    "unknown column": ("SELECT s.colour FROM lake.sales s", 'no column "s.colour"', "columns:"),
    "alike column": ("SELECT s.amuont FROM lake.sales s", "did you mean amount?"),
    "ambiguous column": (
        "SELECT cust FROM lake.sales s JOIN lake.cust c ON s.cust = c.cust",
        'column "cust" is ambiguous',
        "c, s",
    ),
    "syntax": ("SELECT id FROM WHERE id", "line 1"),
    "unclosed text": ("SELECT 'abc FROM lake.sales", "line 1"),
    "unclosed bracket": ("SELECT (id FROM lake.sales", "line 1"),
    "two statements": ("SELECT id FROM lake.sales; DROP TABLE x", "line 1"),
    "rand": ("SELECT rand() AS r FROM lake.sales", "RAND"),
    "now": ("SELECT now() AS r FROM lake.sales", "NOW"),
    "text file": ("SELECT value FROM text.`/etc/passwd`", 'there is no table "text./etc/passwd"'),
    "csv in a subquery": ("SELECT a.x FROM (SELECT _c0 AS x FROM csv.`/etc/passwd`) a", "/etc/passwd"),
    "delta path": ("SELECT id FROM delta.`/tmp/x`", 'there is no table "delta./tmp/x"'),
    "transform": ("SELECT TRANSFORM(id) USING 'id -un' AS (x STRING) FROM lake.sales", "TRANSFORM"),
    "reflect": ("SELECT reflect('java.lang.System', 'getenv', 'PATH') AS x FROM lake.sales", "REFLECT"),
    "java_method": (
        "SELECT java_method('java.lang.System', 'exit', 1) AS x FROM lake.sales",
        "JAVA_METHOD",
    ),
    "environment": ("SELECT '${env:HOME}' AS x FROM lake.sales", "${"),
    "setting": ("SELECT id FROM lake.sales WHERE name = '${spark.app.id}'", "${"),
    "table function": ("SELECT * FROM range(10)", "RANGE"),
    "reserved column": ("SELECT id AS _rv_count FROM lake.sales", "_rv_count"),
    "same column twice": ("SELECT id, id FROM lake.sales", "id"),
    "mixed types": ("SELECT id + array(1) AS x FROM lake.sales", "x"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_definition_that_is_refused(wh: Warehouse, case: str) -> None:
    query, *said = REFUSED[case]
    with refused(wh, ViewRefused, 'view "bad"', *said):
        wh.create("bad", query)
    with refused(wh, ViewRefused, *said):
        wh.sql(f"CREATE MATERIALIZED VIEW bad AS {query}")
    with refused(wh, ViewRefused, *said):
        wh.sql(f"EXPLAIN CREATE MATERIALIZED VIEW bad AS {query}")


HOSTILE_QUERIES = [
    "SELECT * FROM text.`/etc/passwd`",
    "SELECT reflect('java.lang.System', 'getenv', 'PATH')",
    "SELECT '${env:HOME}' AS x FROM lake.sales",
    "SELECT TRANSFORM(id) USING 'id -un' AS (x STRING) FROM lake.sales",
]


@pytest.mark.parametrize("query", HOSTILE_QUERIES)
def test_a_query_that_reaches_out_is_refused(wh: Warehouse, query: str) -> None:
    with refused(wh, ViewRefused):
        wh.query(query)


def test_a_replacement_that_is_refused_leaves_the_view(wh: Warehouse) -> None:
    with refused(wh, ViewRefused, "colour"):
        wh.sql("CREATE OR REPLACE MATERIALIZED VIEW g AS SELECT colour FROM lake.sales")


BAD_NAMES = [
    "a b",
    "1st",
    "_rv_x",
    "a.b",
    "../up",
    "/etc/x",
    "x" * 64,
    "ünicode",
    "",
    "a\0b",
    "v#0",
]
FINE = "SELECT id FROM lake.sales"


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_cannot_be_used(wh: Warehouse, name: str) -> None:
    with refused(wh, ConfigError, name[:60]):
        wh.create(name, FINE)
    quoted = name.replace("`", "``")
    with refused(wh, ConfigError):
        wh.sql(f"CREATE MATERIALIZED VIEW `{quoted}` AS {FINE}")


def test_a_name_that_is_taken(wh: Warehouse) -> None:
    with refused(wh, ConfigError, 'view "g" exists already', "OR REPLACE"):
        wh.create("g", FINE)
    with refused(wh, ConfigError, 'view "g" exists already'):
        wh.sql(f"CREATE MATERIALIZED VIEW G AS {FINE}")


BAD_OPTIONS = [
    ("colour", "red"), ("policy", "sometimes"), ("fold", "never"), ("keep", "soon"), ("keep", "-3 days"),
    ("buckets", "0"), ("buckets", -1), ("buckets", "many"), ("piece_rows", "1.5"), ("step_rows", ""),
    ("step_seconds", "fast"), ("keep", True), ("buckets", 10**9),
]  # fmt: skip


@pytest.mark.parametrize(("option", "value"), BAD_OPTIONS)
def test_an_option_that_cannot_be(wh: Warehouse, option: str, value: object) -> None:
    with refused(wh, ConfigError, f'"{option}"'):
        wh.create("bad", FINE, **{option: value})
    with refused(wh, ConfigError, f'"{option}"'):
        wh.alter("g", {option: value})


BAD_STATEMENTS = [
    "",
    "   ",
    ";",
    "SELEC 1",
    "DROP TABLE lake.sales",
    "REFRESH MATERIALIZED VIEW",
    "SET x = 1",
]
BAD_STATEMENTS += [
    "CREATE MATERIALIZED VIEW bad",
    "CREATE TABLE x (a INT)",
    "DROP MATERIALIZED VIEW g, j",
]


@pytest.mark.parametrize("statement", BAD_STATEMENTS)
def test_a_statement_that_is_not_understood(wh: Warehouse, statement: str) -> None:
    kind = ConfigError if statement.strip() else ViewRefused
    with refused(wh, kind, "the statement cannot be understood"):
        wh.sql(statement)


LATER = datetime(2999, 1, 1, tzinfo=timezone.utc)  # workers must agree on the names of tests
BAD_TIMES = [
    (99, TimeNotReached, "99"),
    (-1, TimeNotReached, "-1"),
    (LATER, TimeNotReached, "in the future"),
    (LATER.isoformat(), TimeNotReached, "in the future"),
    ("yesterday", ConfigError, '"yesterday" is not a time'),
    ("2026-13-45", ConfigError, '"2026-13-45" is not a time'),
    ("", ConfigError, "is not a time"),
    ("-5", ConfigError, "is not a time"),
    (2.5, ConfigError, "2.5"),
    (True, ConfigError, "True"),
]


@pytest.mark.parametrize(("time", "kind", "said"), BAD_TIMES, ids=lambda v: str(v)[:20])
def test_a_time_that_cannot_be(
    wh: Warehouse, time: object, kind: type[RollviewError], said: str
) -> None:
    uses: list[Callable[[], object]] = [
        lambda: wh.refresh("g", to=time),
        lambda: wh.propagate("g", to=time),
        lambda: wh.apply("g", to=time),
        lambda: wh.fold("g", to=time),
        lambda: wh.table("g", as_of=time),
        lambda: wh.changes("g", time),
        lambda: wh.query("SELECT n FROM g", as_of=time),
    ]
    for use in uses:
        with refused(wh, kind, said):
            use()


def test_times_outside_of_what_a_view_has(world: World) -> None:
    with world.open() as wh:
        wh.refresh("g")
        wh.alter("g", {"keep": "0 seconds"})
        wh.fold("g")
        newest = wh.ledger.newest_csn()
        for use in (
            lambda: wh.table("g", as_of=1),
            lambda: wh.apply("g", to=1),
            lambda: wh.changes("g", 1),
        ):
            with refused(
                wh, TimeNotReached, 'view "g"', "older than what is kept", f"{newest} to {newest}"
            ):
                use()
        for use in (
            lambda: wh.table("j", as_of=newest),
            lambda: wh.apply("j", to=newest),
            lambda: wh.changes("j", 1, newest),
        ):
            with refused(wh, TimeNotReached, 'view "j"', "past the high-water mark", "0 to 1"):
                use()
        with refused(wh, ConfigError, "4", "3"):
            wh.changes("j", 4, 3)


def test_a_view_that_is_not_there(wh: Warehouse) -> None:
    uses: list[Callable[[], object]] = [
        lambda: wh.refresh("nope"),
        lambda: wh.refresh(["g", "nope"]),
        lambda: wh.propagate("nope"),
        lambda: wh.apply("nope"),
        lambda: wh.fold("nope"),
        lambda: wh.drop("nope"),
        lambda: wh.verify("nope"),
        lambda: wh.explain("nope"),
        lambda: wh.status("nope"),
        lambda: wh.table("nope"),
        lambda: wh.changes("nope", 0),
        lambda: wh.alter("nope", {"keep": "1 day"}),
        lambda: wh.sql("REFRESH MATERIALIZED VIEW nope"),
        lambda: wh.sql("DROP MATERIALIZED VIEW nope"),
    ]
    for use in uses:
        with refused(wh, ConfigError, 'view "nope"', "rollview status"):
            use()
    assert wh.sql("DROP MATERIALIZED VIEW IF EXISTS nope") is None


def test_what_a_view_reads_cannot_be_dropped(world: World) -> None:
    with world.open() as wh:
        wh.sql("CREATE MATERIALIZED VIEW over_g AS SELECT g.name, g.n FROM g")
        with refused(wh, ConfigError, 'view "g" cannot be dropped', 'drop "over_g" first'):
            wh.drop("g")
        with refused(wh, ConfigError, 'view "g"', "over_g"):
            wh.sql("CREATE OR REPLACE MATERIALIZED VIEW g AS SELECT id FROM lake.sales")
        with refused(wh, ConfigError, 'source "lake" cannot be dropped', 'view "g" reads'):
            wh.drop_source("lake")
        with refused(wh, ConfigError, 'there is no source "ocean"'):
            wh.drop_source("ocean")


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """Folders that make bad sources."""
    root = tmp_path_factory.mktemp("lakes")
    session = spark.newSession()
    session.conf.set("spark.sql.runSQLOnFiles", "true")
    session.sql(f"CREATE TABLE delta.`{root}/silent/t` (x BIGINT) USING delta")
    session.sql(f"CREATE TABLE delta.`{root}/odd/my table` (x BIGINT) USING delta {FEED}")
    session.sql(f"CREATE TABLE delta.`{root}/taken/t` (_rv_count BIGINT) USING delta {FEED}")
    (root / "empty" / "deeper").mkdir(parents=True)
    (root / "torn" / "t" / "_delta_log").mkdir(parents=True)
    (root / "torn" / "t" / "_delta_log" / f"{0:020d}.json").write_text('{"commitInfo"')
    (root / "hollow" / "t" / "_delta_log").mkdir(parents=True)
    (root / "a_file").write_text("not a folder")
    return root


BAD_SOURCES: dict[str, tuple[object, tuple[str, ...]]] = {
    "no tables": ("empty", ('source "more" has no tables', "empty")),
    "no change feed": (
        "silent",
        ('"more.t" does not record its changes', "hint: ALTER TABLE delta.`"),
    ),
    "no such folder": ("nowhere", ("there is no folder", "nowhere")),
    "a file": ("a_file", ("there is no folder", "a_file")),
    "odd table name": ("odd", ('a table cannot be called "my table"', "hint: give it a name")),
    "reserved column": ("taken", ('"more.t" has a column called "_rv_count"', "rename")),
    "torn commit": ("torn", ("is not valid", f"{0:020d}.json")),
    "no commit": ("hollow", ("is not a Delta Lake table",)),
    "object store": ("s3://bucket/lake", ("s3://bucket/lake", "mount")),
    "no such table": ({"t": "nowhere/t"}, ("nowhere/t",)),
    "odd given name": ({"a b": "silent/t"}, ("a b",)),
}


@pytest.mark.parametrize("case", BAD_SOURCES)
def test_a_source_that_cannot_be_added(wh: Warehouse, lakes: Path, case: str) -> None:
    place, said = BAD_SOURCES[case]
    if isinstance(place, dict):
        place = {name: str(lakes / path) for name, path in place.items()}
    elif "://" not in str(place):
        place = lakes / str(place)
    with refused(wh, SourceError if case == "torn commit" else ConfigError, *said):
        wh.add_source("more", delta=place)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["my lake", "Lake", "1lake", "_rv_lake", "la.ke", "../lake", "", "x" * 64]
)
def test_a_source_name_that_cannot_be_used(wh: Warehouse, origin: World, name: str) -> None:
    with refused(wh, ConfigError, f'a source cannot be called "{name}"'):
        wh.add_source(name, delta=origin.lakes / "lake")


def test_a_table_that_is_asked_for_and_not_there(wh: Warehouse, origin: World) -> None:
    with refused(wh, ConfigError, 'source "more" has no table "extras"', "extra"):
        wh.add_source("more", delta=origin.lakes / "more", tables=["extras"])


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT id, 1 / (id - 5) AS x FROM lake.sales", "[DIVIDE_BY_ZERO]"),
        ("SELECT c.cust, CAST(c.name AS INT) AS x FROM lake.cust c", "[CAST_INVALID_INPUT]"),
        ("SELECT sum(CAST(c.name AS INT)) AS x FROM lake.cust c GROUP BY c.cust", "[CAST_INVALID_INPUT]"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("piece_rows", [3, 1000])
def test_a_view_whose_build_fails_is_taken_back(
    wh: Warehouse, query: str, said: str, piece_rows: int
) -> None:
    before = left(wh)
    with pytest.raises(RefreshError, match='view "bad" cannot be refreshed') as caught:
        wh.create("bad", query, piece_rows=piece_rows)
    assert said in caught.value.detail
    assert wh.history("bad", 1)[0].state == "failed"
    sweep(wh.ledger, wh.path, 0)
    assert left(wh) == before
    assert not any(p.is_dir() and not os.listdir(p) for p in (wh.path / "views").iterdir())


@pytest.mark.parametrize(
    ("shown", "inserted", "said", "row"),
    [
        ("100 / s.amount", "(200, 1, 0)", "DIVIDE_BY_ZERO", "id = 200, amount = Decimal('0.00')"),
        ("s.id + 9223372036854775000", "(808, 1, 1)", "ARITHMETIC_OVERFLOW", "id = 808"),
        ("CAST(s.id AS TINYINT)", "(200, 1, 1)", "CAST_OVERFLOW", "id = 200"),
    ],
)
def test_a_step_that_fails_stops_the_view_until_the_row_goes(
    world: World, shown: str, inserted: str, said: str, row: str
) -> None:
    with world.open() as wh:
        wh.sql(
            f"CREATE MATERIALIZED VIEW ratio AS SELECT s.id, {shown} AS x FROM lake.sales s"
            " WHERE s.id > 0"
        )
        good = wh.view("ratio").view_time
        rows = wh.table("ratio").count()
        world.sql(f"INSERT INTO {{sales}} VALUES (50, 2, 3), {inserted}, (51, 3, 4)")
        with pytest.raises(RefreshError, match=said) as caught:
            wh.refresh("ratio")
        assert 'row of "lake.sales" in transaction ' in caught.value.detail
        assert caught.value.detail.endswith(f": {row}"), "the row that fails, and no other"
        status = wh.status("ratio")
        assert (status.state, status.view_time) == ("stopped", good)
        assert said in status.reason
        assert wh.table("ratio").count() == rows
        assert wh.ledger.intents() == []
        wh.refresh("j")  # others go on

        world.sql(f"DELETE FROM {{sales}} WHERE id = {inserted[1:4]}")
        wh.refresh("ratio")
        status = wh.status("ratio")
        assert (status.state, status.reason, status.lag) == ("ready", "", 0)
        assert wh.verify("ratio").ok


def test_a_subquery_of_several_rows_stops_the_view_until_the_row_goes(world: World) -> None:
    """Spark's error, with the key; what shows no second row goes on."""
    with world.open() as wh:
        wh.sql(
            "CREATE MATERIALIZED VIEW named AS SELECT s.id,"
            " (SELECT c.name FROM lake.cust c WHERE c.cust = s.cust) AS name FROM lake.sales s"
        )
        good = wh.view("named").view_time
        before = sorted(map(str, wh.table("named").collect()))
        world.sql(
            "INSERT INTO {cust} VALUES (5, 'second'), (77, 'one'), (77, 'two')"
        )  # nobody asks for 77
        with pytest.raises(RefreshError, match="SCALAR_SUBQUERY_TOO_MANY_ROWS") as caught:
            wh.refresh("named")
        assert "key: 5" in caught.value.detail
        status = wh.status("named")
        assert (status.state, status.view_time) == ("stopped", good)
        assert "SCALAR_SUBQUERY_TOO_MANY_ROWS" in status.reason
        assert sorted(map(str, wh.table("named").collect())) == before
        assert wh.ledger.intents() == []

        world.sql("DELETE FROM {cust} WHERE name = 'second'")
        wh.refresh("named")
        status = wh.status("named")
        assert (status.state, status.reason, status.lag) == ("ready", "", 0)
        assert wh.verify("named").ok
