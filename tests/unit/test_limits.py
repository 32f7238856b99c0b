"""What is refused: by name, with its place underlined, a hint and a reason (L1 to L4)."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest
from duck import Duck
from sqlglot import exp
from test_parse import CASES, QUERIES, SCHEMA

from rollview.errors import ConfigError, ViewRefused
from rollview.views import limits
from rollview.views.blocks import BagReduce, Reduce, inputs
from rollview.views.functions import (
    AGGREGATES,
    GROUPING,
    INSTEAD,
    QUERY_FUNCTIONS,
    SCALAR,
    SUMMED,
    declared_functions,
)
from rollview.views.parse import parse_query, parse_view
from rollview.views.syntax import RollviewSpark, Text, call_name

DUCK = Duck(SCHEMA)


def refused(sql: str) -> ViewRefused:
    with pytest.raises(ViewRefused) as caught:
        parse_view("v", sql, SCHEMA, DUCK.describe)
    return caught.value


def test_a_join_has_64_tables_at_most() -> None:
    def joined(count: int) -> str:
        return "SELECT t1.id FROM " + ", ".join(f"lake.sales t{n}" for n in range(1, count + 1))

    assert len(inputs(parse_view("v", joined(64), SCHEMA, DUCK.describe).blocks[-1])) == 64
    error = refused(joined(65))
    assert "a join of 65 tables" in error.what
    assert underlined(error).endswith("sales t65")


def underlined(error: ViewRefused) -> str:
    row, marks = error.detail.split("\n")
    return row[marks.index("^") : marks.rindex("^") + 1]


S, C = "FROM lake.sales", "lake.customer"
SQ = "(SELECT id FROM lake.customer"
REFUSED: list[tuple[str, str, str, str]] = [
    (f"SELECT s.id {S} s LEFT JOIN {C} c ON c.id = (SELECT MAX(id) FROM {C})", "a subquery in ON of an outer join",
     f"MAX(id) FROM {C}",
     "SUBQUERY_EXPRESSION"),
    (f"SELECT s.id {S} s RIGHT SEMI JOIN {C} c ON c.id = s.cust", "RIGHT SEMI JOIN",
     f"RIGHT SEMI JOIN {C} c ON c.id = s.cust", "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT id {S} s WHERE EXISTS (SELECT 1 FROM {C} c WHERE EXISTS (SELECT 1 FROM shop.orders o WHERE o.cust = "
     "s.cust))", "a subquery that reads a column of two queries further out", "s.cust", "SUBQUERY_EXPRESSION"),
    (f"SELECT id {S} WHERE id = (SELECT id, name FROM {C})", "a subquery of 2 columns as a value", "id",
     "NUM_COLUMNS_MISMATCH"),
    (f"SELECT id {S} WHERE (id, qty) IN (SELECT id FROM {C})", "2 values IN a subquery of 1 columns", "id, qty",
     "NUM_COLUMNS_MISMATCH"),
    (f"SELECT FIRST(id) AS m {S}", "aggregate FIRST", "FIRST(id)", "NON_DETERMINISTIC_EXPRESSION"),
    (f"SELECT ANY_VALUE(id) AS m {S}", "aggregate ANY_VALUE", "ANY_VALUE(id)", "NON_DETERMINISTIC_EXPRESSION"),
    (f"SELECT APPROX_PERCENTILE(id, 0.5) AS m {S}", "aggregate APPROX_PERCENTILE", "APPROX_PERCENTILE(id, 0.5)",
     "NON_DETERMINISTIC_EXPRESSION"),
    (f"SELECT COLLECT_LIST(id) AS m {S}", "COLLECT_LIST without an order", "COLLECT_LIST(id)",
     "NON_DETERMINISTIC_EXPRESSION"),
    (f"SELECT COLLECT_SET(id) FILTER (WHERE paid) AS m {S}", "COLLECT_SET without an order", "COLLECT_SET(id)",
     "NON_DETERMINISTIC_EXPRESSION"),
    (f"SELECT LISTAGG(region, ',') AS m {S}", "LISTAGG without an order", "LISTAGG(region, ',')",
     "NON_DETERMINISTIC_EXPRESSION"),
    (f"SELECT MODE(id) AS m {S}", "MODE without a choice among ties", "MODE(id)", "NON_DETERMINISTIC_EXPRESSION"),
    (f"SELECT UPPER(DISTINCT region) AS m {S}", "UPPER(DISTINCT)", "UPPER(DISTINCT region)", "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT ROW_NUMBER() AS m {S}", "ROW_NUMBER without OVER", "ROW_NUMBER()",
     "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE"),
    (f"SELECT SUM(qty) OVER w AS m {S}", 'there is no window "w"', "SUM(qty) OVER w", "MISSING_WINDOW"),
    (f"SELECT LAST_VALUE(qty) OVER (ORDER BY day) AS m {S}", "LAST_VALUE over a RANGE",
     "LAST_VALUE(qty) OVER (ORDER BY day", "NON_DETERMINISTIC_EXPRESSION"),
    (f"SELECT FIRST_VALUE(qty) OVER (PARTITION BY day) AS m {S}", "FIRST_VALUE without an order",
     "FIRST_VALUE(qty) OVER (PARTITION BY day", "NON_DETERMINISTIC_EXPRESSION"),
    (f"SELECT id {S}\nORDER BY id DESC", "ORDER BY", "ORDER BY id", "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT id {S}\n  SORT BY id", "SORT BY", "SORT BY id", "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT id {S}\nWHERE id > 1\n\nLIMIT 10", "LIMIT without ORDER BY", "LIMIT 10", "PLAN_NOT_INCREMENTALIZABLE"),
    (f"SELECT id {S} OFFSET 3", "OFFSET without ORDER BY", "OFFSET 3", "PLAN_NOT_INCREMENTALIZABLE"),
    (f"SELECT id {S} ORDER BY id LIMIT qty", "LIMIT or OFFSET that is no number", "qty",
     "PLAN_NOT_INCREMENTALIZABLE"),
    (f"SELECT DISTINCT id {S} ORDER BY id + 1 LIMIT 2", "ORDER BY of an expression", "id + 1",
     "PLAN_NOT_INCREMENTALIZABLE"),
    ("SELECT a FROM LATERAL (SELECT 1 AS a) l", "LATERAL", "LATERAL (SELECT 1 AS a) l", "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT * {S} JOIN LATERAL (SELECT 1 AS id) l USING (id)", "JOIN LATERAL USING", "LATERAL (SELECT 1 AS id) l",
     "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT * {S} FULL JOIN LATERAL (SELECT 1 AS x) l ON TRUE", "FULL JOIN LATERAL", "LATERAL (SELECT 1 AS x) l",
     "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT id {S}, LATERAL (SELECT cust UNION ALL SELECT 1, 2) l(x)", "UNION ALL of 1 and 2 columns",
     "cust UNION ALL SELECT 1, 2) l(x", "NUM_COLUMNS_MISMATCH"),
    (f"SELECT id {S} s, LATERAL (SELECT s.cust + 1 AS n) l(x, y)",
     "2 names for 1 columns", "x", "PLAN_NOT_INCREMENTALIZABLE"),
    ("SELECT SIZE(EXPLODE(items)) AS i FROM lake.nested", "EXPLODE inside an expression", "EXPLODE(items)",
     "OPERATOR_NOT_SUPPORTED"),
    ("SELECT EXPLODE(items) AS i, COUNT(*) AS n FROM lake.nested",
     "EXPLODE and the like twice, or beside aggregates, in one SELECT", "EXPLODE(items) AS i", "UNSUPPORTED_GENERATOR"),
    ("SELECT * FROM VALUES (1) AS t(a)", "a view that reads no table", "SELECT * FROM VALUES (1) AS t(a",
     "PLAN_NOT_INCREMENTALIZABLE"),
    (f"SELECT * {S}, (VALUES (1), (2, 3)) AS t(a)", "VALUES with rows of different length", "1), (2, 3)) AS t(a",
     "NUM_COLUMNS_MISMATCH"),
    (f"SELECT id {S} WHERE id = ANY (1, 2)", "ANY", "1, 2", "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT * {S} PIVOT (UPPER(region) FOR qty IN (1))", "PIVOT of what is no aggregate", "UPPER(region)",
     "PLAN_NOT_INCREMENTALIZABLE"),
    (f"SELECT * {S} UNPIVOT (v FOR k IN ((id, cust)))", "UNPIVOT of 2 columns", "id, cust", "NUM_COLUMNS_MISMATCH"),
    (f"SELECT id {S} TABLESAMPLE (10 PERCENT)", "TABLESAMPLE", "TABLESAMPLE (10", "NON_DETERMINISTIC_EXPRESSION"),
    ("WITH RECURSIVE r AS (SELECT 1 AS a) SELECT a FROM r", "a view that reads no table",
     "SELECT 1 AS a) SELECT a FROM r",
     "PLAN_NOT_INCREMENTALIZABLE"),
    (f"WITH RECURSIVE r AS (SELECT id {S} UNION SELECT MAX(id) FROM r) SELECT id FROM r", '"r" inside a group', "r",
     "INVALID_RECURSIVE_REFERENCE"),
    (f"SELECT /*+ BROADCAST(s) */ id {S} s", "hint", "/*+ BROADCAST(s) */", "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT TRANSFORM(id) USING 'cat' AS (x STRING) {S}", "TRANSFORM", "TRANSFORM(id) USING 'cat' AS (x",
     "USER_DEFINED_FUNCTION"),
    ("SELECT * FROM RANGE(10)", "table function RANGE()", "RANGE(10)", "OPERATOR_NOT_SUPPORTED"),
    ("SELECT * FROM text.`/etc/passwd`", 'there is no table "text./etc/passwd"', "text.`/etc/passwd`",
     "TABLE_OR_VIEW_NOT_FOUND"),
    (f"SELECT id {S} VERSION AS OF 3", "time travel", "VERSION AS OF 3", "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT id {S} TIMESTAMP AS OF '2026-01-01'", "time travel", "TIMESTAMP AS OF '2026-01-01'",
     "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT RAND() AS r {S}", "RAND", "RAND()", "NON_DETERMINISTIC_EXPRESSION"),
    (f"SELECT UUID() AS r {S}", "UUID", "UUID()", "NON_DETERMINISTIC_EXPRESSION"),
    (f"SELECT MONOTONICALLY_INCREASING_ID() AS r {S}", "MONOTONICALLY_INCREASING_ID",
     "MONOTONICALLY_INCREASING_ID()", "NON_DETERMINISTIC_EXPRESSION"),
    (f"SELECT INPUT_FILE_NAME() AS r {S}", "INPUT_FILE_NAME", "INPUT_FILE_NAME()", "NON_DETERMINISTIC_EXPRESSION"),
    (f"SELECT id {S} WHERE day < CURRENT_DATE", "time function CURRENT_DATE", "CURRENT_DATE", "TIME_FUNCTION"),
    (f"SELECT id {S} WHERE day < current_date()", "time function CURRENT_DATE", "current_date()", "TIME_FUNCTION"),
    (f"SELECT NOW() AS n {S}", "time function NOW", "NOW()", "TIME_FUNCTION"),
    (f"SELECT UNIX_TIMESTAMP() AS n {S}", "time function UNIX_TIMESTAMP", "UNIX_TIMESTAMP()", "TIME_FUNCTION"),
    (f"SELECT id {S} WHERE day = DATE 'today'", "time literal 'today'", "'today'", "TIME_FUNCTION"),
    (f"SELECT MY_UDF(id) AS u {S}", "function MY_UDF", "MY_UDF(id)", "USER_DEFINED_FUNCTION"),
    (f"SELECT db.my_udf(id) AS u {S}", "user function db.my_udf(id)", "db.my_udf(id", "USER_DEFINED_FUNCTION"),
    (f"SELECT UPER(region) AS u {S}", "function UPER", "UPER(region)", "USER_DEFINED_FUNCTION"),
    (f"SELECT '${{env:HOME}}' AS x, id {S}", "${…}", "'${env:HOME}'", "PARAMETER"),
    (f"SELECT id AS `${{x}}` {S}", "${…}", "`${x}`", "PARAMETER"),
    (f"SELECT '\\u0024{{env:HOME}}' AS x, id {S}", "${…}", "'\\u0024{env:HOME}'", "PARAMETER"),
    (f"SELECT id {S} WHERE qty = :p", "parameter", ":", "PARAMETER"),
    (f"SELECT id {S} WHERE qty = ?", "parameter", "?", "PARAMETER"),
    (f"SELECT id {S} WHERE qty = ${{x}}", "parameter", "$", "PARAMETER"),
    ("SELECT id FROM lake.sale", 'there is no table "lake.sale"', "lake.sale", "TABLE_OR_VIEW_NOT_FOUND"),
    ("SELECT id FROM spark_catalog.lake.sales", "a table name of three parts", "spark_catalog.lake.sales",
     "OPERATOR_NOT_SUPPORTED"),
    ("SELECT id FROM `lake.sales`", 'there is no table "lake.sales"', "`lake.sales`", "TABLE_OR_VIEW_NOT_FOUND"),
    (f"SELECT id,\n  amout {S}", 'there is no column "amout"', "amout", "UNRESOLVED_COLUMN"),
    (f"SELECT x.id {S} s", 'there is no column "x.id"', "x.id", "UNRESOLVED_COLUMN"),
    (f"SELECT id {S} s, {C} c", 'column "id" is ambiguous', "id", "AMBIGUOUS_REFERENCE"),
    (f"SELECT a.qty {S} a, {C} a", 'two tables named "a" in FROM', "customer a", "AMBIGUOUS_REFERENCE"),
    ("SELECT id FROM", "syntax error near 'FROM'", "FROM", "SYNTAX_ERROR"),
    (f"SELECT id, {S}", "syntax error near ','", ",", "SYNTAX_ERROR"),
    (f"SELECT CAST(id AS foo) AS x {S}", "syntax error near 'foo'", "foo", "SYNTAX_ERROR"),
    ("SELECT 'abc FROM t", "syntax error", "'", "SYNTAX_ERROR"),
    (f"SELECT id {S} |> WHERE id > 1", "pipe syntax", "|>", "SYNTAX_ERROR"),
    (f"SELECT id, cust AS ID {S}", 'two columns named "ID"', "cust AS ID", "DUPLICATE_COLUMN"),
    (f"SELECT id AS _rv_count {S}", 'reserved name "_rv_count"', "_rv_count", "RESERVED_NAME"),
    ("SELECT 1 AS a; SELECT 2 AS b", "several statements", ";", "SYNTAX_ERROR"),
    ("DROP TABLE x", "DROP", "DROP", "SYNTAX_ERROR"),
    (f"INSERT INTO x SELECT id {S}", "INSERT", "INSERT", "SYNTAX_ERROR"),
    ("SELECT 1 AS one", "a view that reads no table", "SELECT 1 AS one", "PLAN_NOT_INCREMENTALIZABLE"),
    (f"SELECT id {S} GROUP BY region", '"id" is neither grouped nor aggregated', "id", "MISSING_AGGREGATION"),
    (f"SELECT SUM(COUNT(*)) AS x {S}", "aggregate of an aggregate", "SUM(COUNT(*))", "NESTED_AGGREGATE"),
    (f"SELECT id {S} WHERE COUNT(*) > 1", "aggregate in WHERE or ON", "COUNT(*) > 1", "INVALID_WHERE_CONDITION"),
    (f"SELECT region {S} GROUP BY 2", "GROUP BY 2", "2", "GROUP_BY_POS_OUT_OF_RANGE"),
    (f"SELECT region, GROUPING(id) AS g {S} GROUP BY ROLLUP (region)", "GROUPING of what is not grouped",
     "GROUPING(id)", "GROUPING_COLUMN_MISMATCH"),
    (f"SELECT GROUPING(region) AS g {S} GROUP BY region", "GROUPING without grouping sets", "GROUPING(region)",
     "GROUPING_COLUMN_MISMATCH"),
    (f"SELECT MAP('a', 1) AS m, COUNT(*) AS n {S} GROUP BY 1", 'key "m" of type map<string,int>',
     f"SELECT MAP('a', 1) AS m, COUNT(*) AS n {S} GROUP BY 1", "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE"),
    (f"SELECT NULL AS x, id {S}", 'column "x" has no type', "x", "VOID_TYPE"),
    (f"SELECT id {S} FOR UPDATE", "FOR UPDATE", "FOR", "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT id INTO x {S}", "INTO", "INTO x", "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT region COLLATE UTF8_LCASE AS r {S}", "COLLATE", "COLLATE", "OPERATOR_NOT_SUPPORTED"),
    ("WITH a AS (SELECT 1 AS x), a AS (SELECT 2 AS x) SELECT x FROM a", 'duplicate name "a" in WITH', "a",
     "DUPLICATED_CTE_NAMES"),
    (f"SELECT COUNT(s.*) AS n {S} s", "star inside an expression", "s.*", "STAR"),
    (f"SELECT STRUCT(*) AS n {S} s", "star inside an expression", "STRUCT(*)", "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT id {S} UNION ALL SELECT id, name FROM {C}", "UNION ALL of 1 and 2 columns", f"id, name FROM {C}",
     "NUM_COLUMNS_MISMATCH"),
    (f"SELECT {S}", "SELECT of nothing", f"SELECT {S}", "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT 'x'.a AS y {S}", "a dot after a value", "'x'.a", "OPERATOR_NOT_SUPPORTED"),
    ("VALUES (1)", "VALUES", "VALUES", "SYNTAX_ERROR"),
    (f"SELECT s.id {S}[0] s", "an expression in FROM", "lake.sales[0] s", "OPERATOR_NOT_SUPPORTED"),
    (f"SELECT t.a {S} AS t(a, b)", "2 names for 9 columns", "a", "PLAN_NOT_INCREMENTALIZABLE"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "label", "part", "reason"), REFUSED, ids=[r[1] for r in REFUSED])
def test_l4_refusals_are_named_placed_and_hinted(sql: str, label: str, part: str, reason: str):
    error = refused(sql)
    assert f'view "v" cannot be maintained: {label} at line {error.line}' == error.what
    assert underlined(error) == part
    assert error.reason == reason and error.hint
    assert error.line and error.column
    assert sql.split("\n")[error.line - 1][error.column - 1 :].startswith(part.split("\n")[0])


def test_hints_say_what_was_meant():
    assert "lake.sales" in refused("SELECT id FROM lake.sale").hint
    assert "amount" in refused("SELECT amout FROM lake.sales").hint
    assert "UPPER" in refused("SELECT UPER(region) AS u FROM lake.sales").hint
    assert "query that reads the view" in refused("SELECT id FROM lake.sales ORDER BY id").hint


@pytest.mark.parametrize("sql", ["", "  \n ", "-- nothing", "/* nothing */", ";"])
def test_nothing_is_refused(sql: str):
    assert refused(sql).hint


def test_long_and_deep_sql_is_refused():
    assert "64 KiB" in refused(f"SELECT '{'x' * 65536}' AS a FROM lake.sales").what
    for deep in ("(" * 101 + "id" + ")" * 101, "ABS(" * 101 + "id" + ")" * 101, "NOT " * 5000 + "paid",
                 "- " * 5000 + "id", "CASE WHEN paid THEN 1 ELSE " * 101 + "2" + " END" * 101):  # fmt: skip
        error = refused(f"SELECT {deep} AS a FROM lake.sales")
        assert "nesting deeper than 100" in error.what and len(error.detail) < 300
    wide = " AND ".join(["id > 0"] * 500)
    assert parse_view("v", f"SELECT id FROM lake.sales WHERE {wide}", SCHEMA, DUCK.describe)


@pytest.mark.slow
def test_what_doubles_at_every_level_is_refused_at_once():
    aliases = ", ".join(f"a{n} + a{n} AS a{n + 1}" for n in range(60))
    assert "grows too large" in refused(f"SELECT id AS a0, {aliases} FROM lake.sales").what
    nested = "SELECT id FROM lake.sales"
    for n in range(20):
        nested = f"SELECT id + id AS id FROM ({nested}) t{n}"
    assert "grows too large" in refused(nested).what
    for step, label in (
        ("c{0} a, c{0} b", "a join of 128 tables"),
        ("c{0} UNION ALL SELECT {1} FROM c{0}", "parts"),
    ):
        ctes = ["c0 AS (SELECT id FROM lake.sales)"]
        for n in range(40):
            column = "a.id" if "," in step else "id"
            ctes.append(f"c{n + 1} AS (SELECT {column} FROM {step.format(n, column)})")
        assert label in refused(f"WITH {', '.join(ctes)} SELECT id FROM c40").what


def test_blocks_over_blocks_grow_by_lines():
    ctes = ["c0 AS (SELECT id, COUNT(*) AS n FROM lake.sales GROUP BY id)"]
    for n in range(12):
        ctes.append(f"c{n + 1} AS (SELECT a.id, COUNT(*) AS n FROM c{n} a, c{n} b GROUP BY a.id)")
    DUCK.described.clear()
    definition = parse_view(
        "v", f"WITH {', '.join(ctes)} SELECT id FROM c12", SCHEMA, DUCK.describe
    )
    assert len(definition.blocks) == 14 and max(map(len, DUCK.described)) < 10_000


def test_what_the_engine_refuses_is_refused():
    error = refused("SELECT SUM(day) AS d FROM lake.sales")
    assert error.what == 'view "v" cannot be maintained: Spark does not accept it'
    assert "sum" in error.detail and error.reason == "ANALYSIS_ERROR"


@pytest.mark.parametrize("name", ["", "1v", "_rv_v", "a b", "x" * 64, "lake.v", "v;"])
def test_bad_view_names_are_refused(name: str):
    from rollview.errors import ConfigError

    with pytest.raises(ConfigError):
        parse_view(name, "SELECT id FROM lake.sales", SCHEMA, DUCK.describe)


HOSTILE = [
    "SELECT * FROM text.`/etc/passwd`",
    "SELECT * FROM csv.`/etc/passwd`",
    "SELECT * FROM binaryFile.`/etc/passwd`",
    "SELECT * FROM delta.`/tmp/x`",
    "WITH a AS (SELECT * FROM text.`/etc/passwd`) SELECT * FROM a",
    "SELECT * FROM (SELECT * FROM text.`/etc/passwd`) x",
    "SELECT id FROM lake.sales WHERE id IN (SELECT value FROM text.`/etc/passwd`)",
    "SELECT TRANSFORM(1) USING 'id -un' AS (x STRING)",
    "SELECT TRANSFORM(id) USING 'id -un' AS (x STRING) FROM lake.sales",
    "FROM lake.sales MAP id USING 'cat' AS x",
    "SELECT java_method('java.lang.System', 'getProperty', 'user.home') AS x FROM lake.sales",
    "SELECT reflect('java.lang.System', 'getenv', 'PATH') AS x FROM lake.sales",
    "SELECT try_reflect('java.lang.System', 'getenv', 'PATH') AS x FROM lake.sales",
    "SELECT `reflect`('java.lang.System', 'getenv', 'PATH') AS x FROM lake.sales",
    "SELECT REFLECT /* sqlglot.anonymous */ ('java.lang.System', 'getenv', 'PATH') AS x FROM lake.sales",
    "SELECT builtin.reflect('java.lang.System', 'getenv', 'PATH') AS x FROM lake.sales",
    "SELECT '${env:RV_SECRET}' AS x FROM lake.sales",
    "SELECT '${system:user.home}' AS x FROM lake.sales",
    "SELECT r'${env:RV_SECRET}' AS x FROM lake.sales",
    'SELECT "${env:RV_SECRET}" AS x FROM lake.sales',
    "SELECT '\\u0024{env:RV_SECRET}' AS x FROM lake.sales",
    "SELECT '\\$\\{env:RV_SECRET\\}' AS x FROM lake.sales",
    "SELECT id AS `${env:RV_SECRET}` FROM lake.sales",
    "SELECT ${env:RV_SECRET} AS x FROM lake.sales",
    "SELECT CAST(id AS STRING) AS `a${b}` FROM lake.sales",
    "SELECT input_file_name() AS x FROM lake.sales",
    "SELECT * FROM range(10)",
    "SELECT * FROM read_files('/etc')",
    "SELECT * FROM IDENTIFIER('lake.' || 'sales')",
    "SELECT IDENTIFIER('reflect')('a', 'b') AS x FROM lake.sales",
    "SELECT ai_query('m', 'x') AS x FROM lake.sales",
    "SELECT http_request('GET', 'x') AS x FROM lake.sales",
    "SELECT from_avro(id, 'x') AS x FROM lake.sales",
    "SELECT xpath_string('<a/>', 'a') AS x FROM lake.sales",
    "SELECT raise_error('x') AS x FROM lake.sales",
    "SELECT version() AS x FROM lake.sales",
    "SELECT session_user() AS x FROM lake.sales",
    "SELECT current_catalog() AS x FROM lake.sales",
    "SELECT secret('a', 'b') AS x FROM lake.sales",
    "ADD JAR '/tmp/x.jar'",
    "SET spark.sql.runSQLOnFiles=true",
    "CREATE TABLE x AS SELECT 1",
    "INSERT INTO lake.sales SELECT 1",
    "DROP TABLE lake.sales",
    "REFRESH TABLE lake.sales",
    "CALL system.x()",
    "EXECUTE IMMEDIATE 'select 1'",
    "BEGIN SELECT 1; END",
    "SELECT 1; DROP TABLE lake.sales",
    "SELECT /*+ REPARTITION(1000000) */ id FROM lake.sales",
    "SELECT * FROM lake.sales, LATERAL explode(sequence(1, 1000000000))",
]


@pytest.mark.parametrize("sql", HOSTILE)
def test_hostile_sql_is_refused(sql: str):
    assert refused(sql).hint
    with pytest.raises(ViewRefused):
        parse_query(sql, SCHEMA)


def test_queries_take_no_words_for_calls():
    for word in ("user", "current_user", "session_user", "current_timestamp", "CURRENT_CATALOG"):
        with pytest.raises(ViewRefused):
            parse_query(f"SELECT {word} FROM lake.sales", SCHEMA)
    users = {"users": (("user", "string"),)}
    assert parse_query("SELECT user FROM users", users) == (
        "SELECT `user` FROM `_rv_users` AS `users`",
        ("users",),
    )


VALUES = [
    "1",
    "id",
    "region",
    "'x'",
    "NULL",
    "qty + 1",
    "COUNT(*)",
    "UPPER(region)",
    "(id)",
    "lake.sales",
]
PIECES = [
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION ALL", "UNION", "JOIN", "LEFT JOIN",
    "ON", "USING", "AS", "WITH", "DISTINCT", "AND", "OR", "NOT", "IN", "EXISTS", "BETWEEN", "LIKE", "IS NULL", "CASE",
    "WHEN", "THEN", "ELSE", "END", "CAST(", "TRY_CAST(", "OVER", "PARTITION BY", "(", ")", ",", ".", "*", "+", "-",
    "=", "<", "<=>", "||", "[0]", "::INT", "lake.sales", "lake.customer", "id", "region", "s", "t.id", "1", "'x'",
    "'${a}'", "`b`", "COUNT(*)", "SUM(qty)", "MAX(id)", "RAND()", "reflect('a', 'b')", "explode(items)", "TRANSFORM",
    "text.`/etc/passwd`", "LATERAL VIEW", "PIVOT", "TABLESAMPLE (1 ROWS)", "VALUES (1)", "CURRENT_DATE", ":p", "?",
    "x -> x + 1", "INTERVAL 1 DAY", "DATE '2026-01-01'", "EXTRACT(YEAR FROM day)", "VERSION AS OF 1", "/*+ X(a) */",
    "QUALIFY", "WINDOW", "CROSS JOIN", "NATURAL JOIN", "EXCEPT", "INTERSECT", "NULL", "TRUE", "ARRAY(1)", "MAP('a', 1)",
    "STRUCT(1 AS a)", "FILTER (WHERE paid)", "IGNORE NULLS", "FOR UPDATE", "COLLATE UTF8_LCASE", "a:b", "@v", "{p}",
]  # fmt: skip


def mutated(pick: random.Random, sql: str) -> str:
    """The SQL with one or two words dropped, doubled, swapped or replaced."""
    words = sql.split(" ")
    for _ in range(pick.randint(1, 2)):
        at = pick.randrange(len(words))
        match pick.randrange(5):
            case 0 | 1:
                words[at] = pick.choice((*PIECES, *VALUES))
            case 2:
                words.insert(at, pick.choice(PIECES))
            case 3 if len(words) > 2:
                del words[at]
            case _:
                words[at] = pick.choice(words)
    return " ".join(words)


def assert_within(
    sql: str, nodes: dict[type[exp.Expr], frozenset[str]], functions: frozenset[str]
) -> None:
    """Every node of generated text is on the list, tables are identifiers, and nothing can be substituted."""
    tree = RollviewSpark().parse(sql)[0]
    assert tree is not None and "${" not in sql
    ctes = {c.alias for c in tree.find_all(exp.CTE)}
    for node in tree.walk():
        assert type(node) in nodes, type(node)
        assert {k for k, v in node.args.items() if v} <= nodes[type(node)], node
        if isinstance(node, exp.Anonymous):
            assert call_name(node) in functions
        if isinstance(node, exp.Table):
            assert not node.args.get("db") and (
                node.name.startswith(("_rv_", "_rvx_")) or node.name in ctes
            )


@pytest.mark.parametrize("seed", range(3))
def test_l1_fuzz_nothing_outside_the_list_is_generated(seed: int):
    pick = random.Random(seed)
    tried, accepted = 0, 0
    seeds = [*CASES, *QUERIES * 5, *(r[0] for r in REFUSED), *HOSTILE]
    while tried < 350 * int(os.environ.get("ROLLVIEW_EXAMPLES", "1")):  # that sqlglot can parse
        sql = mutated(pick, pick.choice(seeds))
        try:
            generated, relations = parse_query(sql, SCHEMA)
        except ViewRefused as error:
            assert error.what and error.hint
            tried += error.reason != "SYNTAX_ERROR"
            continue
        tried, accepted = tried + 1, accepted + 1
        assert set(relations) <= set(SCHEMA)
        assert_within(generated, limits.QUERY.nodes, QUERY_FUNCTIONS)
    assert accepted > 100


def test_l1_fuzz_views():
    pick = random.Random(99)
    accepted = 0
    while accepted < 40:
        sql = mutated(pick, pick.choice(CASES))
        DUCK.described.clear()
        try:
            definition = parse_view("v", sql, SCHEMA, DUCK.describe)
        except ViewRefused:
            continue
        accepted += 1
        for generated in (definition.sql, *DUCK.described):
            assert_within(generated, limits.VIEW.nodes, SCALAR | SUMMED)


def test_an_unknown_place_falls_back_to_the_whole():
    error = Text("s", "a b").refused(None, "x", "y")
    assert (error.line, error.column) == (1, 1)


# --- every aggregate of Spark


ONLY_IN_PYTHON = {"count_distinct", "sum_distinct", "listagg_distinct", "string_agg_distinct", "product"}  # fmt: skip
ONLY_IN_SQL = ["any", "approx_top_k", "approx_top_k_accumulate", "approx_top_k_combine", "measure", "percentile_cont",
               "percentile_disc", "schema_of_variant_agg"]  # fmt: skip


def sparks_aggregates() -> list[str]:
    """The aggregate section of Spark's own list of functions, and those that it has in SQL alone."""
    import pyspark.sql.functions as spark_functions

    listed = Path(spark_functions.__file__).read_text(encoding="utf-8")
    section = listed.split("# Aggregate Functions")[1].split("# Window Functions")[0]
    return sorted({*re.findall(r'"(\w+)"', section), *ONLY_IN_SQL} - ONLY_IN_PYTHON)


def test_f3_every_aggregate_of_spark_is_maintained_or_refused_by_name():
    names = [name.upper() for name in sparks_aggregates()]
    assert len(names) > 80
    unknown = [n for n in names if n not in AGGREGATES | GROUPING and n not in INSTEAD]
    assert unknown == []
    assert not set(INSTEAD) & AGGREGATES
    for name in set(names) & set(INSTEAD):
        error = refused(f"SELECT region, {name}(qty) AS x {S} GROUP BY region")
        assert (f"aggregate {name}" in error.what) and error.hint, name
        assert error.reason in ("NON_DETERMINISTIC_EXPRESSION", "OPERATOR_NOT_SUPPORTED")


@pytest.mark.parametrize(
    "call",
    ["BITMAP_CONSTRUCT_AGG(BITMAP_BIT_POSITION(qty))", "COUNT_MIN_SKETCH(qty, 0.5, 0.5, 1)"],
)
def test_aggregates_without_code_of_their_own_are_bags(call: str):
    definition = parse_view("v", f"SELECT region, {call} AS x {S} GROUP BY region", SCHEMA, DUCK.describe)  # fmt: skip
    (block,) = definition.blocks
    assert isinstance(block, BagReduce)
    assert block.repeats == call.startswith("COUNT_MIN")


# --- functions of the user's own


def test_a_declared_function_can_be_called():
    duck = Duck(SCHEMA)
    duck.db.execute("CREATE MACRO net_price(x, y) AS x - y")
    sql = f"SELECT region, SUM(Net_Price(qty, id)) AS x {S} WHERE net_price(qty, 1) > 0 GROUP BY region"
    declared = declared_functions(["net_price"])
    definition = parse_view("v", sql, SCHEMA, duck.describe, declared=declared)
    assert isinstance(definition.blocks[-1], Reduce)
    assert definition.sql.count("NET_PRICE(") == 2
    query = f"SELECT net_price(qty, 1) AS x {S}"
    assert parse_query(query, SCHEMA, declared)[0].startswith("SELECT NET_PRICE(")
    with pytest.raises(ViewRefused) as undeclared:
        parse_query(query, SCHEMA)
    for error in (refused(sql), undeclared.value):
        assert error.reason == "USER_DEFINED_FUNCTION" and "deterministic_functions" in error.hint


def test_declaring_one_allows_no_other():
    with pytest.raises(ViewRefused, match="function NET_PRICES"):
        parse_view("v", f"SELECT NET_PRICES(qty) AS x {S}", SCHEMA, DUCK.describe,
                   declared=declared_functions(["net_price"]))  # fmt: skip


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("rand", "Spark has one"), ("UUID", "Spark has one"), ("reflect", "Spark has one"), ("now", "Spark has one"),
        ("first", "Spark has one"), ("sum", "Spark has one"), ("hll_sketch_agg", "Spark has one"),
        ("explode", "Spark has one"), ("db.f", "no plain name"), ("", "no plain name"), ("_rv_f", "no plain name"),
        ("f(x)", "no plain name"), ("f g", "no plain name"),
    ],
)  # fmt: skip
def test_what_spark_has_cannot_be_declared(name: str, why: str):
    with pytest.raises(ConfigError, match="cannot be declared deterministic") as caught:
        declared_functions(["fine", name])
    assert why in caught.value.detail and "deterministic_functions" in caught.value.hint
