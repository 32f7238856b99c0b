"""Capture of a Delta Lake table from commit files made by hand: no Spark, no Delta Lake."""

from __future__ import annotations

import json
import os
import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from rollview.changes import Csn
from rollview.errors import ChangesLost, ConfigError, SourceError, Unreachable
from rollview.ledger.rows import BaseRelation
from rollview.sources.delta_lake import log, tables
from rollview.sources.delta_lake.capture import CaptureResult, new_commits, properties_of, way
from rollview.sources.delta_lake.estimates import estimated_rows
from rollview.sources.delta_lake.log import Metadata, Protocol

SCHEMA = [("id", "long"), ("name", "string")]
FEED = {"delta.enableChangeDataFeed": "true"}
DV = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "sizeInBytes": 34, "cardinality": 3}


def schema_of(fields: list[tuple[str, Any]]) -> str:
    return json.dumps(
        {
            "type": "struct",
            "fields": [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in fields],
        }
    )


def meta(fields=SCHEMA, config=FEED, id="one", partitions=()) -> dict[str, Any]:
    return {
        "metaData": {
            "id": id,
            "schemaString": schema_of(fields),
            "partitionColumns": list(partitions),
            "configuration": config,
        }
    }


def protocol(reader=1, features=()) -> dict[str, Any]:
    body = {"minReaderVersion": reader, "minWriterVersion": 7, "readerFeatures": list(features)}
    return {"protocol": body}


def op(name: str, at: int = 1_700_000_000_000, **metrics: Any) -> dict[str, Any]:
    counted = {key: str(value) for key, value in metrics.items()}
    return {"commitInfo": {"timestamp": at, "operation": name, "operationMetrics": counted}}


def add(path: str, records: int | None = 10, change: bool = True, **more: Any) -> dict[str, Any]:
    stats = {} if records is None else {"stats": json.dumps({"numRecords": records})}
    body = {"path": path, "partitionValues": {}, "size": 320, "dataChange": change}
    return {"add": body | stats | more}


def remove(path: str, records: int | None = 10, change: bool = True, **more: Any) -> dict[str, Any]:
    return {"remove": add(path, records, change, **more)["add"]}


def cdc(path: str, **more: Any) -> dict[str, Any]:
    return {"cdc": {"path": path, "partitionValues": {}, "size": 320, "dataChange": False} | more}


class Table:
    """A folder with a `_delta_log` that the tests write commit files into."""

    def __init__(self, location: Path) -> None:
        self.location = str(location)
        self.log = location / "_delta_log"
        self.log.mkdir(parents=True)
        self.next = 0

    def commit(self, *actions: dict[str, Any]) -> Table:
        text = "".join(json.dumps(action) + "\n" for action in actions)
        (self.log / f"{self.next:020d}.json").write_text(text, "utf-8")
        self.next += 1
        return self

    def relation(self, position: int = 0, config=FEED, partitions=()) -> BaseRelation:
        known = Metadata("one", schema_of(SCHEMA), tuple(partitions), config)
        return BaseRelation(
            "lake.t", "lake", self.location, "one", position, log.columns(known.schema), Csn(0),
            0, 100, 3200, None, properties_of(known, Protocol(1, 7, (), ())),
        )  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "t").commit(op("CREATE TABLE"), meta(), protocol())


def problem_of(result: CaptureResult, kind: type[SourceError]) -> SourceError:
    assert type(result.problem) is kind, result.problem
    return result.problem


# The log


def test_newest_version_and_what_is_no_commit(table: Table) -> None:
    for name in ("00000000000000000009.crc", "00000000000000000010.checkpoint.parquet",
                 "00000000000000000001.00000000000000000004.compacted.json", "_last_checkpoint"):  # fmt: skip
        (table.log / name).write_text("{}")
    assert log.newest_version(table.location) == 0


def test_a_log_without_commits_has_no_newest_version(tmp_path: Path) -> None:
    assert log.newest_version(Table(tmp_path / "empty").location) is None


def test_a_commit_is_read_whole(table: Table) -> None:
    table.commit(
        op("WRITE", at=1_700_000_000_500, numOutputRows=7),
        add("p=a%252Fb/x%20y.parquet", 7, partitionValues={"p": "a/b"}, deletionVector=DV),
        add("file:/far/away%20f.parquet", None),
        add("s3://bucket/f%20g.parquet", None),
    )
    commit = log.read_commit(table.location, 1)
    assert (commit.version, commit.operation, commit.data_changed) == (1, "WRITE", True)
    assert commit.committed_at == datetime(2023, 11, 14, 22, 13, 20, 500_000, timezone.utc)
    first, second, third = commit.adds
    assert first.path == "p=a%2Fb/x y.parquet"
    assert first.partition_values == {"p": "a/b"}
    assert (first.records, first.rows, first.deletion_vector) == (7, 4, DV)
    assert (second.path, second.records) == ("/far/away f.parquet", None)
    assert third.path == "s3://bucket/f%20g.parquet"


def test_commit_time_prefers_the_in_commit_timestamp_and_falls_back_to_the_file(table: Table):
    info = op("WRITE", at=5_000)["commitInfo"] | {"inCommitTimestamp": 7_000}
    table.commit({"commitInfo": info}).commit(add("f"))
    os.utime(log.commit_path(table.location, 2), (9, 9))
    times = [log.read_commit(table.location, v).committed_at.timestamp() for v in (1, 2)]
    assert times == [7, 9]


def test_column_types_are_sparks_own() -> None:
    struct = {"type": "struct", "fields": [{"name": "a", "type": "integer"}]}
    odd = {"type": "struct", "fields": [{"name": "a b`c", "type": "byte"}]}
    fields: list[tuple[str, Any]] = [
        ("a", "integer"), ("b", "long"), ("c", "decimal(10,2)"), ("d", "timestamp_ntz"),
        ("e", {"type": "array", "elementType": "short", "containsNull": True}),
        ("f", {"type": "map", "keyType": "string", "valueType": struct}), ("g", odd),
    ]  # fmt: skip
    assert log.columns(schema_of(fields)) == (
        ("a", "int"), ("b", "bigint"), ("c", "decimal(10,2)"), ("d", "timestamp_ntz"),
        ("e", "array<smallint>"), ("f", "map<string,struct<a:int>>"), ("g", "struct<`a b``c`:tinyint>"),
    )  # fmt: skip


def test_state_comes_from_the_checksum_or_from_the_commits(table: Table) -> None:
    table.commit(op("WRITE"), add("f"))
    found = log.state_at(table.location, 1)
    assert found is not None and found[0].id == "one" and found[1].reader_version == 1
    crc = {"tableSizeBytes": 5, "metadata": meta(id="two")["metaData"], **protocol(3)}
    (table.log / f"{1:020d}.crc").write_text(json.dumps(crc))
    found = log.state_at(table.location, 1)
    assert found is not None and found[0].id == "two" and found[1].reader_version == 3
    assert log.table_bytes(table.location, 1) == 5
    (table.log / f"{0:020d}.json").unlink()
    (table.log / f"{1:020d}.crc").unlink()
    assert log.state_at(table.location, 1) is None


# Capture


def test_d1_nothing_new_is_an_empty_list(table: Table) -> None:
    assert new_commits(table.relation()) == CaptureResult((), None)


def test_d1_every_version_is_accounted_for(table: Table) -> None:
    table.commit(op("WRITE"), add("a", 5))
    table.commit(op("OPTIMIZE"), remove("a", 5, False), add("b", 5, False))
    table.commit(op("DELETE", numDeletedRows=2), remove("b", 5), add("c", 3), cdc("_change_data/d"))
    result = new_commits(table.relation())
    assert result.problem is None
    assert [c.version for c in result.captured] == [1, 2, 3]
    assert [c.data_changed for c in result.captured] == [True, False, True]
    assert [(c.inserted, c.deleted) for c in result.captured] == [(5, 0), (0, 0), (0, 2)]
    assert all(c.columns is None and c.properties is None for c in result.captured)
    write, optimize, delete = (c.files for c in result.captured)
    assert write["added"] == [["a", {}, 320, 5, None]]
    assert optimize == {"way": "direct", "change_files": [], "added": [], "removed": []}
    assert delete["change_files"] == [["_change_data/d", {}, 320]]
    assert (delete["added"], delete["removed"]) == ([], [])
    assert [c.version for c in new_commits(table.relation(position=2)).captured] == [3]
    json.dumps([c.files for c in result.captured])


def test_d1_a_missing_version_ends_nothing_silently(table: Table) -> None:
    for name in "abcd":
        table.commit(op("WRITE"), add(name))
    os.unlink(log.commit_path(table.location, 2))
    problem = problem_of(new_commits(table.relation()), ChangesLost)
    assert "version 2 is no longer in its log" in problem.detail
    assert "oldest available is 3, the newest 4" in problem.detail
    assert problem.hint == "rollview source resync lake.t"


def test_d1_the_next_version_gone(table: Table) -> None:
    for name in "abc":
        table.commit(op("WRITE"), add(name))
    for version in (0, 1, 2):
        os.unlink(log.commit_path(table.location, version))
    problem = problem_of(new_commits(table.relation()), ChangesLost)
    assert "version 1 to 2 is no longer in its log" in problem.detail


@pytest.mark.parametrize(
    "damage",
    [b'{"add":{"path":"f","si', b"\xff\xfe", b"[]\n", b'{"add":{}}\n', b'{"add":3}\n'],
)
def test_l3_a_torn_commit_is_named_and_the_good_ones_come_first(table: Table, damage: bytes):
    table.commit(op("WRITE"), add("a")).commit(op("WRITE"), add("b")).commit(op("WRITE"), add("c"))
    path = Path(log.commit_path(table.location, 2))
    path.write_bytes(damage)
    result = new_commits(table.relation())
    assert [c.version for c in result.captured] == [1]
    assert str(path) in problem_of(result, SourceError).what


def test_d3_a_table_that_is_gone(table: Table) -> None:
    relation = table.relation()
    shutil.rmtree(table.location)
    problem_of(new_commits(relation), Unreachable)
    table.log.mkdir(parents=True)
    problem_of(new_commits(relation), Unreachable)


def test_d3_a_table_that_was_created_anew(table: Table, tmp_path: Path) -> None:
    table.commit(op("WRITE"), add("a")).commit(op("WRITE"), add("b"))
    shutil.rmtree(table.location)
    other = Table(tmp_path / "t").commit(op("CREATE TABLE"), meta(id="two"), protocol())
    shorter = problem_of(new_commits(table.relation(position=2)), ChangesLost)
    assert "its newest version is 0" in shorter.detail
    other.commit(op("WRITE"), add("x")).commit(op("WRITE"), add("y")).commit(op("WRITE"), add("z"))
    for position in (2, 3):  # also when it has just as many versions
        result = new_commits(table.relation(position=position))
        assert "its id is another one" in problem_of(result, ChangesLost).detail
        assert not result.captured


def test_d3_a_table_replaced_in_place(table: Table) -> None:
    table.commit(op("WRITE"), add("a")).commit(op("REPLACE TABLE"), meta(id="two"))
    assert log.state_at(table.location, 2)[0].id == "two"  # type: ignore[index]
    result = new_commits(table.relation())
    assert [c.version for c in result.captured] == [1]
    assert "version 2 gives it another id" in problem_of(result, ChangesLost).detail


def test_d3_a_table_replaced_before_it_was_registered_is_itself(tmp_path: Path) -> None:
    table = Table(tmp_path / "t").commit(op("CREATE TABLE"), meta(id="zero"), protocol())
    table.commit(op("REPLACE TABLE"), meta()).commit(op("WRITE"), add("a"))
    result = new_commits(table.relation(position=1))
    assert (len(result.captured), result.problem) == (1, None)


def test_d3_the_change_feed_switched_off(table: Table) -> None:
    table.commit(op("WRITE"), add("a")).commit(op("SET TBLPROPERTIES"), meta(config={}))
    table.commit(op("SET TBLPROPERTIES"), meta())
    result = new_commits(table.relation())
    assert [c.version for c in result.captured] == [1]
    problem = problem_of(result, ChangesLost)
    assert f"ALTER TABLE delta.`{table.location}` SET TBLPROPERTIES" in problem.hint


def test_an_append_only_table_needs_no_feed(table: Table) -> None:
    only = {"delta.appendOnly": "true"}
    table.commit(op("WRITE"), add("a"))
    result = new_commits(table.relation(config=only))
    assert (result.problem, result.captured[0].files["way"]) == (None, "direct")
    table.commit(op("X"), add("b", deletionVector=DV))
    problem_of(new_commits(table.relation(config=only)), ChangesLost)


def test_a_schema_change_is_returned_at_its_version(table: Table) -> None:
    wider = [*SCHEMA, ("extra", "integer")]
    table.commit(op("WRITE"), add("a")).commit(op("ADD COLUMNS"), meta(wider))
    table.commit(op("WRITE"), add("b")).commit(op("RESTORE"), meta(wider), add("c"))
    captured = new_commits(table.relation()).captured
    assert [c.columns is None for c in captured] == [True, False, True, True]
    assert captured[1].columns == (("id", "bigint"), ("name", "string"), ("extra", "int"))
    assert not captured[1].data_changed
    assert captured[3].operation == "RESTORE"


def test_a_change_of_properties_is_returned_at_its_version_and_holds_from_there(table: Table):
    table.commit(op("SET TBLPROPERTIES"), meta(config=FEED | {"delta.columnMapping.mode": "name"}))
    table.commit(op("WRITE"), add("a"))
    first, second = new_commits(table.relation()).captured
    assert first.properties is not None and second.properties is None
    assert second.files["way"] == "feed"


def test_nulls_left_out_of_a_removed_partition_are_put_back(table: Table) -> None:
    table.commit(op("TRUNCATE"), remove("p=__HIVE_DEFAULT_PARTITION__/a", partitionValues={}))
    (one,) = new_commits(table.relation(partitions=["p"])).captured
    assert one.files["removed"][0][1] == {"p": None}


# Which way


@pytest.mark.parametrize(
    ("expected", "actions", "reader", "config", "partitions"),
    [
        ("direct", [add("a"), remove("b")], protocol(), {}, []),
        ("feed", [add("a", deletionVector=DV)], protocol(), {}, []),
        ("feed", [add("a"), remove("b", deletionVector=DV)], protocol(), {}, []),
        ("direct", [op("DELETE"), add("a", deletionVector=DV), remove("a")], protocol(), {}, []),
        ("feed", [op("RESTORE"), add("a", deletionVector=DV), remove("a")], protocol(), {}, []),
        (
            "feed",
            [
                op("DELETE"),
                add("a", deletionVector=DV),
                remove("a"),
                remove("b", deletionVector=DV),
            ],
            protocol(),
            {},
            [],
        ),
        (
            "feed",
            [op("DELETE"), add("a", deletionVector=DV | {"cardinality": 200_001}), remove("a")],
            protocol(),
            {},
            [],
        ),
        (
            "feed",
            [
                op("DELETE"),
                add(
                    "a", deletionVector=DV | {"storageType": "p", "pathOrInlineDv": "s3://b/v.bin"}
                ),
                remove("a"),
            ],
            protocol(),
            {},
            [],
        ),
        ("direct", [add("a", deletionVector=DV), cdc("c")], protocol(), {}, []),
        ("direct", [add("a", change=False, deletionVector=DV), add("b")], protocol(), {}, []),
        ("direct", [add("a")], protocol(3, ["deletionVectors", "timestampNtz"]), {}, []),
        ("feed", [add("a")], protocol(3, ["typeWidening"]), {}, []),
        ("feed", [cdc("a")], protocol(3, ["something-new"]), {}, []),
        ("feed", [add("a")], protocol(2), {"delta.columnMapping.mode": "id"}, []),
        ("direct", [add("a")], protocol(2), {"delta.columnMapping.mode": "none"}, []),
        ("feed", [add("s3://b/a")], protocol(), {}, []),
        ("feed", [remove("a", partitionValues=None)], protocol(), {}, ["p"]),
        ("direct", [remove("a", partitionValues=None)], protocol(), {}, []),
        ("feed", [add(str(n)) for n in range(10_001)], protocol(), {}, []),
    ],
)
def test_d2_the_way(table: Table, expected, actions, reader, config, partitions) -> None:
    operation = [] if any("commitInfo" in action for action in actions) else [op("X")]
    table.commit(*operation, *actions, reader, meta(config=FEED | config, partitions=partitions))
    commit = log.read_commit(table.location, 1)
    assert way(commit, properties_of(commit.metadata, commit.protocol)) == expected


# How many rows


@pytest.mark.parametrize(
    ("expected", "actions"),
    [
        ((7, 0), [op("WRITE", numOutputRows=7), add("a", None)]),
        ((7, 0), [op("STREAMING UPDATE", numOutputRows=7), add("a", None)]),
        ((7, 10), [op("WRITE", numOutputRows=7), add("a", 7), remove("b", None)]),
        ((2, 2), [op("UPDATE", numUpdatedRows=2), add("a"), remove("b"), cdc("c")]),
        ((0, 4), [op("DELETE", numDeletedRows=4), add("a"), remove("b")]),
        ((0, 3), [op("DELETE"), add("a", 10, deletionVector=DV), remove("a", 10)]),
        ((5, 3), [op("MERGE", numTargetRowsInserted=3, numTargetRowsUpdated=2,
                     numTargetRowsDeleted=1), add("a"), remove("b"), cdc("c")]),
        ((0, 25), [op("TRUNCATE"), remove("a", 20), remove("b", 5)]),
        ((7, 9), [op("RESTORE"), add("a", 10, deletionVector=DV), remove("b", 9)]),
        ((0, 0), [op("OPTIMIZE"), add("a", 10, False), remove("b", 10, False)]),
        # E1: a zero is a fact, whatever the metrics say or leave out.
        ((1, 1), [op("UPDATE", numUpdatedRows=0), add("a"), remove("b")]),
        ((1, 1), [op("RESTORE"), add("a", deletionVector=DV), remove("a", deletionVector=DV)]),
        ((1, 0), [op("WRITE", numOutputRows=0), add("a", 0)]),
        ((5, 5), [op("MERGE"), add("a"), remove("b"), cdc("c")]),
    ],
)  # fmt: skip
def test_e1_estimated_rows(table: Table, expected: tuple[int, int], actions: Any) -> None:
    table.commit(*actions)
    assert estimated_rows(log.read_commit(table.location, 1), 32.0) == expected


# Finding tables


def test_t3_tables_below_a_folder(tmp_path: Path) -> None:
    for path in ("lake/Sales", "lake/deep/er/customer", "lake/_hidden/x", "lake/.trash/y", "else"):
        Table(tmp_path / path)
    (tmp_path / "lake/Sales/part=1").mkdir()
    os.symlink(tmp_path / "lake" / "deep", tmp_path / "lake" / "again")
    lake = str(tmp_path / "lake")
    assert tables.find_tables(f"{lake}/../lake") == {
        "customer": f"{lake}/deep/er/customer",
        "sales": f"{lake}/Sales",
    }
    assert tables.find_tables(f"file://{lake}/Sales") == {"sales": f"{lake}/Sales"}
    os.symlink(tmp_path / "else", tmp_path / "lake" / "out")
    with pytest.raises(ConfigError, match="leads to the Delta Lake table"):
        tables.find_tables(lake)


@pytest.mark.parametrize("bad", ["2024-sales", "_rv_x", "é", "a b"])
def test_t3_names_that_cannot_be_used(tmp_path: Path, bad: str) -> None:
    Table(tmp_path / "x" / bad) if bad[0] not in "._" else Table(tmp_path / bad)
    folder = tmp_path / "x" if bad[0] not in "._" else tmp_path / bad
    with pytest.raises(ConfigError, match="cannot be called"):
        tables.find_tables(str(folder))


def test_t3_two_tables_of_one_name_and_other_file_systems(tmp_path: Path) -> None:
    Table(tmp_path / "a" / "t")
    Table(tmp_path / "b" / "T")
    with pytest.raises(ConfigError, match='two Delta Lake tables are called "t"'):
        tables.find_tables(str(tmp_path))
    for place in ("s3://bucket/lake", "hdfs://host/x", "a\0b"):
        with pytest.raises(ConfigError):
            tables.find_tables(place)
