"""K1: the ranges of a key cover it and do not overlap, for the server and for Arrow alike."""

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import sql

from rollview.sources.postgresql.ranges import Range, smaller, whole_range
from rollview.sources.postgresql.table import Table, TableColumn

KEYS = st.lists(st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), max_size=12)


@given(KEYS, st.integers(1, 3))
def test_k1_ranges_cover_the_keys_and_do_not_overlap(keys: list[int | None], times: int):
    rows = pa.table({"k": pa.array(keys, pa.int64())})
    ranges = [Range("k")]
    with duckdb.connect() as server:
        server.register("t", rows)
        for _ in range(times):
            cut = [smaller(server_of(server), sql.Identifier("t"), r) or [r] for r in ranges]
            ranges = [part for some in cut for part in some]
        by_arrow = [r.of(rows).column("k").to_pylist() for r in ranges]
        by_server = [
            [k for (k,) in server.execute(f"SELECT k FROM t WHERE {text(r.condition)}").fetchall()]
            for r in ranges
        ]
    found = [k for some in by_arrow for k in some]
    assert by_arrow == by_server
    assert sorted(found, key=repr) == sorted(keys, key=repr)
    assert len({*keys} - {None}) < 2 or len(ranges) > 1


def text(query: sql.Composable) -> str:
    return query.as_string().replace("'", "")


def server_of(server):
    class Connection:
        def execute(self, query: sql.Composed):
            return server.execute(text(query))

    return Connection()


@pytest.mark.parametrize(
    ("codec", "key", "expected"),
    [("int8", ("a",), Range("a")), ("int2", ("a",), Range("a")), ("text", ("a",), None),
     ("int4", ("a", "b"), None), ("int4", (), None)],
)  # fmt: skip
def test_only_one_column_of_whole_numbers_is_cut(codec, key, expected):
    columns = tuple(TableColumn(name, 0, -1, codec) for name in "ab")
    assert whole_range(Table("s.t", 1, "live", "full", key, columns)) == expected
