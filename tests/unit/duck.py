"""DuckDB as a fast engine for view definitions: describes queries, evaluates blocks naively, runs the user's SQL.

`Duck` holds tables twice under one roof: by the user's name (lake.sales) and by `relation_identifier`. A definition is
evaluated block after block as of one state, every row with count 1; `recomputed` runs the user's own text. The two
share nothing but the rows.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import duckdb
import sqlglot
from laterals import in_duck_words, nodes
from sqlglot import exp

from rollview.errors import ConfigError
from rollview.views.blocks import BagReduce, Block, Definition, Join, Reduce
from rollview.views.names import relation_identifier
from rollview.views.syntax import quoted


def small_duck() -> duckdb.DuckDBPyConnection:
    """A DuckDB in memory, for many small queries.

    DuckDB 1.5 pushes what one side of a semi join holds below the LIMIT of its other side, which is wrong: not here.
    """
    settings = {"threads": 1, "disabled_optimizers": "join_filter_pushdown"}
    return duckdb.connect(":memory:", config=settings)


TO_DUCK = {
    "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT", "float": "FLOAT",
    "double": "DOUBLE", "string": "VARCHAR", "boolean": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMPTZ",
    "timestamp_ntz": "TIMESTAMP", "binary": "BLOB",
}  # fmt: skip
FROM_DUCK = {v: k for k, v in TO_DUCK.items()} | {
    "HUGEINT": "bigint",
    "UINTEGER": "bigint",
    '"NULL"': "void",
}


@cache
def duck_sql(sql: str) -> str:
    """Spark SQL as DuckDB SQL; DuckDB's COUNT takes one argument, and its COUNT_IF may be NULL."""
    tree = sqlglot.parse_one(sql, dialect="spark")
    for count in nodes(tree):
        if isinstance(count, exp.CountIf):
            count.replace(exp.Count(this=exp.Case().when(count.this.copy(), "1")))
        elif isinstance(count, exp.Count) and count.expressions:
            columns = [count.this, *count.expressions]
            null = exp.or_(*(exp.Is(this=c.copy(), expression=exp.null()) for c in columns))
            count.replace(exp.Count(this=exp.Case().when(null, exp.null()).else_("1")))
    return in_duck_words(tree).sql(dialect="duckdb", copy=False)


def spark_type(duck: str) -> str:
    if duck.startswith("DECIMAL"):
        return duck.lower()
    if duck.endswith("[]"):
        return f"array<{spark_type(duck[:-2])}>"
    if duck.startswith("STRUCT("):
        fields = [f.strip().rsplit(" ", 1) for f in re.split(r",(?![^(]*\))", duck[7:-1])]
        return "struct<" + ",".join(f"{n}:{spark_type(t)}" for n, t in fields) + ">"
    if duck.startswith("MAP("):
        key, value = duck[4:-1].split(",", 1)
        return f"map<{spark_type(key.strip())},{spark_type(value.strip())}>"
    return FROM_DUCK.get(duck, duck.lower())


def duck_type(spark: str) -> str:
    return TO_DUCK.get(spark, spark.upper()) if "<" not in spark else _nested(spark)


def _nested(spark: str) -> str:
    return exp.DataType.build(spark, dialect="spark").sql("duckdb")


TYPED_ONLY = (
    "bitmap_bit_position(x) AS CAST(x AS BIGINT)",
    "bitmap_count(x) AS CAST(octet_length(x) AS BIGINT)",
    "bitmap_construct_agg(x) AS encode(CAST(max(x) AS VARCHAR))",
    "bitmap_or_agg(x) AS max(x)",
    "bitmap_and_agg(x) AS min(x)",
    "count_min_sketch(x, e, c, s) AS encode(CAST(count(x) AS VARCHAR))",
)
"""What DuckDB does not have, with Spark's types and not its values: for cases that run on Spark only."""


class Duck:
    """Tables with rows, and what can be asked about them."""

    def __init__(self, schema: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        self.schema = schema
        self.db = duckdb.connect()
        self.db.execute("SET TimeZone = 'UTC'")
        self.db.execute("CREATE MACRO raise_error(message) AS error(message)")
        for macro in TYPED_ONLY:
            self.db.execute(f"CREATE MACRO {macro}")
        self.described: list[str] = []
        for name, columns in schema.items():
            self._make(name, columns)

    def _make(self, name: str, columns: Sequence[tuple[str, str]]) -> None:
        if "." in name:
            self.db.execute(f'CREATE SCHEMA IF NOT EXISTS "{name.split(".")[0]}"')
        own = ".".join(f'"{p}"' for p in name.split("."))
        body = ", ".join(f'"{c}" {duck_type(t)}' for c, t in columns)
        self.db.execute(f"CREATE OR REPLACE TABLE {own} ({body})")
        self.db.execute(
            f'CREATE OR REPLACE VIEW "{relation_identifier(name)}" AS SELECT * FROM {own}'
        )

    def fill(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        """Replace the rows of a table."""
        own = ".".join(f'"{p}"' for p in name.split("."))
        self.db.execute(f"DELETE FROM {own}")
        marks = ", ".join("?" for _ in self.schema[name])
        self.db.executemany(f"INSERT INTO {own} VALUES ({marks})", [list(row) for row in rows])

    def describe(self, sql: str) -> list[tuple[str, str]]:
        """The Describe that `parse_view` asks for."""
        self.described.append(sql)
        try:
            rows = self.db.execute(f"DESCRIBE {duck_sql(sql)}").fetchall()
        except (duckdb.Error, sqlglot.errors.SqlglotError) as error:
            raise ConfigError(f"DuckDB: {error}", sql) from error
        return [(row[0], spark_type(row[1])) for row in rows]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of Spark SQL."""
        return self.db.execute(duck_sql(sql)).fetchall()

    def recomputed(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of the user's own text."""
        return self.rows(sql)

    def evaluated(self, definition: Definition) -> list[tuple[Any, ...]]:
        """The view's rows, block after block."""
        for number, block in enumerate(definition.blocks):
            name = relation_identifier(definition.block_name(number))
            self.db.execute(
                f'CREATE OR REPLACE TEMP TABLE "{name}" AS {duck_sql(block_sql(block))}'
            )
        return self.db.execute(f'SELECT * FROM "{relation_identifier(definition.name)}"').fetchall()


def join_sql(join: Join, count: bool) -> str:
    """The rows of a join; each input offers the columns it lists and nothing else."""
    shown = [f"{c.expr} AS {quoted(c.name)}" for c in join.columns]
    if count:
        shown.append("CAST(1 AS BIGINT) AS `_rv_count`")
    tables = ", ".join(
        f"(SELECT {', '.join(quoted(c) for c in i.columns) or '1 AS `_rv_one`'} "
        f"FROM {quoted(relation_identifier(i.relation))}) AS {quoted(i.alias)}"
        for i in join.inputs
    )
    tables = tables or "(SELECT 1 AS `_rv_one`) AS `_rv_nothing`"
    for g in join.generators:
        how = "LATERAL VIEW OUTER" if g.outer else "LATERAL VIEW"
        tables += f" {how} {g.call} {quoted(g.alias)} AS {', '.join(map(quoted, g.columns))}"
    where = f" WHERE {join.condition}" if join.condition else ""
    return f"SELECT {', '.join(shown)} FROM {tables}{where}"


def block_sql(block: Block) -> str:
    """A block's visible rows as one query over its inputs."""
    if isinstance(block, BagReduce):
        return bag_sql(block)
    if not isinstance(block, Reduce):
        return " UNION ALL ".join(join_sql(part, False) for part in block.parts)
    source = " UNION ALL ".join(join_sql(part, True) for part in block.source.parts)
    keys = [quoted(k) for k in block.keys]
    sums = [f"CAST(COALESCE(SUM({s.expr}), 0) AS {s.type}) AS {quoted(s.name)}" for s in block.sums]
    kept = ", ".join([*keys, *sums, "CAST(COALESCE(SUM(`_rv_count`), 0) AS BIGINT) AS `_rv_count`"])
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    shown = ", ".join(f"{c.expr} AS {quoted(c.name)}" for c in block.columns)
    where = f" WHERE {block.having}" if block.having else ""
    return f"SELECT {shown} FROM (SELECT {kept} FROM ({source}) AS s{group}) AS g{where}"


def bag_sql(block: BagReduce) -> str:
    """A BagReduce's visible rows."""
    source = " UNION ALL ".join(join_sql(part, False) for part in block.source.parts)
    shown = ", ".join(f"{c.expr} AS {quoted(c.name)}" for c in block.columns)
    if not block.grouped:
        keep = block.having or "TRUE"
        inner = f"SELECT {shown}, {keep} AS `_rv_keep` FROM ({source}) AS s"
        names = ", ".join(quoted(c.name) for c in block.columns)
        return f"SELECT {names} FROM ({inner}) AS w WHERE `_rv_keep`"
    group = f" GROUP BY {', '.join(quoted(k) for k in block.keys)}" if block.keys else ""
    having = f" HAVING {block.having}" if block.having else ""
    return f"SELECT {shown} FROM ({source}) AS s{group}{having}"


def bag(rows: Iterable[Sequence[Any]]) -> Counter[tuple[Any, ...]]:
    """Rows as a bag, numbers comparable to 6 digits: DuckDB's AVG of decimals is a double."""
    return Counter(tuple(_comparable(v) for v in row) for row in rows)


def _comparable(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float, Decimal)):
        number = float(value)
        if math.isnan(number):
            return "NaN"
        return number if math.isinf(number) else float(f"{number:.6g}") + 0.0
    if isinstance(value, (list, dict)):
        return repr(value)
    return value
