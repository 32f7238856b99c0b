"""listed.py: the files of a version, from logs made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from test_delta_log import DV, Table, add, meta, op, protocol, remove

from rollview.sources.delta_lake import listed
from rollview.sources.delta_lake.listed import files_at, parquet_version, plain_files


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Version 0 is empty; then a and b come, and c takes the place of a."""
    made = Table(tmp_path / "t").commit(op("CREATE TABLE"), meta(), protocol())
    made.commit(op("WRITE"), add("a"), add("b"))
    made.commit(op("UPDATE"), remove("a"), add("c"))
    return made


def named(table: Table, version: int) -> list[str] | None:
    files = files_at(table.location, version)
    return None if files is None else sorted(f.path for f in files)


def put_checksum(table: Table, version: int, *paths: str, count: int | None = None) -> None:
    files = [add(path)["add"] for path in paths]
    body = {"allFiles": files, "numFiles": len(files) if count is None else count}
    (table.log / f"{version:020d}.crc").write_text(json.dumps(body))


def test_n2_commits_from_the_first_one_on_say_it(table: Table) -> None:
    assert [named(table, v) for v in (0, 1, 2)] == [[], ["a", "b"], ["b", "c"]]


def test_n2_a_checksum_says_it_and_commits_go_on_from_there(table: Table) -> None:
    put_checksum(table, 1, "a", "b", "x")
    assert named(table, 1) == ["a", "b", "x"]
    assert named(table, 2) == ["b", "c", "x"]
    (table.log / f"{0:020d}.json").unlink()
    assert named(table, 2) == ["b", "c", "x"]


def test_n1_a_checksum_that_does_not_name_all_files_is_not_used(table: Table) -> None:
    put_checksum(table, 2, "c", count=2)
    assert named(table, 2) == ["b", "c"]


def test_n1_a_log_that_does_not_reach_back_says_nothing(table: Table, monkeypatch) -> None:
    (table.log / f"{1:020d}.json").unlink()
    assert named(table, 2) is None
    table.commit(op("WRITE"), add("d"))
    monkeypatch.setattr(listed, "MOST_COMMITS", 1)
    assert named(table, 3) is None


def test_a_file_whose_vector_changes_is_listed_once(table: Table) -> None:
    table.commit(op("DELETE"), remove("b"), add("b", deletionVector=DV))
    assert named(table, 3) == ["b", "c"]
    (changed,) = (f for f in files_at(table.location, 3) or () if f.path == "b")
    assert changed.deletion_vector == DV


def newest(table: Table, version: int = 2) -> object:
    return replace(table.relation(), position=version)


def test_only_plain_tables_are_read_by_their_files(table: Table, monkeypatch) -> None:
    relation = newest(table)
    assert [f.path for f in plain_files(relation, 2) or ()] == ["b", "c"]
    assert plain_files(relation, 1) is None, "the properties are those of the newest version"
    for changed in (
        {"partition_columns": ["id"]},
        {"reader_features": ["typeWidening"]},
        {"configuration": {"delta.columnMapping.mode": "name"}},
    ):
        other = replace(relation, properties={**relation.properties, **changed})
        assert plain_files(other, 2) is None, changed
    monkeypatch.setattr(listed, "MOST_FILES", 1)
    assert plain_files(relation, 2) is None


def test_files_come_with_their_deletion_vectors(table: Table) -> None:
    table.commit(op("DELETE"), protocol(3), remove("b"), add("b", deletionVector=DV))
    found = plain_files(newest(table, 3), 3)
    assert found is not None
    assert {f.path: f.deletion_vector for f in found} == {"b": DV, "c": None}


def test_files_with_vectors_elsewhere_are_left_to_delta_lake(table: Table) -> None:
    far = {**DV, "storageType": "p", "pathOrInlineDv": "s3://bucket/vector.bin"}
    table.commit(op("DELETE"), protocol(3), remove("b"), add("b", deletionVector=far))
    assert plain_files(newest(table, 3), 3) is None


def test_a_version_of_few_files_is_its_schema_and_its_files(table: Table, monkeypatch) -> None:
    found = parquet_version(table.location, 2)
    assert found is not None
    assert json.loads(found.schema) == json.loads(meta()["metaData"]["schemaString"])
    assert found.files == (f"{table.location}/b", f"{table.location}/c")
    assert parquet_version(table.location, 0) is None, "without files there is nothing to read"
    assert parquet_version(table.location, 9) is None, "there is no such version"
    assert parquet_version(table.location, 2, most=1) is None


def test_columns_of_partitions_are_not_in_the_files(table: Table) -> None:
    table.commit(op("WRITE"), meta(partitions=["id"]))
    found, whole = parquet_version(table.location, 3), parquet_version(table.location, 2)
    assert found is not None and whole is not None
    names = [[f["name"] for f in json.loads(one.schema)["fields"]] for one in (found, whole)]
    assert names[0] == [name for name in names[1] if name != "id"] != names[1]


@pytest.mark.parametrize(
    "odd",
    [
        (meta(config={"delta.columnMapping.mode": "name"}), protocol(2)),
        (protocol(3, ["typeWidening"]),),
        (remove("b"), add("b", deletionVector=DV)),
    ],
    ids=["column mapping", "an unknown feature", "hidden rows"],
)
def test_what_is_not_plain_is_no_parquet(table: Table, odd: tuple[object, ...]) -> None:
    table.commit(op("WRITE"), *odd)
    assert parquet_version(table.location, 2) is not None
    assert parquet_version(table.location, 3) is None
