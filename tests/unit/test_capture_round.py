"""A round of capture over Delta Lake tables, from commit files made by hand: order, positions, stops (K1 to K3)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from test_delta_log import SCHEMA, Table, add, meta, op, protocol, remove

from rollview.capture import capture
from rollview.errors import ChangesLost
from rollview.ledger.store import Ledger, SchemaEpoch, Source

START = 1_700_000_000_000


@pytest.fixture
def lake(tmp_path: Path):
    """A warehouse with two tables, a and b, at version 0."""
    ledger = Ledger.open(tmp_path / "wh", create=True)
    ledger.add_source(Source("lake", "delta", {}, datetime.now(timezone.utc)))
    tables = {}
    for name in "ab":
        tables[name] = Table(tmp_path / name).commit(op("CREATE", START), meta(), protocol())
        row = replace(tables[name].relation(), name=f"lake.{name}")
        ledger.put_relation(row)
        ledger.add_schema_epoch(SchemaEpoch(row.name, 0, 0, row.columns))
    yield ledger, tmp_path / "wh", tables
    ledger.close()


def timeline(ledger: Ledger) -> list[tuple[str, int]]:
    newest = ledger.newest_csn()
    found = [c for name in "ab" for c in ledger.changes_of(f"lake.{name}", 0, newest)]
    assert [c.csn for c in ledger.commits(0, newest)] == list(range(1, newest + 1))
    return [(c.relation[-1], c.position) for c in sorted(found, key=lambda c: c.csn)]


def test_k1_tables_are_merged_by_commit_time_in_their_own_order(lake) -> None:
    ledger, folder, tables = lake
    tables["a"].commit(op("WRITE", START + 10), add("1"))
    tables["b"].commit(op("WRITE", START + 20), add("1"))
    tables["a"].commit(op("WRITE", START + 30), add("2"))
    tables["a"].commit(op("WRITE", START + 5), add("3"))  # its clock went back
    tables["b"].commit(op("WRITE", START + 40), remove("1"))
    report = capture(ledger, folder)
    assert (report.csn, report.commits, report.problems) == (5, 5, ())
    assert timeline(ledger) == [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2)]
    assert (ledger.relation("lake.a").position, ledger.relation("lake.b").position) == (3, 2)
    assert (ledger.relation("lake.a").rows, ledger.relation("lake.b").rows) == (130, 100)


def test_k2_nothing_new_writes_nothing(lake) -> None:
    ledger, folder, tables = lake
    tables["a"].commit(op("WRITE", START + 10), add("1"))
    assert capture(ledger, folder).commits == 1
    before = ledger.relations()
    assert capture(ledger, folder) == replace(capture(ledger, folder), csn=1, commits=0)
    assert ledger.relations() == before


def test_commits_that_change_no_rows_move_the_position_only(lake) -> None:
    ledger, folder, tables = lake
    tables["a"].commit(
        op("OPTIMIZE", START + 10), add("1", change=False), remove("0", change=False)
    )
    tables["a"].commit(op("ADD COLUMNS", START + 20), meta([*SCHEMA, ("more", "string")]))
    tables["a"].commit(op("WRITE", START + 30), add("2"))
    assert capture(ledger, folder).commits == 1
    row = ledger.relation("lake.a")
    assert row.position == 3 and [c for c, _ in row.columns] == ["id", "name", "more"]
    epochs = ledger.schema_epochs("lake.a")
    assert [(e.position, e.csn, len(e.columns)) for e in epochs] == [(0, 0, 2), (2, 0, 3)]


def test_k3_a_table_that_cannot_go_on_stops_and_the_others_do_not(lake) -> None:
    ledger, folder, tables = lake
    tables["a"].commit(op("WRITE", START + 10), add("1"))
    tables["a"].commit(op("WRITE", START + 20), add("2"))
    tables["b"].commit(op("WRITE", START + 15), add("1"))
    hidden = tables["a"].log / f"{1:020d}.json"
    text = hidden.read_text()
    hidden.unlink()
    report = capture(ledger, folder)
    assert report.commits == 1 and isinstance(report.problems[0], ChangesLost)
    row = ledger.relation("lake.a")
    assert row.stopped == str(report.problems[0]) and row.position == 0
    assert row.properties["stopped_csn"] == 1
    tables["b"].commit(op("WRITE", START + 25), add("2"))
    assert capture(ledger, folder).commits == 1
    assert ledger.relation("lake.a") == row  # where it stopped stays as it was
    hidden.write_text(text)
    assert capture(ledger, folder).problems == ()
    row = ledger.relation("lake.a")
    assert row.stopped is None and "stopped_csn" not in row.properties and row.position == 2
    assert timeline(ledger) == [("b", 1), ("b", 2), ("a", 1), ("a", 2)]
