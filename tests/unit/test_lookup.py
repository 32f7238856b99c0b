"""Rows by the values of a column, straight from Parquet files: exactly those with the keys, or left to Spark."""

import datetime
import os

import ledger_rows as make
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from pyroaring import BitMap64
from recorded import examples
from test_named_rows import file_of

from rollview.sources.delta_lake import fetched, lookup, named_rows
from rollview.sources.delta_lake.direct import Occurrence
from rollview.sources.delta_lake.lookup import Keys, keys_of, looked_up, told_keys
from rollview.sources.delta_lake.named_rows import Stored

COLUMNS = [("K", "int"), ("v", "bigint"), ("late", "string")]


def occurrence(path, values=()):
    return Occurrence(str(path), 0, 1, tuple(values))


def written(folder, keys, row_group_size=None):
    """A file with the columns k and v; v numbers the rows."""
    columns = {"k": pa.array(keys, pa.int32()), "v": range(len(keys))}
    return occurrence(file_of(folder, columns, row_group_size=row_group_size))


def numbers(*values, column="K"):
    return Keys(column, pa.array(values, pa.int64()))


def rows(table):
    return sorted(tuple(row.values()) for row in table.to_pylist())


@examples(50)
@given(
    stored=st.lists(st.none() | st.integers(-5, 5), min_size=1, max_size=20),
    size=st.integers(1, 6),
    wanted=st.sets(st.integers(-6, 6) | st.just(2**40)),
)
def test_k1_every_row_with_one_of_the_keys_once(tmp_path_factory, stored, size, wanted):
    file = written(tmp_path_factory.getbasetemp(), stored, size)
    found = looked_up(Stored([file]), COLUMNS, numbers(*wanted))
    assert found.schema == pa.schema([("K", pa.int32()), ("v", pa.int64()), ("late", pa.string())])
    assert rows(found) == [(k, n, None) for k, n in sorted((k, n) for n, k in enumerate(stored)
                                                           if k in wanted)]  # fmt: skip


@examples(50)
@given(
    stored=st.lists(st.none() | st.integers(0, 3), min_size=1, max_size=20),
    size=st.integers(1, 6),
    hidden=st.sets(st.integers(0, 19)),
)
def test_k1_rows_that_a_vector_hides_are_not_there(tmp_path_factory, stored, size, hidden):
    """By their numbers in the file, whichever row groups and batches they are in."""
    file = written(tmp_path_factory.getbasetemp(), stored, size)
    some = Stored([file], {file.path: BitMap64(hidden)})
    there = [(k, n, None) for n, k in enumerate(stored) if n not in hidden]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "BATCH_ROWS", 2)
        found = looked_up(some, COLUMNS, numbers(1, 3))
    assert rows(found) == sorted(row for row in there if row[0] in (1, 3))
    every = fetched.whole(some, COLUMNS).to_pylist()
    assert [tuple(row.values()) for row in every] == there


@pytest.mark.parametrize(
    ("kind", "stored", "wanted", "type_"),
    [
        ("string", ["a", "A", "a ", None, "é"], ["a", "é"], pa.string()),
        ("date", [datetime.date(2024, 1, d) for d in (1, 2, 3)], [datetime.date(2024, 1, 2)], pa.date32()),
    ],
)  # fmt: skip
def test_k1_texts_and_dates(tmp_path, kind, stored, wanted, type_):
    file = occurrence(file_of(tmp_path, {"k": pa.array(stored, type_)}))
    found = looked_up(Stored([file]), [("k", kind)], Keys("k", pa.array(wanted, type_)))
    assert found.column("k").to_pylist() == [value for value in stored if value in wanted]


def test_k3_row_groups_that_have_no_key_are_not_read(tmp_path, monkeypatch):
    file, read = written(tmp_path, range(12), 4), []
    right = parquet.ParquetFile.iter_batches

    def told(data, size, groups, columns):
        read.extend(groups)
        return right(data, size, groups, columns)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", told)
    assert looked_up(Stored([file]), COLUMNS, numbers(5, 40)).num_rows == 1
    assert read == [1]
    monkeypatch.setattr(named_rows, "MOST_BYTES", 0)
    assert looked_up(Stored([file]), COLUMNS, numbers(40)).num_rows == 0
    assert looked_up(Stored([file]), COLUMNS, numbers(5)) is None


def test_k3_more_rows_than_the_driver_takes_are_left_to_spark(tmp_path, monkeypatch):
    file = written(tmp_path, [1] * 3 + [2] * 4)
    monkeypatch.setattr(named_rows, "FEW", 3)
    assert looked_up(Stored([file]), COLUMNS, numbers(1)).num_rows == 3
    assert looked_up(Stored([file]), COLUMNS, numbers(2)) is None


def test_what_is_not_plain_or_not_there_is_left_to_spark(tmp_path):
    file = written(tmp_path, [1, 2])
    assert looked_up(Stored([file]), [("k", "bigint")], numbers(1, column="k")) is None
    os.remove(file.path)
    assert looked_up(Stored([file]), COLUMNS, numbers(1)) is None


def change(**files):
    row = make.change(3)
    known = {"way": "direct", "change_files": [], "added": [], "removed": []}
    return type(row)(row.csn, row.relation, row.position, row.committed_at, row.operation, 1, 1,
                     {**known, **files})  # fmt: skip


def test_k2_the_keys_are_those_of_every_row_in_the_changed_files(tmp_path):
    for name, keys in (("a", [3, 1, None]), ("b", [1, 7])):
        kinds = {"_change_type": ["delete"] * 2} if name == "b" else {}
        parquet.write_table(pa.table({"k": pa.array(keys, pa.int32()), **kinds}), tmp_path / name)
    both = [change(added=[("a", {})]), change(removed=[("a", {})], change_files=[("b", {})])]
    assert sorted(keys_of(str(tmp_path), both, "K", "int").to_pylist()) == [1, 3, 7]
    assert keys_of(str(tmp_path), [], "K", "int").to_pylist() == []


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"way": "feed"}, "int"),
        ({"added": [("a", {})]}, "double"),
        ({"added": [("a", {})]}, "bigint"),
        ({"added": [("a", {"k": "1"})]}, "int"),
        ({"added": [("gone", {})]}, "int"),
    ],
)
def test_k2_keys_that_the_driver_should_not_read(tmp_path, files, kind):
    parquet.write_table(pa.table({"k": pa.array([1], pa.int32())}), tmp_path / "a")
    assert keys_of(str(tmp_path), [change(**files)], "k", kind) is None


def test_k2_large_changed_files_are_not_read(tmp_path, monkeypatch):
    parquet.write_table(pa.table({"k": pa.array([1], pa.int32())}), tmp_path / "a")
    monkeypatch.setattr(fetched, "MOST_CHANGED_BYTES", 10)
    assert keys_of(str(tmp_path), [change(added=[("a", {})])], "k", "int") is None


def test_few_keys_are_told_to_a_scan(monkeypatch):
    assert told_keys(numbers(1, 2)) == "`K` IN (1L, 2L)"
    assert told_keys(numbers()) == "FALSE"
    assert told_keys(Keys("a`b", pa.array(["it's \\"]))) == "`a``b` IN ('it\\'s \\\\')"
    dates = pa.array([datetime.date(2024, 1, 2)], pa.date32())
    assert told_keys(Keys("d", dates)) == "`d` IN (DATE'2024-01-02')"
    monkeypatch.setattr(lookup, "MOST_TOLD", 1)
    assert told_keys(numbers(1, 2)) is None
