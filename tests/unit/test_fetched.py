"""Changed rows fetched by Arrow: every row of every occurrence, with its stamp and count, or nothing at all."""

import pyarrow as pa
import pytest
from pyarrow import parquet
from test_lookup import change

from rollview.changes import COUNT, STAMP
from rollview.sources.delta_lake import fetched
from rollview.sources.delta_lake.fetched import changed


@pytest.fixture
def files(tmp_path):
    """A data file of three rows and a change file of two."""
    keys = pa.array([1, None, 3], pa.int32())
    parquet.write_table(pa.table({"k": keys, "other": ["x", "y", "z"]}), tmp_path / "data")
    kinds = ["update_preimage", "insert"]
    rows = {"K": pa.array([4, 5], pa.int32()), "_change_type": kinds}
    parquet.write_table(pa.table(rows), tmp_path / "cdc")
    return str(tmp_path)


def rows(table, *columns):
    return sorted(table.select([*columns, COUNT]).to_pylist(), key=str)


def both():
    return [
        change(added=[("data", {})]),
        change(removed=[("data", {})], change_files=[("cdc", {})]),
    ]


def test_l1_every_occurrence_once(files):
    found = changed(files, both(), [("k", "int"), ("late", "string")])
    assert found.schema.names == ["k", "late", STAMP, COUNT]
    assert set(found.column(STAMP).to_pylist()) == {3} and found.column("late").null_count == 8
    assert [(r["k"], r[COUNT]) for r in found.to_pylist()] == [
        (1, 1), (None, 1), (3, 1), (4, -1), (5, 1), (1, -1), (None, -1), (3, -1)
    ]  # fmt: skip


def test_l1_rows_are_counted_where_no_column_is_asked_for(files):
    found = changed(files, both(), [])
    assert sorted(found.column(COUNT).to_pylist()) == [-1, -1, -1, -1, 1, 1, 1, 1]
    assert changed(files, [], []).num_rows == 0


@pytest.mark.parametrize(
    ("files_of", "columns"),
    [
        ({"way": "feed"}, [("k", "int")]),
        ({"added": [("data", {})]}, [("k", "bigint")]),
        ({"added": [("data", {"k": "1"})]}, [("k", "int")]),
        ({"added": [("gone", {})]}, [("k", "int")]),
        ({"change_files": [("data", {})]}, [("k", "int")]),
        ({"added": [("data", {})]}, [("other", "array<int>")]),
    ],
)
def test_l1_or_nothing(files, files_of, columns):
    assert changed(files, [change(**files_of)], columns) is None


def test_l1_a_kind_of_change_that_nobody_knows(files, tmp_path):
    rows = {"k": pa.array([1], pa.int32()), "_change_type": ["new"]}
    parquet.write_table(pa.table(rows), tmp_path / "odd")
    assert changed(files, [change(change_files=[("odd", {})])], [("k", "int")]) is None


@pytest.mark.parametrize(("bound", "value"), [("MOST_CHANGED", 2), ("MOST_CHANGED_BYTES", 10)])
def test_l2_no_more_than_few(files, monkeypatch, bound, value):
    monkeypatch.setattr(fetched, bound, value)
    assert changed(files, both(), [("k", "int")]) is None
