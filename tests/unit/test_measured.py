"""The size of a step by the footers of its files, whoever wrote them."""

import pyarrow as pa
from pyarrow import parquet

from rollview.changes import COUNT, STAMP
from rollview.spark.written import measured


def step(folder, *pieces):
    folder.mkdir()
    for n, rows in enumerate(pieces):
        table = pa.table({
            "a": pa.array([0] * len(rows), pa.int32()),
            STAMP: pa.array([s for s, _ in rows], pa.int64()),
            COUNT: pa.array([c for _, c in rows], pa.int64()),
        })  # fmt: skip
        parquet.write_table(table, folder / f"part-{n}.parquet")
    return measured(folder.parent, "id", folder.name)


def test_a_step_without_rows(tmp_path):
    assert step(tmp_path / "none", []).rows == 0


def test_stamps_and_rows_that_may_take_away(tmp_path):
    found = step(tmp_path / "some", [(3, 1), (7, 2)], [], [(5, -1)])
    assert (found.rows, found.lo, found.hi, found.taken) == (3, 3, 7, 1)
