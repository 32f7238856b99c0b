"""The technique that a refresh reports, by what the user wrote."""

from __future__ import annotations

import pytest
from duck import Duck

from rollview.refresh import technique_of
from rollview.views.parse import parse_view

TABLES = {
    "lake.sales": (("id", "int"), ("cust", "int"), ("amount", "int")),
    "lake.customer": (("cust", "int"), ("name", "string")),
}
S, C = "lake.sales s", "lake.customer c"
WRITTEN = {
    f"SELECT id FROM {S} WHERE amount > 1": None,
    f"SELECT s.id, c.name FROM {S} JOIN {C} ON s.cust = c.cust": None,
    f"SELECT s.id, c.name FROM {S} LEFT JOIN {C} ON s.cust = c.cust": "ROW_BASED",
    f"SELECT s.id, c.name FROM {S} FULL JOIN {C} ON s.cust < c.cust": "ROW_BASED",
    f"SELECT id FROM {S} WHERE EXISTS (SELECT 1 FROM {C} WHERE c.cust = s.cust)": "ROW_BASED",
    f"SELECT id FROM {S} WHERE cust NOT IN (SELECT cust FROM {C})": "ROW_BASED",
    f"SELECT c.name, t.n FROM {C} JOIN (SELECT cust, COUNT(*) AS n FROM {S} GROUP BY cust) t ON t.cust = c.cust":
        "ROW_BASED",
    f"SELECT cust, COUNT(*) AS n FROM {S} GROUP BY cust": "GROUP_AGGREGATE",
    f"SELECT c.name, COUNT(s.id) AS n FROM {C} LEFT JOIN {S} ON s.cust = c.cust GROUP BY c.name": "GROUP_AGGREGATE",
    f"SELECT cust, MAX(amount) AS m FROM {S} GROUP BY cust": "GENERIC_AGGREGATE",
    f"SELECT id, RANK() OVER (PARTITION BY cust ORDER BY amount) AS r FROM {S}": "WINDOW_FUNCTION",
    f"WITH RECURSIVE r(a) AS (SELECT id FROM {S} UNION SELECT s.cust FROM r JOIN {S} ON s.id = r.a) SELECT a FROM r":
        "RECURSIVE",
}  # fmt: skip


@pytest.mark.parametrize("sql", WRITTEN)
def test_the_technique_is_about_what_was_written(sql: str) -> None:
    definition = parse_view("v", sql, TABLES, Duck(TABLES).describe)
    assert technique_of(definition) == WRITTEN[sql]
