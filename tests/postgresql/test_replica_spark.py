"""A view over a copy of a PostgreSQL table and a Delta Lake table: capture, refresh, verify."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from rollview.errors import SourceError
from rollview.warehouse import Warehouse

pytest_plugins = ["servers"]
pytestmark = pytest.mark.spark

VIEW = """CREATE MATERIALIZED VIEW v AS
SELECT c.name, count(*) AS n, sum(o.price) AS total
FROM shop.orders o JOIN lake.cust c ON o.cust = c.cust GROUP BY c.name"""


STOPS = {
    "a rewrite": ["ALTER TABLE orders ALTER COLUMN price TYPE numeric(10,2) USING price * 2"],
    "a vacuum": ["VACUUM FULL orders"],
    "a lost slot": ["SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
                    " WHERE database = current_database()"],
    "a moved slot": ["DELETE FROM orders WHERE id % 3 = 0",
                     "SELECT pg_replication_slot_advance(slot_name, pg_current_wal_lsn())"
                     " FROM pg_replication_slots WHERE database = current_database()"],
    "a publication made anew": ["DROP PUBLICATION rollview_shop",
                                "CREATE PUBLICATION rollview_shop FOR TABLE orders"],
}  # fmt: skip


def expected(connection: psycopg.Connection, names: dict[int, str]) -> list[tuple]:
    """The view by plain Python, from what the server shows."""
    groups: dict[str, list] = {}
    for cust, price in connection.execute("SELECT cust, price FROM orders").fetchall():
        if cust in names:
            group = groups.setdefault(names[cust], [0, None])
            group[0] += 1
            group[1] = price if group[1] is None else group[1] + (price or 0)
    return sorted((name, n, total) for name, (n, total) in groups.items())


@pytest.mark.slow
def test_a_view_over_a_replica_and_a_lake(database, spark, tmp_path: Path) -> None:
    url = database()
    names = {1: "ann", 2: "bob"}
    rows = spark.createDataFrame(list(names.items()), "cust int, name string")
    rows.write.format("delta").option("delta.enableChangeDataFeed", "true").save(
        str(tmp_path / "lake" / "cust")
    )
    with psycopg.connect(url, autocommit=True) as c, Warehouse(tmp_path / "wh", spark) as wh:
        c.execute("CREATE TABLE orders (id int PRIMARY KEY, cust int, price numeric(10,2))")
        c.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
        c.execute("INSERT INTO orders SELECT i, i % 3, i * 1.5 FROM generate_series(1, 1000) i")
        wh.add_source("lake", delta=tmp_path / "lake")
        wh.add_source("shop", postgres=url, tables=["public.orders"], mode="replica")
        wh.sql(VIEW)

        def check() -> None:
            assert sorted(map(tuple, wh.table("v").collect())) == expected(c, names)
            report = wh.verify("v")
            assert report.ok, report

        check()
        c.execute("UPDATE orders SET price = price + 1 WHERE id % 7 = 0")
        with c.transaction():
            c.execute("DELETE FROM orders WHERE id < 10")
            c.execute("INSERT INTO orders VALUES (2000, 1, 3), (2001, 2, 4)")
        assert wh.refresh("v").technique == "GROUP_AGGREGATE"
        check()
        c.execute("TRUNCATE orders")
        c.execute("INSERT INTO orders VALUES (1, 1, 1.25)")
        wh.refresh("v")
        check()
        assert wh.view("v").view_time == 4
        before = sorted(map(tuple, wh.query("SELECT * FROM shop.orders").collect()))
        assert wh.fold("shop.orders").buckets == 1
        assert sorted(map(tuple, wh.query("SELECT * FROM shop.orders").collect())) == before
        c.execute("INSERT INTO orders VALUES (5, 2, 8)")
        c.execute("TRUNCATE orders")
        c.execute("INSERT INTO orders VALUES (6, 2, 8)")
        wh.refresh("v")
        check()


@pytest.mark.slow
def test_a_stopped_source_is_mended_by_difference(database, spark, tmp_path: Path) -> None:
    url = database()
    with psycopg.connect(url, autocommit=True) as c, Warehouse(tmp_path / "wh", spark) as wh:
        c.execute("CREATE TABLE orders (id int PRIMARY KEY, cust int, price numeric(10,2))")
        c.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
        c.execute("INSERT INTO orders SELECT i, i % 3, i * 1.5 FROM generate_series(1, 300) i")
        wh.add_source("shop", postgres=url, tables=["public.orders"])
        wh.sql(
            "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('policy' = 'incremental_strict') AS"
            " SELECT cust, count(*) AS n, sum(price) AS total FROM shop.orders GROUP BY cust"
        )
        for what, statements in STOPS.items():
            c.execute("INSERT INTO orders SELECT max(id) + 1, 1, 7 FROM orders")
            wh.refresh("v")
            good = wh.view("v").view_time
            for statement in statements:
                c.execute(statement)
            c.execute("UPDATE orders SET price = price + 1 WHERE id % 10 = 1")
            with pytest.raises(SourceError, match="shop"):
                wh.refresh("v")
            assert wh.view("v").view_time == good, what
            wh.resync("shop")
            report = wh.refresh("v")
            assert report.technique in ("GROUP_AGGREGATE", "NO_OP"), what
            query = "SELECT cust, count(*), sum(price) FROM orders GROUP BY cust ORDER BY 1"
            rows = sorted(map(tuple, wh.table("v").collect()))
            assert rows == c.execute(query).fetchall(), what
            assert wh.verify("v").ok, what
        assert wh.ledger.intents() == []
        assert not list((tmp_path / "wh" / "tables").glob("*/load*"))


@pytest.mark.slow
def test_a_source_with_live_tables_and_copies_keeps_their_modes(
    database, spark, tmp_path: Path
) -> None:
    """A resync mends the copy by difference, and registers the live table anew."""
    url = database()
    with psycopg.connect(url, autocommit=True) as c, Warehouse(tmp_path / "wh", spark) as wh:
        c.execute("CREATE TABLE orders (id int PRIMARY KEY, cust int)")
        c.execute("CREATE TABLE cust (cust int, name text)")
        c.execute("ALTER TABLE cust REPLICA IDENTITY FULL")
        c.execute("INSERT INTO orders SELECT i, i % 3 FROM generate_series(1, 30) i")
        c.execute("INSERT INTO cust VALUES (0, 'x'), (1, 'y')")
        wh.add_source("shop", postgres=url, tables=["public.orders"])
        wh.add_source("shop", postgres=url, tables=["public.cust"], mode="live")
        wh.sql("CREATE MATERIALIZED VIEW v AS SELECT o.id, c.name FROM shop.orders o"
               " JOIN shop.cust c ON o.cust = c.cust")  # fmt: skip
        for statement in (*STOPS["a lost slot"], "DELETE FROM orders WHERE id < 5",
                          "INSERT INTO cust VALUES (2, 'z')"):  # fmt: skip
            c.execute(statement)
        with pytest.raises(SourceError, match="is gone"):
            wh.refresh("v")
        wh.resync("shop")
        modes = {r.name: r.properties["mode"] for r in wh.ledger.relations("shop")}
        assert modes == {"shop.cust": "live", "shop.orders": "replica"}
        assert wh.ledger.steps("shop.orders"), "mended by difference"
        c.execute("UPDATE cust SET name = name || '!'")
        wh.refresh("v")
        query = "SELECT o.id, c.name FROM orders o JOIN cust c ON o.cust = c.cust ORDER BY 1"
        assert sorted(map(tuple, wh.table("v").collect())) == c.execute(query).fetchall()
