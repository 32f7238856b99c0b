"""The look at stored counts sees what it is for; without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from golden.stored import folded_files, lowest

from rollview.changes import COUNT


def file(folder: Path, name: str, **columns: list[object]) -> str:
    """A Parquet file."""
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / name)
    return str(folder / name)


KEYS = {"k": "k"}


@pytest.mark.parametrize(
    ("changes", "lowest_count"),
    [
        ([(1, 3, -1)], None),
        ([(None, 2, 1), (None, 3, -1)], None),
        ([(1, 2, -2)], -1),
        ([(1, 2, -2), (1, 3, 2)], -1),  # only in between
        ([(None, 3, -1)], -1),
        ([(1, 4, -2)], None),  # past the mark
        ([(1, 1, -2)], None),  # folded already
    ],
)
def test_counts_below_zero_are_found_at_every_time(
    tmp_path: Path, changes: list[tuple[object, int, int]], lowest_count: int | None
) -> None:
    columns = zip(*changes, strict=True)
    steps = [
        file(
            tmp_path,
            "s.parquet",
            **dict(zip(("k", "_rv_stamp", "_rv_count"), map(list, columns), strict=True)),
        )
    ]
    plain = [file(tmp_path, "plain.parquet", k=[1, 2])]
    counted = [file(tmp_path, "counted.parquet", physical=[1, 2], _rv_count=[1, 1])]
    for found in (
        lowest(plain, steps, KEYS, None, (1, 3)),
        lowest(counted, steps, {"k": "physical"}, COUNT, (1, 3)),
    ):
        assert [row[-1] for row in found[:1]] == ([] if lowest_count is None else [lowest_count])
    everything = lowest([], steps, {}, COUNT, (0, 4))
    assert bool(everything) == any(count < 0 for _, _, count in changes[:1])


def test_the_files_of_a_version(tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    field = {"name": "k", "metadata": {"delta.columnMapping.physicalName": "col-1"}}
    schema = {"schemaString": json.dumps({"fields": [field]})}
    commits = [
        [{"metaData": schema}, {"add": {"path": "a%20b.parquet"}}],
        [{"remove": {"path": "a%20b.parquet"}}, {"add": {"path": "c.parquet"}}],
    ]
    for number, actions in enumerate(commits):
        text = "\n".join(map(json.dumps, actions))
        (log / f"{number:020d}.json").write_text(text)
    assert folded_files(tmp_path, 0) == ([str(tmp_path / "a b.parquet")], {"k": "col-1"})
    assert folded_files(tmp_path, 1) == ([str(tmp_path / "c.parquet")], {"k": "col-1"})
