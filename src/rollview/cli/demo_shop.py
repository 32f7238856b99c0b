"""The demo's shop: three small Delta Lake tables, the views over them, and what happens to them.

Everything is computed from row numbers: the demo shows the same figures each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CUSTOMERS, PRODUCTS, SALES = 400, 60, 6000

CITIES = "array('Lima', 'Oslo', 'Pune', 'Quito', 'Riga', 'Turin')"
TABLES = {
    "customers": f"""
        SELECT id, concat('customer ', id) AS name, {CITIES}[int(id % 6)] AS city
        FROM range(1, {CUSTOMERS + 1})""",
    "products": f"""
        SELECT id, concat('product ', id) AS name, cast(5 + (id * 37) % 90 AS decimal(10,2)) AS price
        FROM range(1, {PRODUCTS + 1})""",
}
NEW_SALES = f"""
    SELECT id, 1 + (id * 7919) % {CUSTOMERS} AS customer_id, 1 + (id * 104729) % {PRODUCTS} AS product_id,
           cast(1 + id % 5 AS int) AS quantity, date_add(date'2026-01-01', cast(id % 90 AS int)) AS sold_on
    FROM range({{start}}, {{end}})"""

VIEWS = {
    "large_sales": """\
CREATE MATERIALIZED VIEW large_sales TBLPROPERTIES ('policy' = 'incremental') AS
SELECT s.id, c.name AS customer, c.city, p.name AS product, s.quantity * p.price AS amount
FROM lake.sales AS s
JOIN lake.customers AS c ON c.id = s.customer_id
JOIN lake.products AS p ON p.id = s.product_id
WHERE s.quantity * p.price >= 150
""",
    "city_totals": """\
CREATE MATERIALIZED VIEW city_totals TBLPROPERTIES ('policy' = 'incremental') AS
SELECT c.city, COUNT(*) AS sales, SUM(s.quantity) AS pieces, AVG(s.quantity) AS pieces_per_sale
FROM lake.sales AS s
JOIN lake.customers AS c ON c.id = s.customer_id
GROUP BY c.city
HAVING COUNT(*) >= 10
""",
    "large_by_city": """\
CREATE MATERIALIZED VIEW large_by_city TBLPROPERTIES ('policy' = 'incremental') AS
SELECT city, COUNT(*) AS large_sales, SUM(amount) AS total
FROM large_sales
GROUP BY city
""",
}
SAYS = {
    "large_sales": "a select-join of three tables",
    "city_totals": "an aggregate with AVG and HAVING",
    "large_by_city": "a view on the view large_sales",
}


@dataclass(frozen=True, slots=True)
class Event:
    """One transaction on a table of the shop."""

    words: str
    run: Callable[[], None]


class Shop:
    """The lake with its tables."""

    def __init__(self, spark: SparkSession, lake: Path) -> None:
        self.spark, self.lake = spark, lake

    def open(self) -> None:
        """Make the tables, with their change feeds on."""
        for name, query in TABLES.items():
            self._write(name, self.spark.sql(query), "errorifexists")
        self._write("sales", self._sales(1, SALES + 1), "errorifexists")

    def morning(self) -> list[Event]:
        """New sales only."""
        return [
            Event("120 new sales", lambda: self._write("sales", self._sales(SALES + 1, SALES + 121), "append")),
        ]  # fmt: skip

    def afternoon(self) -> list[Event]:
        """Corrections and cancellations, and a change of a dimension."""
        from delta.tables import DeltaTable

        def table(name: str) -> DeltaTable:
            return DeltaTable.forPath(self.spark, str(self.lake / name))

        def correct() -> None:
            table("sales").update("id % 300 = 0", {"quantity": "quantity + 20"})

        def cancel() -> None:
            table("sales").delete("id % 250 = 1")

        def move() -> None:
            table("customers").update("id IN (7, 77, 177)", {"city": "'Lima'"})

        return [
            Event("20 sales get another quantity", correct),
            Event("25 sales are cancelled", cancel),
            Event("3 customers move to Lima, and their old sales with them", move),
        ]

    def plain_query(self, view: str) -> DataFrame:
        """The view's query in plain Spark, on the tables as they are now; shares nothing with rollview."""
        for name in (*TABLES, "sales"):
            frame = self.spark.read.format("delta").load(str(self.lake / name))
            frame.createOrReplaceTempView(f"demo_{name}")
        text = self._select(view)
        if view == "large_by_city":
            text = text.replace("FROM large_sales", f"FROM ({self._select('large_sales')})")
        return self.spark.sql(text)

    def _select(self, view: str) -> str:
        query = VIEWS[view].partition(" AS\n")[2]
        return query.replace("lake.", "demo_")

    def _sales(self, start: int, end: int) -> DataFrame:
        return self.spark.sql(NEW_SALES.format(start=start, end=end))

    def _write(self, name: str, rows: DataFrame, mode: str) -> None:
        writer = rows.coalesce(1).write.format("delta").mode(mode)
        writer.option("delta.enableChangeDataFeed", "true").save(str(self.lake / name))
