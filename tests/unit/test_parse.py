"""Accepted views: the blocks, evaluated naively, give what the user's own text gives (P1, P2)."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from functools import cache

import duckdb
import pytest
from duck import Duck, bag
from hypothesis import given
from hypothesis import strategies as st

from rollview.errors import ConfigError, ViewRefused
from rollview.views.blocks import Definition, Reduce, Union, inputs, joins
from rollview.views.parse import parse_query, parse_view, relation_identifier
from rollview.views.syntax import RollviewSpark

SCHEMA = {
    "lake.sales": (
        ("id", "bigint"), ("cust", "int"), ("qty", "smallint"), ("amount", "decimal(10,2)"),
        ("price", "double"), ("rate", "float"), ("region", "string"), ("day", "date"), ("paid", "boolean"),
    ),
    "lake.customer": (("id", "int"), ("name", "string"), ("tier", "string"), ("region", "string")),
    "shop.orders": (("id", "bigint"), ("cust", "int"), ("total", "decimal(38,18)"), ("wide", "decimal(30,2)")),
    "daily_sales": (("day", "date"), ("region", "string"), ("total", "bigint")),
    "Odd Names": (("a b", "int"), ("select", "string"), ("it`s", "int")),
    "lake.nested": (("id", "int"), ("s", "struct<x:int,y:string>"), ("items", "array<int>")),
}  # fmt: skip
DAYS = [datetime.date(2026, 1, d) for d in (1, 2, 3)]
REGIONS = ["north", "south", "", None]


def filled(seed: int) -> Duck:
    """Small tables with NULLs, duplicates, NaN, infinities and -0.0."""
    pick = random.Random(seed)
    duck = Duck(SCHEMA)

    def some(*values):
        return pick.choice((*values, None))

    doubles = (0.1, 0.2, -0.0, 0.0, 1e20, 1e-9, 3.5, float("nan"), float("inf"), float("-inf"))
    ordinary = doubles[:7] if seed % 2 else doubles
    duck.fill("lake.sales", [
        (pick.randint(1, 6), some(1, 2, 3), some(1, 2, -3), some(Decimal("1.25"), Decimal("-7.10")),
         some(*ordinary), some(0.5, -0.0, 2.25), pick.choice(REGIONS), some(*DAYS), some(True, False))
        for _ in range(14)
    ])  # fmt: skip
    duck.fill("lake.customer", [
        (i, some("ann", "bob"), some("gold", "iron"), pick.choice(REGIONS)) for i in (1, 2, 2, 3, None)
    ])  # fmt: skip
    wide = (
        Decimal("1.000000000000000001"),
        Decimal("-2.5"),
        Decimal("12345678901.123456789012345678"),
    )
    duck.fill("shop.orders", [
        (i, some(1, 2), some(*wide), some(Decimal("99999999999999999999.25"))) for i in range(8)
    ])  # fmt: skip
    duck.fill("daily_sales", [(some(*DAYS), pick.choice(REGIONS), some(5, 6)) for _ in range(6)])
    duck.fill("Odd Names", [(some(1, 2), some("x"), 3), (some(1, 2), "y", 4)])
    duck.fill("lake.nested", [(i, {"x": some(1, 2), "y": "u"}, [1, 2, i]) for i in range(4)])
    return duck


PLAIN = [
    "SELECT id, amount FROM lake.sales",
    "SELECT * FROM lake.sales",
    "SELECT * EXCEPT (price, rate) FROM lake.sales",
    "SELECT ID, Amount * 2 AS twice FROM LAKE.Sales WHERE REGION = 'north' OR paid",
    "SELECT lake.sales.id, sales.cust FROM lake.sales",
    "SELECT s.id, s.qty + 1 AS q, -s.qty AS m FROM lake.sales AS s WHERE s.qty BETWEEN 0 AND 2",
    "SELECT id AS a, a + 1 AS b, b * 2 AS c FROM lake.sales",
    "SELECT CASE WHEN paid THEN 'yes' WHEN NOT paid THEN 'no' ELSE 'unknown' END AS p FROM lake.sales",
    "SELECT id FROM lake.sales WHERE region IN ('north', '') AND region IS NOT NULL AND day > DATE '2026-01-01'",
    "SELECT COALESCE(region, 'none') AS r, UPPER(region) AS u, CONCAT(region, '-', region) AS c FROM lake.sales",
    "SELECT CAST(amount AS INT) AS i, CAST(id AS STRING) AS t, region || '!' AS x FROM lake.sales",
    "SELECT YEAR(day) AS y, MONTH(day) AS m, DATE_ADD(day, 1) AS d FROM lake.sales WHERE day IS NOT NULL",
    "SELECT id FROM lake.sales WHERE region LIKE 'n%' OR region LIKE '%t_'",
    "SELECT id, region <=> NULL AS n FROM lake.sales WHERE cust <=> NULL",
    "SELECT `a b`, `select`, `it``s` AS its FROM `Odd Names` WHERE `a b` = 1",
    "SELECT s.x AS x, n.s.y AS y, items[0] AS first FROM lake.nested n WHERE s.x > 0",
    "SELECT 'a\\'b' AS b, \"x\" AS c, 'tab\\there' AS d, id FROM lake.customer",
    "FROM lake.customer SELECT id, name",
]
JOINED = [
    "SELECT s.id, c.name FROM lake.sales s JOIN lake.customer c ON s.cust = c.id",
    "SELECT s.id, c.name FROM lake.sales s, lake.customer c WHERE s.cust = c.id AND c.tier = 'gold'",
    "SELECT s.id, c.id AS cid FROM lake.sales s CROSS JOIN lake.customer c",
    "SELECT a.id, b.id AS other FROM lake.sales a JOIN lake.sales b ON a.region = b.region AND a.id < b.id",
    "SELECT s.id, c.name FROM lake.sales s INNER JOIN lake.customer c ON s.cust >= c.id OR c.tier = 'iron'",
    "SELECT * FROM lake.customer JOIN (SELECT cust AS id, amount FROM lake.sales) USING (id)",
    "SELECT id, name, c.tier, s.amount FROM (SELECT cust AS id, amount FROM lake.sales) s JOIN lake.customer c "
    "USING (id)",
    "SELECT * FROM (SELECT region, qty FROM lake.sales) a NATURAL JOIN (SELECT region, tier FROM lake.customer) b",
    "SELECT s.*, c.name FROM lake.sales s JOIN lake.customer c ON s.cust = c.id",
    "SELECT s.id, c.name, d.total FROM lake.sales s JOIN lake.customer c ON s.cust = c.id "
    "JOIN daily_sales d ON d.day = s.day AND d.region <=> s.region",
    "SELECT a.id FROM (lake.sales a JOIN lake.customer b ON a.cust = b.id) JOIN lake.customer c ON b.id = c.id",
    "SELECT x.n FROM (SELECT id + 1 AS n FROM (SELECT id FROM lake.sales WHERE qty > 0) t WHERE id > 1) x "
    "WHERE x.n < 6",
    "SELECT q.amount FROM (SELECT * FROM lake.sales s JOIN lake.customer c ON s.cust = c.id) q WHERE q.tier = 'gold'",
    "WITH g AS (SELECT id, name FROM lake.customer WHERE tier = 'gold') "
    "SELECT a.name, b.name AS other FROM g a JOIN g b ON a.id <= b.id",
    "WITH a AS (SELECT id FROM lake.sales), b AS (SELECT id + 1 AS id FROM a) SELECT a.id, b.id AS i2 FROM a, b",
    "WITH a(x, y) AS (SELECT id, qty FROM lake.sales) SELECT x * y AS p FROM a AS k WHERE k.x > 2",
    "SELECT t.p, t.q FROM lake.customer AS t(p, q, r, s) WHERE t.s = 'north'",
    "SELECT v.a FROM (SELECT a, b FROM (SELECT id - (qty - 1) AS a, 2 * (id + 1) AS b FROM lake.sales) i) v "
    "WHERE 10 - v.b < v.a - (v.b - 3)",
]
GROUPED = [
    "SELECT region, COUNT(*) AS n FROM lake.sales GROUP BY region",
    "SELECT region, COUNT(price) AS n, COUNT(1) AS m, COUNT(cust, qty) AS k FROM lake.sales GROUP BY region",
    "SELECT region, SUM(id) AS i, SUM(qty) AS q, SUM(cust) AS c FROM lake.sales GROUP BY region",
    "SELECT region, SUM(amount) AS a, AVG(amount) AS m FROM lake.sales GROUP BY region",
    "SELECT region, SUM(price) AS p, AVG(price) AS m, SUM(rate) AS r FROM lake.sales GROUP BY region",
    "SELECT AVG(id) AS i, AVG(qty) AS q, MEAN(cust) AS c FROM lake.sales",
    "SELECT SUM(total) AS t, SUM(wide) AS w FROM shop.orders",
    "SELECT cust, AVG(total) AS t, AVG(wide) AS w FROM shop.orders GROUP BY cust",
    "SELECT COUNT(*) AS n, SUM(amount) AS a, SUM(price) AS p, AVG(id) AS m FROM lake.sales WHERE id > 1000",
    "SELECT day, region, SUM(amount) / COUNT(*) AS ratio, SUM(qty) + 1 AS s FROM lake.sales GROUP BY day, region",
    "SELECT SUM(qty) AS s FROM lake.sales GROUP BY region",
    "SELECT region AS r, COUNT(*) AS n FROM lake.sales GROUP BY r",
    "SELECT YEAR(day) AS y, COUNT(*) AS n FROM lake.sales GROUP BY 1",
    "SELECT region, day, COUNT(*) AS n FROM lake.sales GROUP BY ALL",
    "SELECT UPPER(region) AS u, COUNT(*) AS n FROM lake.sales GROUP BY UPPER(region)",
    "SELECT region, COUNT(*) AS n FROM lake.sales GROUP BY region HAVING COUNT(*) > 2 AND region <> ''",
    "SELECT region, SUM(amount) AS a FROM lake.sales GROUP BY region HAVING a > 0",
    "SELECT region, AVG(qty) AS a FROM lake.sales GROUP BY region HAVING SUM(qty) > 0 OR MAX_QTY IS NULL".replace(
        "MAX_QTY", "region"
    ),
    "SELECT COUNT(*) AS n FROM lake.sales HAVING COUNT(*) > 100",
    "SELECT region, SUM(CASE WHEN paid THEN amount ELSE 0 END) AS p FROM lake.sales GROUP BY region",
    "SELECT region, COUNT(*) FILTER (WHERE paid) AS p, SUM(qty) FILTER (WHERE qty > 0) AS q FROM lake.sales "
    "GROUP BY region",
    "SELECT region, COUNT_IF(paid) AS p FROM lake.sales GROUP BY region",
    "SELECT price, COUNT(*) AS n FROM lake.sales GROUP BY price",
    "SELECT rate, SUM(qty) AS n FROM lake.sales GROUP BY rate",
    "SELECT c.tier, SUM(s.amount) AS a, COUNT(*) AS n FROM lake.sales s JOIN lake.customer c ON s.cust = c.id "
    "GROUP BY c.tier",
    "SELECT region, SUM(qty) AS a, SUM(qty) + AVG(qty) AS b, COUNT(qty) AS c FROM lake.sales GROUP BY region",
    "SELECT region, region AS again, 1 AS one, COUNT(*) AS n FROM lake.sales GROUP BY region",
    "SELECT id + 1 AS id, COUNT(*) AS n FROM lake.sales GROUP BY id",
    "SELECT SUM(id + qty) AS s, SUM(id * 2) AS t FROM lake.sales",
    "SELECT SUM(n) AS n FROM (SELECT id AS n FROM lake.sales UNION ALL SELECT cust FROM lake.sales) u",
]
DISTINCT = [
    "SELECT DISTINCT region FROM lake.sales",
    "SELECT DISTINCT region, tier FROM lake.customer WHERE id > 1",
    "SELECT DISTINCT price FROM lake.sales",
    "SELECT DISTINCT n FROM (SELECT region, COUNT(*) AS n FROM lake.sales GROUP BY region) q",
    "SELECT DISTINCT COUNT(*) AS n FROM lake.sales GROUP BY region",
    "SELECT s.id, c.region FROM lake.sales s JOIN (SELECT DISTINCT region FROM lake.customer) c "
    "ON s.region = c.region",
    "SELECT region, COUNT(*) AS n FROM (SELECT DISTINCT region, cust FROM lake.sales) d GROUP BY region",
]
UNITED = [
    "SELECT id FROM lake.sales UNION ALL SELECT id FROM lake.customer",
    "SELECT id, 'sale' AS kind FROM lake.sales UNION ALL SELECT id, name FROM lake.customer "
    "UNION ALL (SELECT cust, NULL FROM shop.orders)",
    "SELECT qty AS v FROM lake.sales UNION ALL SELECT amount FROM lake.sales UNION ALL SELECT 1 FROM lake.customer",
    "SELECT r, v FROM (SELECT region AS r, qty AS v FROM lake.sales UNION ALL SELECT region, id FROM lake.customer) "
    "u WHERE v > 1",
    "SELECT u.id, c.name FROM (SELECT id FROM lake.sales UNION ALL SELECT id FROM shop.orders) u "
    "JOIN lake.customer c ON c.id = u.id",
    "SELECT region, COUNT(*) AS n FROM lake.sales GROUP BY region UNION ALL "
    "SELECT region, COUNT(*) FROM lake.customer GROUP BY region",
    "SELECT DISTINCT id FROM (SELECT id FROM lake.sales UNION ALL SELECT id FROM lake.customer) u",
    "WITH u AS (SELECT id FROM lake.sales UNION ALL SELECT id FROM lake.customer) "
    "SELECT a.id FROM u a JOIN u b ON a.id = b.id",
    "SELECT region, SUM(v) AS v FROM (SELECT region, qty AS v FROM lake.sales UNION ALL "
    "SELECT region, total FROM daily_sales) u GROUP BY region",
]
NESTED = [
    "WITH t AS (SELECT region, SUM(amount) AS a FROM lake.sales GROUP BY region) "
    "SELECT x.region, x.a, y.a AS b FROM t x JOIN t y ON x.region = y.region",
    "WITH t AS (SELECT cust, COUNT(*) AS n FROM lake.sales GROUP BY cust), "
    "j AS (SELECT c.name, t.n FROM lake.customer c JOIN t ON t.cust = c.id) "
    "SELECT a.name, b.n FROM j a JOIN j b ON a.name = b.name",
    "SELECT n, COUNT(*) AS how_often FROM (SELECT cust, COUNT(*) AS n FROM lake.sales GROUP BY cust) q GROUP BY n",
    "SELECT s.id, m.a FROM lake.sales s CROSS JOIN (SELECT AVG(qty) AS a FROM lake.sales) m WHERE s.qty > m.a",
    "SELECT day, SUM(total) AS t FROM daily_sales GROUP BY day HAVING t > 1",
    "SELECT tier, SUM(n) AS n FROM (SELECT tier, region, COUNT(*) AS n FROM lake.customer GROUP BY tier, region) q "
    "GROUP BY tier HAVING SUM(n) > 1",
    "(SELECT id FROM lake.customer)",
    "SELECT * FROM (WITH w AS (SELECT id FROM lake.customer) SELECT id FROM w WHERE id > 1) z",
]
CASES = PLAIN + JOINED + GROUPED + DISTINCT + UNITED + NESTED


EMPTY = Duck(SCHEMA)


def parsed(duck: Duck, sql: str, name: str = "v") -> Definition:
    return parse_view(name, sql, SCHEMA, duck.describe)


def test_there_are_enough_cases():
    assert len(CASES) >= 60 and len(set(CASES)) == len(CASES)


@pytest.fixture(scope="module")
def ducks() -> list[Duck]:
    return [filled(seed) for seed in range(4)]


@cache
def defined(sql: str) -> Definition:
    return parsed(EMPTY, sql)


@pytest.mark.parametrize("sql", CASES)
def test_blocks_give_what_the_sql_gives(sql: str, ducks: list[Duck]):
    definition = defined(sql)
    for duck in ducks:
        wanted = bag(duck.recomputed(sql))
        assert bag(duck.evaluated(definition)) == wanted
        assert bag(duck.rows(definition.sql)) == wanted


@pytest.mark.parametrize("sql", CASES)
def test_definitions_are_well_formed(sql: str, ducks: list[Duck]):
    definition = defined(sql)
    known = {name: {c for c, _ in columns} for name, columns in SCHEMA.items()}
    for number, block in enumerate(definition.blocks):
        for join in joins(block):
            aliases = [i.alias for i in join.inputs]
            assert len(set(aliases)) == len(aliases)
            for i in join.inputs:
                assert set(i.columns) <= known[i.relation]
        assert len({c.name.lower() for c in block.columns}) == len(block.columns)
        if isinstance(block, Reduce):
            assert set(block.keys) <= {c.name for c in block.source.columns}
        for part in joins(block):
            assert [(c.name, c.type) for c in part.columns] == [
                (c.name, c.type) for c in joins(block)[0].columns
            ]
        known[definition.block_name(number)] = {c.name for c in block.columns}
    wanted = ducks[0].describe(definition.sql)
    assert [(c.name, c.type) for c in definition.columns] == wanted


@pytest.mark.parametrize("sql", CASES)
def test_the_generated_sql_reads_back_the_same(sql: str):
    definition = defined(sql)
    tree = RollviewSpark().parse(definition.sql)[0]
    assert tree is not None and tree.sql(dialect=RollviewSpark, identify=True) == definition.sql


def test_only_the_columns_read_are_listed(ducks: list[Duck]):
    block = parsed(ducks[0], JOINED[1]).blocks[-1]
    assert [(i.relation, i.columns) for i in inputs(block)] == [
        ("lake.sales", ("id", "cust")), ("lake.customer", ("id", "name", "tier"))
    ]  # fmt: skip


def test_an_aggregate_read_twice_is_one_block(ducks: list[Duck]):
    definition = parsed(ducks[0], NESTED[1])
    assert [type(b) for b in definition.blocks] == [Reduce, Union]
    assert [i.relation for i in inputs(definition.blocks[1])] == ["lake.customer", "v#0"] * 2


def test_equal_aggregates_share_their_sums(ducks: list[Duck]):
    block = parsed(ducks[0], "SELECT SUM(qty) AS a, AVG(qty) AS b, COUNT(qty) AS c, SUM(qty) * 2 AS d FROM "
                             "lake.sales").blocks[-1]  # fmt: skip
    assert isinstance(block, Reduce) and len(block.sums) == 2
    assert [c.name for c in block.source.columns] == ["_rv_a0"]


def test_a_key_is_named_like_its_visible_column(ducks: list[Duck]):
    block = parsed(
        ducks[0], "SELECT region AS r, COUNT(*) AS n FROM lake.sales GROUP BY region, day"
    ).blocks[-1]
    assert isinstance(block, Reduce) and block.keys == ("r", "_rv_k1")


def test_union_over_group_is_one_reduce(ducks: list[Duck]):
    definition = parsed(ducks[0], UNITED[-1])
    assert len(definition.blocks) == 1 and len(joins(definition.blocks[0])) == 2


def test_unnamed_columns_are_named_by_the_engine(ducks: list[Duck]):
    definition = parsed(ducks[0], "SELECT COUNT(*), qty + 1 FROM lake.sales GROUP BY qty + 1")
    assert [c.name for c in definition.columns] == ["count_star()", "(qty + 1)"]
    assert definition.blocks[-1].keys == ("(qty + 1)",)  # type: ignore[union-attr]


def sums_after(duck: Duck, sql: str, changes: list[tuple[object, int]]) -> list[tuple[object, ...]]:
    """What a Reduce shows after changes (value, count) of its only argument."""
    block = parsed(duck, sql).blocks[-1]
    assert isinstance(block, Reduce)
    kind = block.source.columns[0].type
    rows = " UNION ALL ".join(
        f"SELECT CAST({value} AS {kind}) AS `_rv_a0`, CAST({count} AS BIGINT) AS `_rv_count`"
        for value, count in changes
    )
    kept = ", ".join(f"CAST(SUM({s.expr}) AS {s.type}) AS `{s.name}`" for s in block.sums)
    shown = ", ".join(c.expr for c in block.columns)
    kept += ", CAST(SUM(`_rv_count`) AS BIGINT) AS `_rv_count`"
    return duck.rows(f"SELECT {shown} FROM (SELECT {kept} FROM ({rows}) AS s) AS g")


def test_u3_a_double_that_comes_and_goes_leaves_nothing(ducks: list[Duck]):
    sql = "SELECT SUM(price) AS s FROM lake.sales"
    changes = [
        ("0.1", 1),
        ("0.2", 3),
        ("1E9", 1),
        ("0.2", -3),
        ("1E9", -1),
        ("0.1", -1),
        ("NULL", 1),
    ]
    assert sums_after(ducks[0], sql, changes) == [(None,)]
    assert sums_after(ducks[0], sql, [*changes, ("0.3", 1)]) == [(0.3,)]
    assert sums_after(
        ducks[0], sql, [("'NaN'", 1), ("'Infinity'", 2), ("'NaN'", -1), ("1", 1)]
    ) == [(float("inf"),)]


@pytest.mark.parametrize(("column", "value", "count"), [
    ("id", "9223372036854775807", 3), ("total", "12345678901.123456789012345678", 7),
    ("wide", "99999999999999999999.25", 5), ("amount", "99999999.99", 1_000_000),
    ("qty", "-32768", 40), ("price", "123.456", 2_000_000),
])  # fmt: skip
def test_u1_sums_are_linear_and_exact(ducks: list[Duck], column: str, value: str, count: int):
    table = "shop.orders" if column in ("total", "wide") else "lake.sales"
    sql = f"SELECT SUM({column}) AS s, COUNT({column}) AS n FROM {table}"
    assert sums_after(ducks[0], sql, [(value, count), (value, 1 - count)])[0][1] == 1
    found = sums_after(ducks[0], sql, [(value, count), (value, 1 - count)])[0][0]
    assert Decimal(str(found)) == Decimal(value)


def test_u2_a_sum_that_no_bigint_holds_is_an_error_and_a_mean_is_not(ducks: list[Duck]):
    most = str(2**63 - 1)
    sql = "SELECT SUM(id) AS s, AVG(id) AS a FROM lake.sales"
    assert sums_after(ducks[0], sql, [(most, 1)])[0][0] == 2**63 - 1
    least = [(f"-{most}", 1), ("-1", 1)]
    assert sums_after(ducks[0], sql, least)[0][0] == -(2**63)
    assert sums_after(ducks[0], sql, [(most, 2), (most, -1)])[0][0] == 2**63 - 1
    for changes in ([(most, 1), ("1", 1)], [*least, ("-1", 1)]):
        with pytest.raises(
            duckdb.Error, match=r'OVERFLOW.* view "v": a SUM in column "s" is no BIGINT'
        ):
            sums_after(ducks[0], sql, changes)
    mean = sums_after(ducks[0], "SELECT AVG(id) AS a FROM lake.sales", [(most, 3)])
    assert mean == [(float(2**63),)]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT region, cust + 1 AS c, SUM(id) AS s {0} GROUP BY region, cust + 1",
         'column "s" is no BIGINT where region = n, c = NULL'),
        ("SELECT COUNT(*) AS n {0} GROUP BY region HAVING SUM(id) > 0", "HAVING is no BIGINT where key = n"),
        ("SELECT SUM(id) AS `it's` {0}", """column "it's" is no BIGINT"""),
    ],
)  # fmt: skip
def test_u2_the_error_names_view_column_and_group(sql: str, said: str):
    duck = Duck(SCHEMA)
    duck.db.execute(
        "INSERT INTO lake.sales (id, region) VALUES (9223372036854775807, 'n'), (1, 'n')"
    )
    definition = parsed(duck, sql.format("FROM lake.sales"))
    with pytest.raises(duckdb.Error) as caught:
        duck.evaluated(definition)
    assert f'[ARITHMETIC_OVERFLOW] view "v": a SUM in {said}' in str(caught.value)


@given(st.text(max_size=12), st.text(max_size=12))
def test_a3_identifiers_are_injective(one: str, other: str):
    assert (relation_identifier(one) == relation_identifier(other)) == (one == other)


@pytest.mark.parametrize(("one", "other"), [
    ("a_.b", "a._b"), ("a__b", "a.b"), ("A", "a"), ("v#1", "v_23_1"), ("a.b.c", "a__b__c"),
])  # fmt: skip
def test_a3_names_that_look_alike(one: str, other: str):
    assert relation_identifier(one).lower() != relation_identifier(other).lower()
    assert relation_identifier("lake.sales") == "_rv_lake__sales"


@given(st.text(max_size=20))
def test_x1_literals_keep_their_value(value: str):
    from sqlglot import exp

    text = RollviewSpark().generate(exp.Literal.string(value))
    tree = RollviewSpark().parse(f"SELECT {text}")[0]
    assert tree is not None and [n.name for n in tree.find_all(exp.Literal)] == [value]


def test_x1_a_doubled_quote_is_a_quote():
    assert parse_query("SELECT 'it''s' AS a FROM lake.customer", SCHEMA)[0].startswith(
        "SELECT 'it\\'s'"
    )


QUERIES = [
    "SELECT region, SUM(amount) AS a FROM lake.sales GROUP BY region ORDER BY a DESC, region LIMIT 3",
    "SELECT s.id, c.name FROM lake.sales s LEFT JOIN lake.customer c ON s.cust = c.id",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY region ORDER BY id, qty, day, price, cust) AS n FROM lake.sales",
    "SELECT id FROM lake.sales WHERE cust IN (SELECT id FROM lake.customer)",
    "SELECT id FROM lake.sales s WHERE EXISTS (SELECT 1 FROM lake.customer c WHERE c.id = s.cust)",
    "SELECT MAX(id) AS m, MIN(day) AS d, COUNT(DISTINCT region) AS r FROM lake.sales",
    "SELECT id FROM lake.sales UNION SELECT id FROM lake.customer",
    "SELECT id FROM lake.sales EXCEPT SELECT id FROM lake.customer",
    "SELECT (SELECT MAX(id) FROM lake.customer) AS m, id FROM lake.sales",
    "WITH w AS (SELECT lake.sales.id FROM lake.sales) SELECT * FROM w ORDER BY id OFFSET 1",
]


@pytest.mark.parametrize("sql", QUERIES)
def test_queries_may_do_more(sql: str, ducks: list[Duck]):
    generated, relations = parse_query(sql, SCHEMA)
    assert set(relations) <= set(SCHEMA) and "lake.sales" in relations
    for duck in ducks:
        assert bag(duck.rows(generated)) == bag(duck.recomputed(sql))


def test_ties_are_settled_before_any_block_is_made(ducks: list[Duck]):
    """A column without a name of its own is described first: what is made for that is not kept."""
    inner = "SELECT id, cust, qty FROM lake.sales ORDER BY qty LIMIT 2"
    definition = parsed(ducks[0], f"SELECT MAX_BY(q.id, q.cust) FROM ({inner}) q")
    assert "ORDER BY `qty`, `id`, `cust`" in definition.blocks[0].having


def test_the_compiled_build_of_sqlglot_is_named_with_what_to_do(monkeypatch) -> None:
    def compiled(*_: object, **__: object) -> None:
        raise TypeError("interpreted classes cannot inherit from compiled")

    monkeypatch.setattr(RollviewSpark.Parser, "__init__", compiled)
    with pytest.raises(ConfigError, match="sqlglotc") as raised:
        parse_view("v", "SELECT 1 AS a", {}, Duck({}).describe)
    assert "pip uninstall sqlglotc" in raised.value.hint


def test_n1_columns_that_are_not_where_spark_has_them_are_refused() -> None:
    """Of one type, they would otherwise stand under each other's names."""
    duck = Duck(SCHEMA)
    sql = "SELECT * FROM (SELECT id, cust FROM lake.sales)"

    def swapped(text: str) -> list[tuple[str, str]]:
        return duck.describe(text)[:: -1 if text.startswith("SELECT *") else 1]

    assert [c.name for c in parse_view("v", sql, SCHEMA, duck.describe).columns] == ["id", "cust"]
    with pytest.raises(ViewRefused, match='column 1 is "id", and "cust" for Spark'):
        parse_view("v", sql, SCHEMA, swapped)
