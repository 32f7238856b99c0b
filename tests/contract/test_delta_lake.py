"""A Delta Lake table as a source, against plain reads of each of its versions.

The oracle is Spark's own `versionAsOf`; it shares no code with the product. Each history is written
once and read a few times; every range (lo, hi] is then checked in Python.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from delta.tables import DeltaTable
from py4j.protocol import Py4JError
from pyarrow import parquet
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from spark_session import interpreted

from rollview.changes import Csn
from rollview.errors import ChangesLost, ConfigError, SchemaChanged
from rollview.ledger.rows import BaseRelation, CapturedChange
from rollview.sources.delta_lake import direct, log, named_rows, read, tables
from rollview.sources.delta_lake.capture import new_commits
from rollview.sources.delta_lake.tables import register

pytestmark = pytest.mark.spark

Bag = Counter[tuple[Any, ...]]
STAMP_OF_VERSION = 1000
"""The stamp of version v is 1000 + 2 v: neither equal to a version, nor without gaps."""


@dataclass(frozen=True)
class History:
    """A registered table, everything captured of it, and its states as Spark reads them."""

    relation: BaseRelation
    captured: tuple[CapturedChange, ...]
    states: dict[int, Bag]
    columns: list[str]


def stamp(version: int) -> Csn:
    return Csn(STAMP_OF_VERSION + 2 * version)


def written(
    spark: SparkSession, folder: Path, create: str, statements: Sequence[str], check: bool = True
) -> History:
    """Run the statements, the table being called {t}; register after the first, capture the rest."""
    name = f"t_{abs(hash(str(folder)))}"
    with interpreted(spark):
        return _written(spark, folder, name, create, statements, check)


def _written(
    spark: SparkSession,
    folder: Path,
    name: str,
    create: str,
    statements: Sequence[str],
    check: bool,
) -> History:
    spark.sql(f"CREATE TABLE {name} {create.format(path=folder)}")
    relation = register(spark, "lake", "t", str(folder), Csn(0))
    for statement in statements:
        spark.sql(statement.format(t=name))
    result = new_commits(relation)
    assert result.problem is None
    columns = next((c.columns for c in reversed(result.captured) if c.columns), relation.columns)
    newest = result.captured[-1].version
    relation = dataclasses.replace(relation, position=newest, columns=columns, rows=10_000)
    captured = tuple(
        CapturedChange(
            stamp(c.version), "lake.t", c.version, c.committed_at, c.operation, c.inserted,
            c.deleted, c.files,
        )
        for c in result.captured
        if c.data_changed
    )  # fmt: skip
    names = [column for column, _ in columns]
    states = oracle(spark, str(folder), newest, columns) if check else {}
    return History(relation, captured, states, names)


def oracle(spark: SparkSession, path: str, newest: int, columns: Any) -> dict[int, Bag]:
    """Every version, by Spark alone; columns that it lacks yet are NULL."""
    parts = []
    for version in range(newest + 1):
        table = spark.read.format("delta").option("versionAsOf", version).load(path)
        for column, kind in columns:
            if column not in table.columns:
                table = table.withColumn(column, F.lit(None).cast(kind))
        parts.append(table.select(F.lit(version), *(column for column, _ in columns)))
    united = parts[0]
    for part in parts[1:]:
        united = united.unionAll(part)
    states: dict[int, Bag] = {version: Counter() for version in range(newest + 1)}
    for version, *row in united.collect():
        states[version][plain_row(row)] += 1
    return states


def plain_row(cells: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(tuple(cell) if isinstance(cell, list) else cell for cell in cells)


def net_by_stamp(changes: DataFrame) -> dict[int, Bag]:
    nets: dict[int, Bag] = {}
    for *row, at, count in changes.collect():
        nets.setdefault(at, Counter())[plain_row(row)] += count
    return {at: nonzero(bag) for at, bag in nets.items()}


def nonzero(bag: Bag) -> Bag:
    return Counter({row: count for row, count in bag.items() if count})


def net(rows: DataFrame) -> Bag:
    bag: Bag = Counter()
    for *row, count in rows.collect():
        bag[plain_row(row)] += count
    return nonzero(bag)


def wrong_ranges(history: History, nets: dict[int, Bag]) -> list[tuple[int, int]]:
    """The ranges (lo, hi] for which state(lo) + changes is not state(hi)."""
    wrong = []
    for lo, hi in itertools.combinations(sorted(history.states), 2):
        bag = Counter(history.states[lo])
        for version in range(lo + 1, hi + 1):
            for row, count in nets.get(stamp(version), {}).items():
                bag[row] += count
        if nonzero(bag) != history.states[hi]:
            wrong.append((lo, hi))
    return wrong


def all_by_feed(history: History) -> list[CapturedChange]:
    """Everything by the feed, but for versions 5 and 6 of `vectors`: RESTORE took their schema."""
    beyond = (5, 6) if len(history.columns) == 2 else ()
    return [
        dataclasses.replace(change, files={"way": "feed", "schema_position": change.position > 6})
        for change in history.captured
        if change.position not in beyond
    ]


@pytest.fixture(scope="module")
def plain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> History:
    """Partitioned, without deletion vectors, in a folder with an odd name."""
    return written(
        spark,
        tmp_path_factory.mktemp("lake") / "an odd name, 100%",
        "(id INT, v STRING, amount DECIMAL(10,2), p STRING, d DATE) USING delta "
        "PARTITIONED BY (p, d) LOCATION '{path}' TBLPROPERTIES "
        "(delta.enableChangeDataFeed=true, delta.enableDeletionVectors=false)",
        [
            "INSERT INTO {t} VALUES (1,'a',1.10,'x y',DATE'2024-01-31'), (2,'b',NULL,NULL,NULL),"
            " (3,NULL,3,'a/b=%[é]+\\'\"\\\\*?{{}}',NULL), (4,'d',4,'',DATE'2024-01-31'),"
            " (4,'d',4,'x y',DATE'2024-01-31'), (4,'d',4,'x y',DATE'2024-01-31')",
            "OPTIMIZE {t}",
            "UPDATE {t} SET v = 'u', p = concat(p, '+') WHERE id IN (1, 3)",
            "DELETE FROM {t} WHERE id = 2",
            "MERGE INTO {t} USING (SELECT * FROM VALUES (1, 'm'), (9, 'n'), (3, NULL) AS s(id, v)) s"
            " ON s.id = {t}.id WHEN MATCHED AND s.v IS NULL THEN DELETE"
            " WHEN MATCHED THEN UPDATE SET v = s.v"
            " WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
            "INSERT OVERWRITE {t} VALUES (7,'w',7,'x y',NULL), (4,'d',4,'x y',DATE'2024-01-31')",
            "ALTER TABLE {t} ADD COLUMN extra ARRAY<INT>",
            "INSERT INTO {t} SELECT id, 'z', 5, 'many', NULL, array(1, NULL) FROM range(30)",
            "TRUNCATE TABLE {t}",
        ],
    )


@pytest.fixture(scope="module")
def vectors(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> History:
    """Not partitioned, with deletion vectors."""
    return written(
        spark,
        tmp_path_factory.mktemp("lake") / "vectors",
        "(id BIGINT, v STRING) USING delta LOCATION '{path}' TBLPROPERTIES "
        "(delta.enableChangeDataFeed=true, delta.enableDeletionVectors=true)",
        [
            "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, 'v' FROM range(20)",
            "DELETE FROM {t} WHERE id = 5",
            "UPDATE {t} SET v = 'u' WHERE id IN (6, 7)",
            "ALTER TABLE {t} ADD COLUMN w INT",  # RESTORE takes it away again
            "INSERT INTO {t} VALUES (7, 'w', 1)",
            "MERGE INTO {t} USING (SELECT id, 'm' v FROM range(18, 22)) s ON s.id = {t}.id"
            " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
            "RESTORE TABLE {t} TO VERSION AS OF 2",
            "INSERT OVERWRITE {t} VALUES (1, 'w')",
        ],
    )


@pytest.fixture(scope="module")
def hidden(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> History:
    """Partitioned, in a folder with an odd name; the same files are touched by one DELETE after the other."""
    return written(
        spark,
        tmp_path_factory.mktemp("lake") / "hid den+{1}",
        "(id BIGINT, p STRING, v STRING) USING delta PARTITIONED BY (p) LOCATION '{path}' TBLPROPERTIES "
        "(delta.enableChangeDataFeed=true, delta.enableDeletionVectors=true)",
        [
            "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, IF(id % 3 = 0, NULL, 'a b'), 'v' FROM range(60)",
            "DELETE FROM {t} WHERE id % 7 = 3",
            "DELETE FROM {t} WHERE id % 5 = 1",
            "INSERT INTO {t} VALUES (3, 'a b', 'v'), (100, '', 'w')",
            "DELETE FROM {t} WHERE id < 5",
        ],
    )


@pytest.fixture(scope="module", params=["plain", "vectors", "hidden"])
def history(request: pytest.FixtureRequest) -> History:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, History)
    return found


@pytest.fixture(scope="module")
def nets(spark: SparkSession, history: History) -> dict[int, Bag]:
    changes = read.changes(spark, history.relation, history.captured, history.columns)
    return net_by_stamp(changes)


def test_the_ways_are_as_expected(plain: History, vectors: History, hidden: History) -> None:
    assert {change.files["way"] for change in plain.captured} == {"direct"}
    ways = [(change.operation, change.files["way"]) for change in vectors.captured]
    assert ways == [
        ("WRITE", "direct"), ("DELETE", "direct"), ("UPDATE", "direct"), ("WRITE", "direct"),
        ("MERGE", "direct"), ("RESTORE", "feed"), ("WRITE", "feed"),
    ]  # fmt: skip
    assert {change.files["way"] for change in hidden.captured} == {"direct"}
    assert [len(change.files.get("hidden", [])) for change in hidden.captured] == [0, 2, 2, 0, 2]


def test_r1_state_and_changes_give_the_later_state(history: History, nets: dict[int, Bag]) -> None:
    assert wrong_ranges(history, nets) == []


def test_r1_both_ways_have_the_same_net_effect(
    spark: SparkSession, history: History, nets: dict[int, Bag]
) -> None:
    captured = all_by_feed(history)
    by_feed = read.changes(spark, history.relation, captured, history.columns)
    assert net_by_stamp(by_feed) == {change.csn: nets[change.csn] for change in captured}


def test_a_feed_that_a_schema_change_closed_is_changes_lost(
    spark: SparkSession, vectors: History
) -> None:
    closed = dataclasses.replace(vectors.captured[3], files={"way": "feed"})
    assert closed.position == 5
    with pytest.raises((PySparkException, Py4JError)) as error:
        read.changes(spark, vectors.relation, [closed], vectors.columns).collect()
    lost = read.explain_missing(error.value, vectors.relation)
    assert lost is not None and "schema change" in lost.detail


def test_r1_files_told_apart_by_a_broadcast(
    spark: SparkSession, plain: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = net_by_stamp(read.changes(spark, plain.relation, plain.captured, plain.columns))
    monkeypatch.setattr(direct, "MANY_FILES", 1)
    found = read.changes(spark, plain.relation, plain.captured, plain.columns)
    assert net_by_stamp(found) == expected


def test_row_counts_are_zero_only_where_no_row_came_or_went(
    history: History, nets: dict[int, Bag]
) -> None:
    for change in history.captured:
        bag = nets.get(change.csn, Counter())
        assert change.inserted > 0 or max(bag.values(), default=0) <= 0
        assert change.deleted > 0 or min(bag.values(), default=0) >= 0


@pytest.mark.parametrize(
    ("counts", "wrong"),
    [("FILE_COUNTS", {"added": 1, "removed": 1}), ("CHANGE_COUNTS", {"update_preimage": 1})],
)
def test_sabotage_a_wrong_sign_is_noticed(
    spark: SparkSession, plain: History, monkeypatch: pytest.MonkeyPatch, counts: str, wrong: Any
) -> None:
    monkeypatch.setattr(direct, counts, getattr(direct, counts) | wrong)
    found = read.changes(spark, plain.relation, plain.captured, plain.columns)
    assert wrong_ranges(plain, net_by_stamp(found))


def test_sabotage_rows_hidden_before_are_taken_twice(spark: SparkSession, hidden: History) -> None:
    forgot = [
        dataclasses.replace(c, files={**c.files, "hidden": [[*f[:3], None, f[4]] for f in c.files.get("hidden", ())]})
        for c in hidden.captured
    ]  # fmt: skip
    found = read.changes(spark, hidden.relation, forgot, hidden.columns)
    assert wrong_ranges(hidden, net_by_stamp(found))


def test_r1_many_hidden_rows_are_joined_without_a_list(
    spark: SparkSession, hidden: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = net_by_stamp(read.changes(spark, hidden.relation, hidden.captured, hidden.columns))
    monkeypatch.setattr(named_rows, "FEW", 0)
    found = read.changes(spark, hidden.relation, hidden.captured, hidden.columns)
    assert net_by_stamp(found) == expected


@pytest.fixture(scope="module")
def typed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> History:
    """Columns of every type that Arrow reads, one of them added late; two that partition the table."""
    some = (
        "id, id, id, id, IF(id = 5, float('nan'), id / 7), IF(id = 4, double('-0.0'), id / 7), id % 2 = 0,"
        " concat('é', id), unhex('00FF'), date_add(DATE'1500-02-27', int(id)), id / 7, -id / 7, id / 7,"
        " TIMESTAMP'1500-01-01 00:00:00.123456' + make_interval(id * 200),"
        " TIMESTAMP_NTZ'9000-12-31 23:59:59.999999', '', DATE'2024-01-31'"
    )
    return written(
        spark,
        tmp_path_factory.mktemp("lake") / "typed",
        "(a TINYINT, b SMALLINT, c INT, id BIGINT, e FLOAT, f DOUBLE, g BOOLEAN, h STRING, i BINARY, j DATE,"
        " k DECIMAL(5,1), l DECIMAL(18,4), m DECIMAL(30,10), Moment TIMESTAMP, o TIMESTAMP_NTZ, p STRING, q DATE)"
        " USING delta PARTITIONED BY (p, q) LOCATION '{path}' TBLPROPERTIES"
        " (delta.enableChangeDataFeed=true, delta.enableDeletionVectors=true)",
        [
            f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ {some} FROM range(40)",
            "INSERT INTO {t} (id, p) SELECT /*+ COALESCE(1) */ id, '\\\\ ''%' FROM range(40)",
            "ALTER TABLE {t} ADD COLUMN late STRING",
            "DELETE FROM {t} WHERE id BETWEEN 3 AND 6",
            f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ {some}, 'late' FROM range(40)",
            "DELETE FROM {t} WHERE id BETWEEN 2 AND 12",
        ],
        check=False,
    )  # fmt: skip


def hiding(history: History) -> list[CapturedChange]:
    return [change for change in history.captured if change.files.get("hidden")]


def shown(rows: DataFrame) -> Counter[str]:
    """The rows as text, in which NaN is NaN and -0.0 not 0.0."""
    return Counter(map(repr, rows.collect()))


def test_n2_arrow_and_spark_give_the_same_hidden_rows(
    spark: SparkSession, typed: History, jobs: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    relation, asked = typed.relation, [*reversed(typed.columns)]
    before = jobs()
    found = read.changes(spark, relation, hiding(typed), asked)
    by_arrow, without_columns = shown(found), read.changes(spark, relation, hiding(typed), [])
    assert len(without_columns.collect()) == by_arrow.total() == 2 * 4 + 2 * 7 + 11
    assert jobs() == before, "Arrow read the rows, and Spark has them without a job"
    monkeypatch.setattr(named_rows, "MOST_BYTES", 0)
    spark_found = read.changes(spark, relation, hiding(typed), asked)
    assert jobs() == before
    assert spark_found.dtypes == found.dtypes
    assert shown(spark_found) == by_arrow
    assert jobs() > before, "Spark read the rows"


def test_sabotage_the_row_beside_is_noticed(
    spark: SparkSession, hidden: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = named_rows._cells

    def beside(data: parquet.ParquetFile, rows: Sequence[int], names: Sequence[str]) -> pa.Table:
        return right(data, [max(row - 1, 0) for row in rows], names)

    monkeypatch.setattr(named_rows, "_cells", beside)
    found = read.changes(spark, hidden.relation, hidden.captured, hidden.columns)
    assert wrong_ranges(hidden, net_by_stamp(found))


@pytest.mark.parametrize("gone", ["before", "meanwhile"])
def test_hidden_rows_of_a_file_that_is_gone_are_changes_lost(
    spark: SparkSession, typed: History, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    path = Path(typed.relation.location, hiding(typed)[0].files["hidden"][0][0])
    away = path.rename(path.with_suffix(".away"))
    if gone == "meanwhile":
        monkeypatch.setattr(named_rows, "plain", lambda *_: True)
    try:
        with pytest.raises((PySparkException, Py4JError)) as error:
            read.changes(spark, typed.relation, hiding(typed), ["id"]).collect()
    finally:
        away.rename(path)
    lost = read.explain_missing(error.value, typed.relation)
    assert isinstance(lost, ChangesLost) and path.name in lost.detail and "VACUUM" in lost.detail


def test_sabotage_a_forgotten_commit_is_noticed(history: History, nets: dict[int, Bag]) -> None:
    dropped = dict(sorted(nets.items())[1:])
    assert wrong_ranges(history, dropped)


def test_r2_columns_as_asked(spark: SparkSession, plain: History) -> None:
    for captured in (plain.captured, plain.captured[:1], all_by_feed(plain)[:1], ()):
        found = read.changes(spark, plain.relation, captured, ["p", "extra", "ID"])
        assert [(f.name, f.dataType.simpleString()) for f in found.schema.fields] == [
            ("p", "string"), ("extra", "array<int>"), ("ID", "int"),
            ("_rv_stamp", "bigint"), ("_rv_count", "bigint"),
        ]  # fmt: skip
    table = read.as_of(spark, plain.relation, 1, ["extra", "d", "amount"])
    assert table.schema.simpleString().startswith(
        "struct<extra:array<int>,d:date,amount:decimal(10,2),_rv_count:bigint>"
    )
    with pytest.raises(SchemaChanged):
        read.changes(spark, plain.relation, plain.captured, ["nosuch"])


def test_r2_no_columns_at_all_still_counts_rows(spark: SparkSession, plain: History) -> None:
    found = read.changes(spark, plain.relation, plain.captured, [])
    total = sum(row["_rv_count"] for row in found.collect())
    newest = max(plain.states)
    assert total == sum(plain.states[newest].values()) - sum(plain.states[0].values())


@pytest.mark.parametrize("way", ["direct", "feed"])
def test_r4_building_runs_no_job(
    spark: SparkSession, plain: History, vectors: History, jobs: Callable[[], int], way: str
) -> None:
    history = plain if way == "direct" else vectors
    captured = history.captured if way == "direct" else all_by_feed(history)[:3]
    spark.conf.set(direct._LISTING, "1")
    try:
        before = jobs()
        read.changes(spark, history.relation, captured, history.columns)
        empty = read.changes(spark, history.relation, (), history.columns)
        assert jobs() == before
        assert spark.conf.get(direct._LISTING) == "1"
        assert empty.collect() == []
    finally:
        spark.conf.set(direct._LISTING, "10000")


def test_at_is_the_same_patched_and_travelled(
    spark: SparkSession, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    relation, columns = history.relation, history.columns
    limit, changed = relation.position - 1, partial(read.changes, spark)
    versions = (2, relation.position - 2)
    for way in ("patch", "travel"):
        monkeypatch.setattr(read, "cheaper", lambda *_, way=way: way)
        parts = []
        for version in versions:
            later = [change for change in history.captured if change.position > version]
            moment = read.Moment(relation, version, relation.position, later, limit)
            found = reduce(DataFrame.unionAll, read.parts_at(spark, moment, columns, changed))
            parts.append(found.select(F.lit(version), "*"))
        bags: dict[int, Bag] = {version: Counter() for version in versions}
        with interpreted(spark):
            rows = parts[0].unionAll(parts[1]).collect()
        for version, *row, count in rows:
            bags[version][plain_row(row)] += count
        for version in versions:
            assert nonzero(bags[version]) == history.states[version], (version, way)


def test_at_without_later_changes_reads_the_newest_usable_version(
    spark: SparkSession, plain: History
) -> None:
    moment = read.Moment(plain.relation, 1, 2, (), None)
    (found,) = read.parts_at(spark, moment, plain.columns, partial(read.changes, spark))
    assert net(found) == plain.states[2] == plain.states[1]
    assert plain.captured[1].position == 3


@pytest.mark.parametrize(
    ("rows", "table", "feed", "expected"),
    [(10, 1000, False, "patch"), (2000, 1000, False, "travel"), (10, 1000, True, "travel"),
     (5_000_000, 10_000_000, False, "travel")],
)  # fmt: skip
def test_cheaper(rows: int, table: int, feed: bool, expected: str) -> None:
    assert read.cheaper(rows, table, feed) == expected


def vacuum(spark: SparkSession, path: str) -> None:
    """What VACUUM does once the retention time is over."""
    check = "spark.databricks.delta.retentionDurationCheck.enabled"
    spark.conf.set(check, "false")
    try:
        DeltaTable.forPath(spark, path).vacuum(0)
    finally:
        spark.conf.unset(check)


def test_vacuumed_files_are_changes_lost(spark: SparkSession, tmp_path: Path) -> None:
    one = written(
        spark,
        tmp_path / "vacuumed",
        "(id INT) USING delta LOCATION '{path}' TBLPROPERTIES"
        " (delta.enableChangeDataFeed=true, delta.enableDeletionVectors=true)",
        ["INSERT INTO {t} VALUES (1), (2)", "UPDATE {t} SET id = 3 WHERE id = 1"],
        check=False,
    )
    update = one.captured[1]
    vacuum(spark, str(tmp_path / "vacuumed"))
    for captured in ([update], all_by_feed(one)[1:]):
        with pytest.raises((PySparkException, Py4JError)) as error:
            read.changes(spark, one.relation, captured, ["id"]).collect()
        lost = read.explain_missing(error.value, one.relation)
        assert isinstance(lost, ChangesLost)
        assert "cdc-" in lost.detail and "lake.t" in lost.what and "resync" in lost.hint
        other = dataclasses.replace(one.relation, location="/somewhere/else")
        assert read.explain_missing(error.value, other) is None


def test_an_unrelated_error_is_not_explained(spark: SparkSession, plain: History) -> None:
    with pytest.raises(PySparkException) as error:
        spark.sql("SELECT 1 / 0").collect()
    assert read.explain_missing(error.value, plain.relation) is None


def test_r3_a_cleaned_log_is_changes_lost(spark: SparkSession, vectors: History) -> None:
    commit = Path(log.commit_path(vectors.relation.location, 7))
    hidden = commit.rename(commit.with_suffix(".hidden"))
    try:
        with pytest.raises(ChangesLost, match="version 7 was cleaned"):
            read.changes(spark, vectors.relation, vectors.captured, ["id"])
    finally:
        hidden.rename(commit)


# Files


ODD_NAMES = (
    "plain", "[x]", "x", "{a,b}", "a", "b", "st*r", "star", "q?", "qq", "back\\slash", "backslash",
    "}", "sp ace", "pl+us", "per%20cent", "é", "com,ma", "co:lon", "p=1", "\\[x\\]",
)  # fmt: skip


@pytest.mark.parametrize("name_of", [lambda n: f"f{n}.parquet", lambda n: "f.parquet"])
@pytest.mark.parametrize("many_files", [64, 1])
def test_f1_files_are_found_and_told_apart_whatever_their_names(
    spark: SparkSession,
    jobs: Callable[[], int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name_of: Callable[[int], str],
    many_files: int,
) -> None:
    """As in tables that were converted, whose partitions have files of the same names."""
    found = []
    for number, folder in enumerate(ODD_NAMES):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / name_of(number)
        parquet.write_table(pa.table({"id": [number]}), path)
        found.append(direct.Occurrence(str(path), 100 + number, 1, ()))
    monkeypatch.setattr(direct, "MANY_FILES", many_files)
    before = jobs()
    (rows,) = direct.rows_of(spark, found, [("id", "bigint")])
    assert jobs() == before
    expected = [(number, 100 + number, 1) for number in range(len(ODD_NAMES))]
    assert sorted(map(tuple, rows.collect())) == expected


def test_f2_a_row_of_an_unknown_file_is_an_error(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for number in range(3):
        path = tmp_path / f"{number}.parquet"
        parquet.write_table(pa.table({"id": [number]}), path)
        found.append(direct.Occurrence(str(path), number, 1, ()))
    monkeypatch.setattr(direct, "_file_key", lambda part: lambda path: f"{path}x")
    for many_files in (64, 1):
        monkeypatch.setattr(direct, "MANY_FILES", many_files)
        (rows,) = direct.rows_of(spark, found, [("id", "bigint")])
        with pytest.raises(PySparkException, match="unknown file"):
            rows.collect()


# Registration


def test_t2_a_table_is_pinned(plain: History, vectors: History) -> None:
    for history in (plain, vectors):
        assert (history.relation.base_position, history.relation.name) == (0, "lake.t")
    assert plain.relation.properties["partition_columns"] == ["p", "d"]
    assert vectors.relation.properties["reader_features"] == ["deletionVectors"]


def test_t2_rows_are_counted_and_the_log_is_not_needed_whole(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    rows = spark.range(7).withColumn("v", F.lit("x"))
    rows.write.format("delta").option("delta.appendOnly", "true").save(str(path))
    first = register(spark, "lake", "t", str(path / ".." / "t"), Csn(5))
    assert (first.rows, first.base_csn, first.position) == (7, 5, 0)
    assert first.bytes > 0 and first.location == str(path)
    assert first.columns == (("id", "bigint"), ("v", "string"))
    for checksum in (path / "_delta_log").glob("*.crc"):
        checksum.unlink()
    assert dataclasses.replace(register(spark, "lake", "t", str(path), Csn(5)), bytes=0) == (
        dataclasses.replace(first, bytes=0)
    )
    by_spark = tables._state_by_spark(spark, str(path), 0)
    metadata, protocol = by_spark
    assert (metadata.id, log.columns(metadata.schema)) == (first.table_id, first.columns)
    assert metadata.configuration["delta.appendOnly"] == "true"
    assert protocol.reader_version == 1
    rows.write.format("delta").mode("append").save(str(path))
    (change,) = new_commits(first).captured
    assert (change.inserted, change.deleted, change.files["way"]) == (7, 0, "direct")


def test_t1_tables_that_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    def refused(columns: str, match: str, properties: str = "") -> ConfigError:
        path = tmp_path / str(len(list(tmp_path.iterdir())))
        rows = spark.range(1).selectExpr(*columns.split(","))
        writer = rows.write.format("delta")
        for pair in properties.split():
            writer = writer.option(*pair.split("="))
        writer.save(str(path))
        with pytest.raises(ConfigError, match=match) as error:
            register(spark, "lake", "t", str(path), Csn(0))
        return error.value

    off = refused("id", "does not record its changes")
    assert off.hint == (
        f"ALTER TABLE delta.`{tmp_path}/0` SET TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    )
    refused("id,id AS _rv_x", 'a column called "_rv_x"', "delta.appendOnly=true")
    refused("id,id AS _commit_version", "a column called", "delta.appendOnly=true")
    refused(
        "id",
        "only be read by its change feed",
        "delta.appendOnly=true delta.columnMapping.mode=name"
        " delta.minReaderVersion=2 delta.minWriterVersion=5",
    )
    with pytest.raises(ConfigError, match="is not a Delta Lake table"):
        register(spark, "lake", "t", str(tmp_path / "nothing"), Csn(0))


def test_tables_are_located_by_path_and_by_catalog_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.sql(f"CREATE TABLE located (id INT) USING delta LOCATION '{tmp_path}/x'")
    for place in ("located", "default.located", f"{tmp_path}/y/../x", f"file:{tmp_path}/x"):
        assert tables.locate(spark, place) == str(tmp_path / "x")
    for place in ("no.such", "nosuch", "s3://bucket/x"):
        with pytest.raises(ConfigError):
            tables.locate(spark, place)
