"""Random views through random histories: each refreshed at least six times, to random times (random_views.py).

`make test` runs some; `make test-all` runs 20,000, from ROLLVIEW_SEED on (4,000 times ROLLVIEW_EXAMPLES), on all cores.
A failure names the seed, the view and the smallest history that fails; it is kept as a golden case.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from random import Random

import duck_engine
import duckdb
import pytest
from golden.case import Transaction, shown_transaction
from golden.history import history, smallest
from golden.play import Play, defined, played, without_optimiser
from golden.random_views import FEATURES, POOLS, TABLES, Generator, accepted
from laterals import nodes
from sqlglot import exp

from rollview.errors import ViewRefused

SOME, MANY, BATCH, CHUNK = 12, 4_000, 1_000, 25
NOT_YET: frozenset[str] = frozenset()
"""Features that are not maintained yet; those that are, are generated."""


def checked(seed: int, features: frozenset[str]) -> str:
    """What became of the view of a seed: "maintained", "refused", or what is wrong with it."""
    pick = Random(seed)
    sql = Generator(pick, features).view()
    try:
        definitions = defined(TABLES, [("v", sql)])
    except ViewRefused:
        return "refused"
    commits = history(pick, TABLES, 8, POOLS, most=5)

    def failure(some: list[Transaction]) -> str:
        try:
            return once(some)
        except (
            duckdb.InternalException
        ):  # DuckDB contradicts itself: its optimiser, in the cases seen
            with without_optimiser():
                return once(some)

    def once(some: list[Transaction]) -> str:
        with Play(TABLES, [("v", sql)], definitions) as play:
            try:
                played(play, some, seed)
            except duckdb.InternalException:
                raise
            except Exception as error:  # noqa: BLE001 (a query that cannot run is a failure too)
                return f"{type(error).__name__}: {error}"
        return ""

    if not failure(commits):
        return "maintained"
    commits = smallest(commits, lambda some: bool(failure(some)))
    lines = [line for n, t in enumerate(commits, 1) for line in shown_transaction(n, t)]
    return "\n".join([f"seed {seed}: {failure(commits)}", sql, *lines])


def some_checked(first: int, last: int) -> Counter[str]:
    """How often each thing became of the seeds from first to last, both included."""
    features = accepted()
    return Counter(checked(seed, features) for seed in range(first, last + 1))


def hold(found: Counter[str]) -> None:
    """Most are maintained, and none is wrong."""
    wrong = [what for what in found if what not in ("maintained", "refused")]
    assert not wrong, "\n\n".join(wrong)
    assert found["refused"] <= found["maintained"] / 5, found


def told(found: Counter[str]) -> str:
    """What became of the views, in a line; and every wrong one."""
    wrong = [what for what in found if what not in ("maintained", "refused")]
    line = f"{found['maintained']} maintained, {found['refused']} refused, {len(wrong)} wrong"
    return "\n".join([line, *wrong])


def test_what_is_generated_grows_with_the_product() -> None:
    assert accepted() == set(FEATURES) - NOT_YET, "change NOT_YET"


def test_some_random_views() -> None:
    hold(some_checked(1, SOME))


def test_every_node_belongs_to_one_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, trees = duck_engine.text, []

    def text(tree: exp.Expr) -> str:
        for node in (found := nodes(tree)):
            children = [c for v in node.args.values() for c in (v if isinstance(v, list) else [v])]
            assert all(c.parent is node for c in children if isinstance(c, exp.Expr)), tree.sql()
        assert len({id(node) for node in found}) == len(found), tree.sql()
        trees.append(tree)
        return plain(tree)

    monkeypatch.setattr(duck_engine, "text", text)
    duck_engine.generated.cache_clear()
    hold(some_checked(1, SOME // 2))
    assert len(trees) > SOME


@pytest.mark.slow
@pytest.mark.timeout(6 * 3600)
def test_many_random_views(capsys: pytest.CaptureFixture[str]) -> None:
    first = int(os.environ.get("ROLLVIEW_SEED", "1"))
    count = MANY * int(os.environ.get("ROLLVIEW_EXAMPLES", "1"))
    found: Counter[str] = Counter()
    for start in range(first, first + count, BATCH):
        end = min(start + BATCH, first + count)
        lows = range(start, end, CHUNK)
        highs = [min(low + CHUNK, end) - 1 for low in lows]
        # A process takes half as long again for a view after some thousands of them: each batch has new ones.
        # (With max_tasks_per_child, Python 3.11 waits for ever once a process has done its last task.)
        with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
            for part in pool.map(some_checked, lows, highs):
                found += part
        with capsys.disabled():
            sys.stdout.write(f"seeds {first} to {end - 1}: {told(found)}\n")
            sys.stdout.flush()
    hold(found)
    assert found["maintained"] >= 0.9 * count
