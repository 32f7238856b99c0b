"""The SQL face: statements, and the place of every error in the whole text (M1)."""

from __future__ import annotations

import pytest
from duck import Duck

from rollview.errors import ConfigError, ViewRefused
from rollview.views.parse import parse_view
from rollview.views.statements import (
    AlterView,
    CreateView,
    DropView,
    ExplainView,
    RefreshViews,
    Select,
    parse_statement,
)

SCHEMA = {"lake.sales": (("id", "bigint"), ("region", "string"), ("qty", "int"))}


@pytest.mark.parametrize(("sql", "statement"), [
    ("CREATE MATERIALIZED VIEW v AS SELECT 1", CreateView("v", " " * 30 + "SELECT 1")),
    ("create or replace materialized view Daily as select 1",
     CreateView("daily", " " * 45 + "select 1", or_replace=True)),
    ("CREATE MATERIALIZED VIEW IF NOT EXISTS `v` COMMENT 'it''s' AS SELECT 1",
     CreateView("v", " " * 62 + "SELECT 1", {"comment": "it's"}, if_not_exists=True)),
    ("CREATE MATERIALIZED VIEW v TBLPROPERTIES ('keep' = '7 days', 'buckets'=8) AS SELECT 1",
     CreateView("v", " " * 77 + "SELECT 1", {"keep": "7 days", "buckets": "8"})),
    ("CREATE MATERIALIZED VIEW v REFRESH POLICY INCREMENTAL STRICT AS SELECT 1",
     CreateView("v", " " * 64 + "SELECT 1", {"policy": "incremental_strict"})),
    ("CREATE MATERIALIZED VIEW v REFRESH POLICY FULL COMMENT 'x' AS SELECT 1;",
     CreateView("v", " " * 62 + "SELECT 1", {"policy": "full", "comment": "x"})),
    ("CREATE MATERIALIZED VIEW v SCHEDULE REFRESH EVERY 2 HOURS AS SELECT 1",
     CreateView("v", " " * 61 + "SELECT 1", {"schedule": "every 2 hours"})),
    ("EXPLAIN CREATE MATERIALIZED VIEW v AS SELECT 1",
     ExplainView(CreateView("v", " " * 38 + "SELECT 1"))),
    ("REFRESH MATERIALIZED VIEW v", RefreshViews(("v",))),
    ("REFRESH MATERIALIZED VIEW a, B, c FULL;", RefreshViews(("a", "b", "c"), full=True)),
    ("REFRESH MATERIALIZED VIEW a TO VERSION 42", RefreshViews(("a",), to=42)),
    ("refresh materialized view a to timestamp '2026-01-01T00:00:00Z'",
     RefreshViews(("a",), to="2026-01-01T00:00:00Z")),
    ("DROP MATERIALIZED VIEW v", DropView("v")),
    ("DROP MATERIALIZED VIEW IF EXISTS v;", DropView("v", if_exists=True)),
    ("ALTER MATERIALIZED VIEW v SET TBLPROPERTIES ('fold' = 'always')", AlterView("v", {"fold": "always"})),
    ("SELECT 1", Select("SELECT 1")),
    ("-- why\nWITH a AS (SELECT 1) SELECT * FROM a", Select("-- why\nWITH a AS (SELECT 1) SELECT * FROM a")),
    ("(SELECT 1)", Select("(SELECT 1)")),
])  # fmt: skip
def test_statements(sql: str, statement: object):
    assert parse_statement(sql) == statement


def underlined(error: ConfigError | ViewRefused) -> str:
    row, marks = error.detail.split("\n")
    return row[marks.index("^") : marks.rindex("^") + 1]


@pytest.mark.parametrize(("sql", "label", "part"), [
    ("CREATE TABLE t (a INT)", "MATERIALIZED expected", "TABLE"),
    ("TRUNCATE t", "statement TRUNCATE", "TRUNCATE"),
    ("CREATE MATERIALIZED VIEW 1v AS SELECT 1", 'view name "1v" cannot be used', "1v"),
    ("CREATE MATERIALIZED VIEW _rv_v AS SELECT 1", 'view name "_rv_v" cannot be used', "_rv_v"),
    ("CREATE MATERIALIZED VIEW `a b` AS SELECT 1", 'view name "a b" cannot be used', "`a b`"),
    (f"DROP MATERIALIZED VIEW {'x' * 64}", f'view name "{"x" * 64}" cannot be used', "x" * 64),
    ("CREATE MATERIALIZED VIEW lake.v AS SELECT 1", "a view name has one part", "."),
    ("CREATE MATERIALIZED VIEW v\nPARTITIONED BY (a) AS SELECT 1", "clause not understood", "PARTITIONED BY"),
    ("CREATE MATERIALIZED VIEW v (a INT) AS SELECT 1", "only column names can be given", "INT"),
    ("CREATE MATERIALIZED VIEW v (a,) AS SELECT 1", "column name expected", ")"),
    ("CREATE MATERIALIZED VIEW v AS", "query expected", "AS"),
    ("CREATE MATERIALIZED VIEW v TBLPROPERTIES (a = 1) AS SELECT 1", "property expected", "a"),
    ("CREATE MATERIALIZED VIEW v TBLPROPERTIES ('a' = x) AS SELECT 1", "value expected", "x"),
    ("CREATE MATERIALIZED VIEW v REFRESH POLICY SOMETIMES AS SELECT 1", "policy not known", "SOMETIMES"),
    ("CREATE MATERIALIZED VIEW v SCHEDULE AS SELECT 1", "schedule expected", "AS"),
    ("REFRESH MATERIALIZED VIEW a b", "this is too much", "b"),
    ("REFRESH MATERIALIZED VIEW a TO VERSION x", "version expected", "x"),
    ("REFRESH MATERIALIZED VIEW a TO TIMESTAMP 3", "time expected", "3"),
    ("DROP MATERIALIZED VIEW a; DROP MATERIALIZED VIEW b", "this is too much", "DROP"),
    ("EXPLAIN SELECT 1", "CREATE expected", "SELECT"),
    ("ALTER MATERIALIZED VIEW v RENAME TO w", "SET expected", "RENAME"),
])  # fmt: skip
def test_errors_underline_the_word(sql: str, label: str, part: str):
    with pytest.raises(ConfigError) as caught:
        parse_statement(sql)
    assert label in caught.value.what and caught.value.hint
    assert underlined(caught.value) == part


@pytest.mark.parametrize("sql", ["", "   ", "-- nothing", ";"])
def test_nothing_is_no_statement(sql: str):
    with pytest.raises((ConfigError, ViewRefused)):
        parse_statement(sql)


def test_m1_a_refusal_names_the_line_of_the_whole_text():
    sql = "CREATE MATERIALIZED VIEW v\n  COMMENT 'x'\nAS SELECT id FROM lake.sales\nLIMIT 3;"
    statement = parse_statement(sql)
    assert isinstance(statement, CreateView)
    with pytest.raises(ViewRefused) as caught:
        parse_view("v", statement.query, SCHEMA, Duck(SCHEMA).describe)
    assert (caught.value.line, caught.value.column) == (4, 1)
    assert (
        "LIMIT without ORDER BY at line 4" in caught.value.what
        and underlined(caught.value) == "LIMIT 3"
    )


def test_column_names_rename_the_outputs():
    statement = parse_statement(
        "CREATE OR REPLACE MATERIALIZED VIEW v (place, `how many`) AS\n"
        "SELECT region, COUNT(*) FROM lake.sales GROUP BY region -- done\n;"
    )
    assert isinstance(statement, CreateView)
    definition = parse_view("v", statement.query, SCHEMA, Duck(SCHEMA).describe)
    assert [c.name for c in definition.columns] == ["place", "how many"]


def test_column_names_must_be_as_many():
    statement = parse_statement("CREATE MATERIALIZED VIEW v (a, b) AS\nSELECT id FROM lake.sale")
    assert isinstance(statement, CreateView)
    with pytest.raises(ViewRefused) as caught:
        parse_view("v", statement.query, SCHEMA, Duck(SCHEMA).describe)
    assert caught.value.line == 2 and underlined(caught.value) == "lake.sale"
    with pytest.raises(ViewRefused, match="2 names for 1 columns"):
        parse_view("v", statement.query.replace("sale", "sales"), SCHEMA, Duck(SCHEMA).describe)
