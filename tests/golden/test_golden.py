"""Every golden case: through its own commits, and through random ones, against DuckDB's answer to the user's SQL.

What has not been built yet is named in not_yet.txt; a case of that list that passes fails the suite, so that nothing
is forgotten: `make golden-rewrite` takes it off the list and writes what it gives.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from golden.blocks import shown_blocks
from golden.case import FOLDER, Case, all_cases, written
from golden.history import history
from golden.play import Play, defined, played, refusal, rows_of_written

from rollview.errors import ViewRefused

CASES = {case.name: case for case in all_cases()}
NOT_YET = set((FOLDER.parent / "not_yet.txt").read_text(encoding="utf-8").split())
ON_DUCKDB = {name: case for name, case in CASES.items() if not case.spark_only}
BUILT = {name: case for name, case in ON_DUCKDB.items() if name not in NOT_YET}
MAINTAINED = {name: case for name, case in BUILT.items() if not case.refused}
REFUSED = {name: case for name, case in BUILT.items() if case.refused}
MORE = int(os.environ.get("ROLLVIEW_EXAMPLES", "1"))


def each(cases: dict[str, Case]) -> pytest.MarkDecorator:
    """One test a case."""
    return pytest.mark.parametrize("case", list(cases.values()), ids=list(cases))


def test_there_are_enough_cases() -> None:
    refused = [case for case in CASES.values() if case.refused]
    assert len(CASES) - len(refused) >= 200 and len(refused) >= 40
    assert set(CASES) >= NOT_YET
    assert all(case.construct for case in CASES.values())


def test_files_are_written_the_one_way() -> None:
    for case in CASES.values():
        assert written(case) == (FOLDER / f"{case.name}.sql").read_text(encoding="utf-8")


def test_what_is_not_built_yet_is_named() -> None:
    """A case on the list that passes has been built: then the list is wrong."""
    passed = [name for name in sorted(NOT_YET & set(ON_DUCKDB)) if passes(CASES[name])]
    assert not passed, f"take them off the list, with `make golden-rewrite`: {passed}"


def passes(case: Case) -> bool:
    try:
        check_refusal(case) if case.refused else check_written(case)
    except Exception:  # noqa: BLE001 (whatever goes wrong, it does not pass)
        return False
    return True


def check_written(case: Case) -> None:
    """Rows at every time are those of the recompute; blocks and rows are those of the file, if it has them."""
    definitions = defined(case.tables, case.views)
    with Play(case.tables, case.views, definitions) as play:
        rows = rows_of_written(play, case)
    blocks = shown_blocks(definitions)
    assert case.written.get("rows", rows) == rows
    assert case.written.get("blocks", blocks) == blocks


@each(MAINTAINED)
def test_the_written_commits(case: Case) -> None:
    assert {"rows", "blocks"} <= set(case.written), "run `make golden-rewrite`"
    check_written(case)


def check_random(case: Case, seed: int) -> None:
    """A random history of the case's tables, refreshed to random times; every fourth has hot keys for sure."""
    definitions = defined(case.tables, case.views)
    commits = history(Random(seed), case.tables, length=10, hot=seed % 4 == 3)
    with Play(case.tables, case.views, definitions) as play:
        played(play, commits, seed)


@each(dict(list(MAINTAINED.items())[::8]))
def test_random_commits(case: Case) -> None:
    check_random(case, seed=len(case.sql))


@pytest.mark.slow
@each(MAINTAINED)
def test_many_random_commits(case: Case) -> None:
    first = int(os.environ.get("ROLLVIEW_SEED", "1000"))
    for seed in range(first, first + 4 * MORE):
        try:
            check_random(case, seed)
        except AssertionError as error:
            raise AssertionError(f"{case.name} with seed {seed}: {error}") from error


@each(REFUSED)
def test_refusals_say_what_and_what_to_do(case: Case) -> None:
    check_refusal(case)


def check_refusal(case: Case) -> None:
    with pytest.raises(ViewRefused) as caught:
        defined(case.tables, case.views)
    error = caught.value
    assert error.hint and error.line
    assert case.written["refused"] == refusal(error)


def test_one_name_is_one_table_in_all_cases() -> None:
    """On Spark the cases of a share have one lake."""
    known: dict[str, object] = {}
    for case in (c for c in all_cases() if not c.refused):
        for table, columns in case.tables.items():
            assert known.setdefault(table, columns) == columns, (case.name, table)
