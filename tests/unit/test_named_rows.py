"""Rows by their numbers, straight from Parquet files: exactly those named, or left to Spark."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from pyroaring import BitMap64

from rollview.errors import SourceError
from rollview.sources.delta_lake import named_rows
from rollview.sources.delta_lake.direct import Occurrence
from rollview.sources.delta_lake.named_rows import Named, plain, taken

BY_SPARK = {"org.apache.spark.version": "3.5.0"}
NOW = datetime.datetime(2024, 1, 31, 12, 30, 15, 123456)


def named(path, rows, stamp=7, values=()):
    return Named(Occurrence(str(path), stamp, -1, tuple(values)), BitMap64(rows))


def file_of(folder, columns, said=BY_SPARK, row_group_size=None, **options):
    path, table = folder / "f.parquet", pa.table(columns)
    with parquet.ParquetWriter(path, table.schema, store_schema=False, **options) as writer:
        writer.write_table(table, row_group_size)
        writer.add_key_value_metadata(said)
    return path


@given(
    size=st.integers(1, 6),
    first=st.sets(st.integers(0, 19), min_size=1),
    second=st.sets(st.integers(0, 19), min_size=1),
)
def test_n1_the_rows_that_are_named(tmp_path_factory, size, first, second):
    """Also where two commits name the same row: it was restored between them."""
    path = file_of(tmp_path_factory.getbasetemp(), {"id": range(20)}, row_group_size=size)
    found = taken([named(path, first, 1), named(path, second, 2)], [("ID", "bigint")])
    expected = [(row, 1) for row in first] + [(row, 2) for row in second]
    assert sorted(tuple(row.values()) for row in found.to_pylist()) == sorted(expected)


def test_n3_only_row_groups_and_columns_with_something_to_take_are_read(tmp_path, monkeypatch):
    path = file_of(tmp_path, {"id": range(12), "other": range(12)}, row_group_size=4)
    read, right = [], parquet.ParquetFile.read_row_group

    def told(data, group, columns):
        read.append((group, columns))
        return right(data, group, columns)

    monkeypatch.setattr(parquet.ParquetFile, "read_row_group", told)
    columns = [("late", "decimal(5,1)"), ("id", "bigint"), ("p", "date")]
    found = taken([named(path, [0, 9, 11], values=[("P", "2024-01-31")])], columns)
    assert read == [(0, ["id"]), (2, ["id"])]
    assert found.schema.names == ["late", "id", "p", "_rv_stamp"]
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        (None, 0, "2024-01-31", 7), (None, 9, "2024-01-31", 7), (None, 11, "2024-01-31", 7),
    ]  # fmt: skip


def test_n4_a_row_beyond_the_end_is_an_error(tmp_path):
    path = file_of(tmp_path, {"id": range(12)})
    for columns in ([("id", "bigint")], []):
        with pytest.raises(SourceError, match="cannot be read") as error:
            taken([named(path, [3, 12])], columns)
        assert "row 12" in error.value.detail and "12 rows" in error.value.detail


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        ("bigint", 1, pa.int64()), ("smallint", 1, pa.int16()), ("float", 1.5, pa.float32()),
        ("string", "é", pa.string()), ("binary", b"\xff", pa.binary()), ("date", NOW.date(), pa.date32()),
        ("decimal(10,2)", Decimal("1.25"), pa.decimal128(10, 2)),
        ("timestamp_ntz", NOW, pa.timestamp("us")), ("timestamp", NOW, pa.timestamp("us", "UTC")),
    ],
)  # fmt: skip
def test_n2_types_that_are_read_here(tmp_path, kind, value, stored):
    path = file_of(tmp_path, {"x": pa.array([None, value], stored)})
    assert plain([named(path, [0, 1])], [("x", kind)])
    found = taken([named(path, [0, 1])], [("x", kind)])
    assert found.column("x").equals(pa.chunked_array([pa.array([None, value], stored)]))


def test_n2_a_moment_as_spark_stores_it_is_read_here(tmp_path):
    moments = pa.array(
        [datetime.datetime(1, 1, 1), NOW, datetime.datetime(9999, 12, 31)], "timestamp[us]"
    )
    path = file_of(tmp_path, {"x": moments}, use_deprecated_int96_timestamps=True)
    one = [named(path, [1, 2])]
    assert plain(one, [("x", "timestamp")]) and not plain(one, [("x", "timestamp_ntz")])
    assert (
        taken(one, [("x", "timestamp")]).column("x").cast("int64").to_pylist()
        == (moments.cast("int64").to_pylist()[1:])
    )


@pytest.mark.parametrize(
    ("kind", "value", "stored", "said"),
    [
        ("bigint", 1, pa.int32(), BY_SPARK), ("int", 1, pa.int64(), BY_SPARK),
        ("double", 1.5, pa.float32(), BY_SPARK), ("string", b"x", pa.binary(), BY_SPARK),
        ("decimal(12,2)", Decimal("1.25"), pa.decimal128(10, 2), BY_SPARK),
        ("timestamp", NOW, pa.timestamp("us"), BY_SPARK), ("timestamp", NOW, pa.timestamp("ms", "UTC"), BY_SPARK),
        ("timestamp_ntz", NOW, pa.timestamp("us", "UTC"), BY_SPARK),
        ("array<int>", [1], pa.list_(pa.int32()), BY_SPARK),
        ("date", NOW.date(), pa.date32(), {}), ("date", NOW.date(), pa.date32(), {"org.apache.spark.version": "2.4.8"}),
        ("date", NOW.date(), pa.date32(), BY_SPARK | {"org.apache.spark.legacyDateTime": ""}),
    ],
)  # fmt: skip
def test_n2_types_that_are_left_to_spark(tmp_path, kind, value, stored, said):
    path = file_of(tmp_path, {"x": pa.array([value], stored), "id": [1]}, said)
    one = [named(path, [0])]
    assert not plain(one, [("id", "bigint"), ("x", kind)])
    assert plain(one, [("id", "bigint")]), "a column that nobody asks for does not matter"


def test_n3_too_much_is_left_to_spark(tmp_path, monkeypatch):
    path = file_of(tmp_path, {"id": range(12)})
    both = [named(path, [1, 2]), named(path, [3])]
    monkeypatch.setattr(named_rows, "FEW", 3)
    monkeypatch.setattr(named_rows, "MOST_BYTES", path.stat().st_size)
    assert plain(both, [("id", "bigint")])
    monkeypatch.setattr(named_rows, "FEW", 2)
    assert not plain(both, [("id", "bigint")])
    monkeypatch.setattr(named_rows, "FEW", 3)
    monkeypatch.setattr(named_rows, "MOST_BYTES", path.stat().st_size - 1)
    assert not plain(both, [("id", "bigint")])


def test_a_file_that_cannot_be_read_is_left_to_spark(tmp_path):
    path = file_of(tmp_path, {"id": [1], "ID": [2]})
    assert not plain([named(path, [0])], [("id", "bigint")]), "which column is meant?"
    path.write_bytes(b"PAR1, and no more")
    assert not plain([named(path, [0])], [("id", "bigint")])
    path.unlink()
    assert not plain([named(path, [0])], [("id", "bigint")])
