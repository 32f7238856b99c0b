"""The demo's live part: a PostgreSQL server of its own, joined with the lake, asked and not copied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rollview.errors import ConfigError
from rollview.warehouse import Warehouse

STOCK = """
CREATE TABLE stock (product_id int, place text, pieces int, PRIMARY KEY (product_id, place));
ALTER TABLE stock REPLICA IDENTITY FULL;
INSERT INTO stock SELECT p, place, 20 + p % 7 FROM generate_series(1, 60) p, unnest(ARRAY['north', 'south']) place"""
VIEW = """\
CREATE MATERIALIZED VIEW product_stock TBLPROPERTIES ('policy' = 'incremental') AS
SELECT p.name AS product, COUNT(*) AS places, SUM(s.pieces) AS pieces
FROM store.stock AS s
JOIN lake.products AS p ON p.id = s.product_id
GROUP BY p.name
"""

Say = Callable[[str], None]


def live_part(wh: Warehouse, lake: Path, say: Say) -> list[Any]:
    """A view over a live table and the lake: made, changed from both sides, checked, and taken down again."""
    import psycopg

    from rollview.sources.postgresql.server import Server

    try:
        server = Server()
    except ConfigError:
        say("There is no PostgreSQL server on this machine, so this part is left out.")
        return []
    with server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(STOCK)
            say("A PostgreSQL server was started in a temporary folder: table stock, 120 rows.")
            wh.add_source("store", postgres=server.url(), tables=["public.stock"], mode="live")
            wh.sql(VIEW)
            say(
                "product_stock: an aggregate over that table, which stays where it is, and the lake."
            )
            connection.execute("UPDATE stock SET pieces = pieces - 5 WHERE product_id = 7")
            say("committed in PostgreSQL: 5 pieces of product 7 leave each place")
            _renamed(wh, lake)
            say("committed in the lake: product 9 gets another name")
            wh.capture()
            to = wh.ledger.newest_csn()
            connection.execute("DELETE FROM stock WHERE product_id = 9")
            say(
                "committed in PostgreSQL, after the capture: product 9 is gone, and the server shows it"
            )
            report = wh.refresh("product_stock", to=to)
            say(
                f"refreshed to {to} in {report.seconds:.1f} s: what the server shows too early is taken out"
            )
            first = wh.verify("product_stock")
            wh.refresh("product_stock")
            checks = [first, wh.verify("product_stock")]
        wh.drop("product_stock")
        wh.drop_source("store")
        say("View, slot and publication are dropped, and the server is stopped.")
    return checks


def _renamed(wh: Warehouse, lake: Path) -> None:
    from delta.tables import DeltaTable

    products = DeltaTable.forPath(wh.spark, str(lake / "products"))
    products.update("id = 9", {"name": "'product nine'"})
