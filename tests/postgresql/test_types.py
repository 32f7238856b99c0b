"""Types and values: each PostgreSQL type as the server writes it, loaded and captured alike, or refused by name.

The oracle is psycopg's own reading of the binary protocol, which shares nothing with the codecs.
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from shop import logged

from rollview.errors import ConfigError
from rollview.sources.postgresql.catalogue import chosen_tables, described
from rollview.sources.postgresql.connect import connected
from rollview.sources.postgresql.load import begin_at, part_rows, parts_of
from rollview.sources.postgresql.types import arrow_type, column_read, reader, spark_type
from rollview.warehouse import Warehouse

pytest_plugins = ["servers"]

KEPT: dict[str, tuple[str, list[str], list[Any]]] = {
    "smallint": ("smallint", ["-32768", "32767"], [-32768, 32767]),
    "integer": ("int", ["-2147483648", "2147483647"], [-(2**31), 2**31 - 1]),
    "bigint": ("bigint", ["-9223372036854775808", "9223372036854775807"], [-(2**63), 2**63 - 1]),
    "oid": ("bigint", ["4294967295"], [2**32 - 1]),
    "boolean": ("boolean", ["true", "false"], [True, False]),
    "numeric(10,2)": ("decimal(10,2)", ["12345678.90", "-0.01"], [Decimal("12345678.90"), Decimal("-0.01")]),
    "numeric(38,0)": ("decimal(38,0)", ["9" * 38], [Decimal("9" * 38)]),
    "numeric(3,-2)": ("decimal(5,0)", ["12300"], [Decimal(12300)]),
    "numeric(2,4)": ("decimal(4,4)", ["0.0012"], [Decimal("0.0012")]),
    "numeric": ("decimal(38,18)", ["1.5", "1" * 20, "0.000000000000000001"],
                [Decimal("1.5"), Decimal("1" * 20), Decimal("1E-18")]),
    "real": ("float", ["0.1", "'-Infinity'", "-0.0"], [pa.scalar(0.1, pa.float32()).as_py(), -math.inf, 0.0]),
    "double precision": ("double", ["0.1", "1e308", "'Infinity'", "5e-324"], [0.1, 1e308, math.inf, 5e-324]),
    "text": ("string", ["'a''\"\\\n\t€'", "''"], ["a'\"\\\n\t€", ""]),
    "varchar(3)": ("string", ["'a  '"], ["a  "]),
    "char(4)": ("string", ["'a'", "'a  b'"], ["a", "a  b"]),
    "name": ("string", ["'n'"], ["n"]),
    "bytea": ("binary", ["'\\x00ff'::bytea", "''::bytea"], [b"\0\xff", b""]),
    "date": ("date", ["'0001-01-01'", "'9999-12-31'"], [date(1, 1, 1), date(9999, 12, 31)]),
    "timestamp": ("timestamp_ntz", ["'2020-02-29 23:59:59.999999'", "'0001-01-01'", "'1969-12-31 12:00:00.5'"],
                  [datetime(2020, 2, 29, 23, 59, 59, 999999), datetime(1, 1, 1),
                   datetime(1969, 12, 31, 12, 0, 0, 500000)]),
    "timestamptz": ("timestamp", ["'2020-02-29 23:59:59.000001+05:30'"],
                    [datetime(2020, 2, 29, 18, 29, 59, 1, tzinfo=timezone.utc)]),
    "time": ("string", ["'12:30:00.5'"], ["12:30:00.5"]),
    "interval": ("string", ["'1 year 2 days 3.5 seconds'"], ["P1Y2DT3.5S"]),
    "uuid": ("string", ["'A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11'"], ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    "json": ("string", ["'{\"a\":  1}'"], ['{"a":  1}']),
    "jsonb": ("string", ["'{\"a\":  1}'"], ['{"a": 1}']),
    "inet": ("string", ["'10.0.0.1/8'"], ["10.0.0.1/8"]),
    "bit(3)": ("string", ["B'101'"], ["101"]),
    "mood": ("string", ["'fine'"], ["fine"]),
    "positive": ("int", ["7"], [7]),
    "money2": ("decimal(12,2)", ["7.5"], [Decimal("7.50")]),
    "int[]": ("array<int>", ["'{1,NULL,-3}'", "'{}'"], [[1, None, -3], []]),
    "text[]": ("array<string>", ["ARRAY['a,b', 'c\"d', 'e\\f', 'NULL', NULL, '', ' x ']"],
               [["a,b", 'c"d', "e\\f", "NULL", None, "", " x "]]),
    "numeric(4,1)[]": ("array<decimal(4,1)>", ["'{1.5}'"], [[Decimal("1.5")]]),
    "timestamptz[]": ("array<timestamp>", ["'{\"2020-01-01 00:00:00+00\"}'"],
                      [[datetime(2020, 1, 1, tzinfo=timezone.utc)]]),
}  # fmt: skip
"""By type: the Spark type, values as SQL, and the values that they become."""

MISFITS = {
    "numeric": ["'NaN'", "'Infinity'", "1e20", "1e-19"],
    "numeric(5,2)": ["'NaN'"],
    "date": ["'infinity'", "'0044-03-15 BC'", "'10000-01-01'"],
    "timestamp": ["'-infinity'", "'0044-03-15 BC'", "'294276-12-31'"],
    "timestamptz": ["'infinity'", "'10000-01-01 00:00+00'"],
    "int[]": ["'{{1,2},{3,4}}'", "'[0:1]={1,2}'"],
    "numeric[]": ["'{NaN}'"],
}
REFUSED = [
    "money", "point", "int4range", "tsvector", "timetz", "pg_lsn", "numeric(39,0)", "numeric(38,-1)",
    "pair", "int4multirange", "citext", "pair[]", "xid",
]  # fmt: skip
MADE = (
    "CREATE TYPE mood AS ENUM ('sad', 'fine')", "CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
    "CREATE DOMAIN money2 AS numeric(12,2)", "CREATE TYPE pair AS (a int, b int)",
    "CREATE TYPE citext",
    "CREATE FUNCTION citextin(cstring) RETURNS citext LANGUAGE internal STRICT IMMUTABLE AS 'textin'",
    "CREATE FUNCTION citextout(citext) RETURNS cstring LANGUAGE internal STRICT IMMUTABLE AS 'textout'",
    "CREATE TYPE citext (INPUT = citextin, OUTPUT = citextout, LIKE = text)",
)  # fmt: skip


@pytest.fixture
def made(database):
    """A database with types of its own."""
    url = database()
    with psycopg.connect(url, autocommit=True) as c:
        for statement in MADE:
            c.execute(statement)
        yield url, c


def loaded(url: str) -> list[tuple[Any, ...]]:
    """The rows of table t as a load reads them, in small parts."""
    with connected(url, "s") as c, connected(url, "s") as exporter:
        (found,) = chosen_tables(c, "s", ["t"]).values()
        table = described(c, "s.t", found, "replica")
        parts = parts_of(c, table, 1)
        exporter.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        snapshot = exporter.execute("SELECT pg_export_snapshot()").fetchone()[0]
        begin_at(c, snapshot)
        batches = [b for p in parts for b in part_rows(c, table, p)]
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def test_kept_values_are_loaded_and_captured_alike(made, tmp_path: Path) -> None:
    url, c = made
    columns = ", ".join(f"c{k} {kind}" for k, kind in enumerate(KEPT))
    c.execute(f"CREATE TABLE t (k serial, {columns})")
    c.execute("ALTER TABLE t REPLICA IDENTITY FULL")
    with Warehouse(tmp_path / "wh") as wh:
        wh.add_source("s", postgres=url, tables=["t"], mode="live")
        wanted = []
        for place, (_, texts, values) in enumerate(KEPT.values()):
            for text, value in zip(texts, values, strict=True):
                c.execute(f"INSERT INTO t (c{place}) VALUES ({text})")
                wanted.append((place, value))
        wh.capture()
        log = logged_lists(wh)
        types = dict(wh.ledger.relation("s.t").columns)
    rows = sorted(loaded(url), key=lambda row: row[0])
    assert [repr(r) for r in rows] == [repr(r) for r in sorted(log, key=lambda row: row[0])]
    for row, (place, value) in zip(rows, wanted, strict=True):
        assert [v for v in row[1:] if v is not None] == [value], list(KEPT)[place]
    assert types == {"k": "int", **{f"c{k}": kind for k, (kind, *_) in enumerate(KEPT.values())}}


def logged_lists(wh: Warehouse) -> list[tuple[Any, ...]]:
    """The captured rows, lists included, which are no keys of a bag."""
    found = []
    for step in wh.ledger.steps("s.t"):
        for file in (wh.path / step.folder).glob("*.parquet"):
            for row in pa.parquet.read_table(file).to_pylist():
                del row["_rv_stamp"], row["_rv_count"]
                found.append(tuple(row.values()))
    return found


def test_nan_and_minus_zero(made, tmp_path: Path) -> None:
    url, c = made
    c.execute("CREATE TABLE t (a float8, b float4)")
    c.execute("ALTER TABLE t REPLICA IDENTITY FULL")
    c.execute("INSERT INTO t VALUES ('NaN', '-0.0'), ('-0.0', 'NaN')")
    (one, two) = loaded(url)
    assert math.isnan(one[0]) and math.copysign(1, one[1]) == 1
    assert math.isnan(two[1]) and math.copysign(1, two[0]) == 1


@pytest.mark.parametrize(("kind", "value"), [(k, v) for k, vs in MISFITS.items() for v in vs])
def test_v2_what_does_not_fit_stops_with_the_key_named(database, tmp_path, kind, value) -> None:
    url = database()
    with psycopg.connect(url, autocommit=True) as c, Warehouse(tmp_path / "wh") as wh:
        c.execute(f"CREATE TABLE t (a int, b int, v {kind}, PRIMARY KEY (a, b))")
        c.execute("ALTER TABLE t REPLICA IDENTITY FULL")
        wh.add_source("s", postgres=url, tables=["t"], mode="live")
        c.execute(f"INSERT INTO t VALUES (1, 2, {value})")
        (problem,) = wh.capture().problems
        assert 'column "v", row a = 1, b = 2' in problem.what
        assert logged(wh, "s.t") == {}
        with pytest.raises(Exception, match='column "v", row a = 1, b = 2'):
            loaded(url)


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_types_are_named_with_their_column(made, tmp_path, kind) -> None:
    url, c = made
    c.execute(f'CREATE TABLE t (k int, "Odd column" {kind})')
    c.execute("ALTER TABLE t REPLICA IDENTITY FULL")
    with Warehouse(tmp_path / "wh") as wh, pytest.raises(ConfigError, match='column "Odd column"'):
        wh.add_source("s", postgres=url, tables=["t"], mode="live")


def test_a_collation_in_which_different_texts_are_equal_is_refused(made, tmp_path) -> None:
    url, c = made
    try:
        c.execute(
            "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
    except psycopg.Error:
        pytest.skip("the server has no ICU")
    c.execute("CREATE TABLE t (k text COLLATE ci)")
    c.execute("ALTER TABLE t REPLICA IDENTITY FULL")
    with Warehouse(tmp_path / "wh") as wh, pytest.raises(ConfigError, match="collation"):
        wh.add_source("s", postgres=url, tables=["t"], mode="live")


CODECS = ["bool", "int2", "int4", "int8", "oid", "float4", "float8", "bytea", "date", "timestamp", "timestamptz",
          "text", "bpchar", "numeric(10,2)", "numeric(38,18)", "int4[]", "text[]", "numeric(4,1)[]"]  # fmt: skip
texts = st.one_of(
    st.text(max_size=12),
    st.text("0123456789-.eE+ :{},\"\\xNULnaIfity", max_size=24),
    st.decimals().map(str), st.integers().map(str), st.datetimes().map(str), st.dates().map(str),
)  # fmt: skip


@given(st.sampled_from(CODECS), texts)
def test_v2_any_text_is_a_value_of_the_type_or_an_error(codec: str, text: str) -> None:
    try:
        value = reader(codec)(text)
    except ValueError:
        return
    try:
        pa.scalar(value, arrow_type(codec))
    except pa.ArrowInvalid:  # what Arrow itself cannot hold is refused as well
        return
    if codec.startswith("int") and "[" not in codec:
        assert str(value) == re.sub(r"^(-?)0*(?=\d)", r"\1", text) or value == 0


@given(st.sampled_from(CODECS), st.lists(st.one_of(st.none(), texts), max_size=3))
@example("date", ["0000-01-01"])
@example("timestamp", ["0000-12-31 23:59:59"])
@example("timestamptz", ["0000-12-31 23:59:59.5+00"])
@example("timestamp", ["2016-12-31 23:59:60"])
@example("timestamp", ["2016-12-31T23:59:59"])
@example("timestamp", ["2016-12-31 23:59"])
@example("timestamptz", ["2016-12-31 23:59:59+01"])
@example("int4", ["0x10"])
@example("int2", ["32768"])
@example("numeric(10,2)", ["1e3"])
@example("numeric(10,2)", ["-0.00", "+1.50"])
@example("float8", ["1e999"])
@example("float8", ["-0"])
@example("float8", ["5e-324", "1e-400"])
@example("bool", ["t", "f", None])
@example("bpchar", ["a \t ", "\u00a0 "])
def test_v2_a_column_is_read_as_its_values_are(codec: str, column: list[str | None]) -> None:
    """Whatever Arrow reads at once, it reads as the texts are read one by one."""
    found = column_read(codec, pa.array(column, pa.string()))
    if found is not None:
        one_by_one = [None if t is None else reader(codec)(t) for t in column]
        assert found.equals(pa.array(one_by_one, arrow_type(codec)))
        assert found.type == arrow_type(codec)
        assert "-0.0" not in map(str, found.to_pylist())


@pytest.mark.parametrize(("codec", "column"), [
    ("int2", ["-32768", None]), ("int4", ["7"]), ("int8", ["-9223372036854775808"]),
    ("numeric(10,2)", ["12345678.90", None, "-0.01"]), ("float8", ["0.1", "-12", "1e+308"]),
    ("date", ["0001-01-01", "9999-12-31"]), ("bool", ["t", None]), ("text", ["", None]), ("bpchar", ["a  "]),
    ("timestamp", ["0001-01-01 00:00:00", "2020-02-29 23:59:59.999999", "2020-02-29 10:00:00.5", None]),
    ("timestamptz", ["1969-12-31 23:59:59.1+00", None]),
    ("int4", []),
])  # fmt: skip
def test_what_servers_write_is_read_at_once(codec: str, column: list[str | None]) -> None:
    found = column_read(codec, pa.array(column, pa.string()))
    assert found is not None and len(found) == len(column)


def test_every_codec_has_a_spark_type() -> None:
    assert {spark_type(c) for c in CODECS} >= {
        "array<decimal(4,1)>",
        "decimal(38,18)",
        "timestamp_ntz",
    }
