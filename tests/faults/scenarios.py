"""What rollview is doing when it crashes: for each failpoint, the scenarios that reach it.

Run as a program (`scenarios.py <world> <scenario>`) it is the process that is to be killed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from world import World, create_sql, died, frugal

from rollview import gather
from rollview.apply import sweep
from rollview.errors import ChangesLost
from rollview.failpoints import Crash, Failpoint
from rollview.warehouse import Warehouse

Work = Callable[[Warehouse], object]


def nothing(world: World) -> None:
    """A copy is ready as it is."""


@dataclass(frozen=True)
class Scenario:
    """`prepare` a copy, `act` until the crash; after it `again`, and then `views` show the newest time.

    A scenario without any moves no view. `own_tables`: it changes the tables of its copy.
    """

    act: Work
    again: Work
    views: tuple[str, ...] = ()
    prepare: Callable[[World], None] = nothing
    own_tables: bool = False

    def world(self, origin: World, root: Path) -> World:
        """A copy that is ready to act in."""
        copy = origin.copied_with_tables(root) if self.own_tables else origin.copied(root)
        self.prepare(copy)
        return copy


def _refresh(view: str) -> Work:
    return lambda wh: wh.refresh(view)


def _create(view: str) -> Scenario:
    def again(wh: Warehouse) -> None:
        wh.sql(create_sql(view).replace(f"VIEW {view}", f"VIEW IF NOT EXISTS {view}"))
        wh.refresh(view)

    return Scenario(lambda wh: wh.sql(create_sql(view)), again, (view,))


def _lakes(wh: Warehouse) -> Path:
    relation = wh.ledger.relation("lake.sales")
    assert relation is not None
    return Path(relation.location).parents[1]


def _add_source(wh: Warehouse) -> None:
    wh.add_source("more", delta=_lakes(wh) / "more")


def _drop_source(wh: Warehouse) -> None:
    if any(s.name == "more" for s in wh.sources()):
        wh.drop_source("more")
    assert wh.ledger.relation("more.extra") is None


def _more_added(world: World) -> None:
    with world.open() as wh:
        _add_source(wh)


def _propagate_and_apply(wh: Warehouse) -> None:
    wh.capture()
    wh.propagate("g")
    wh.apply("g")


def _fold(view: str) -> Work:
    def act(wh: Warehouse) -> None:
        wh.refresh(view)
        wh.fold(view)

    return act


def _forget(wh: Warehouse) -> None:
    wh.refresh("g")
    wh.alter("g", {"keep": "0 seconds"})
    wh.fold("g")
    assert wh.ledger.steps("g") == []


def _forget_and_sweep(wh: Warehouse) -> None:
    _forget(wh)
    sweep(wh.ledger, wh.path, 0)


def _gather(wh: Warehouse) -> None:
    """The first two steps become one."""
    _small_steps(wh)
    before = len(wh.ledger.steps("j"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gather, "MANY", 2)
        wh.fold("j")
    assert len(wh.ledger.steps("j")) == before - 1


def _small_steps(wh: Warehouse) -> None:
    wh.alter("j", {"step_rows": 1})
    wh.refresh("j")


def _alter(wh: Warehouse) -> None:
    wh.alter("g", {"keep": "30 days"})
    assert wh.view("g").options["keep"] == "30 days"


def _drop(wh: Warehouse) -> None:
    wh.sql("DROP MATERIALIZED VIEW IF EXISTS j")


def _make_warehouse(wh: Warehouse) -> None:
    with Warehouse(wh.path.parent / "second") as second:
        assert second.status() == []


def _stop(wh: Warehouse) -> None:
    """A refresh that fails: a commit of `cust` is missing."""
    commit = _lakes(wh) / "lake" / "cust" / "_delta_log" / f"{2:020d}.json"
    commit.rename(commit.with_suffix(".away"))
    with pytest.raises(ChangesLost):
        wh.refresh("g")


def _go_on(wh: Warehouse) -> None:
    commit = _lakes(wh) / "lake" / "cust" / "_delta_log" / f"{2:020d}.json"
    commit.with_suffix(".away").rename(commit)
    wh.refresh("g")


def _crashed(entry: str, act: Work) -> Callable[[World], None]:
    """A copy in which a writer has died at a failpoint."""

    def prepare(world: World) -> None:
        wh = world.open()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ROLLVIEW_FAILPOINTS", f"{entry}=raise")
            with pytest.raises(Crash):
                act(wh)
        died(wh)

    return prepare


def _recompute(view: str) -> Scenario:
    """After the crash no further recompute: the view goes on incrementally, and must fold."""
    return Scenario(lambda wh: wh.refresh(view, full=True), _fold(view), (view,))


def _repeated(act: Work, *views: str, **more: object) -> Scenario:
    """A scenario that does the same again after the crash."""
    return Scenario(act, act, views, **more)  # type: ignore[arg-type]


SCENARIOS = {
    "make a warehouse": _repeated(_make_warehouse),
    "capture": _repeated(lambda wh: wh.capture()),
    "add a source": _repeated(_add_source),
    "drop a source": _repeated(_drop_source, prepare=_more_added),
    "create in pieces": _create("n"),
    "create two blocks": _create("h"),
    "recompute buckets": _recompute("j"),
    "recompute groups": _recompute("g"),
    "refresh groups": _repeated(_refresh("g"), "g"),
    "refresh rows": _repeated(_refresh("j"), "j"),
    "small steps": _repeated(_small_steps, "j"),
    "stop": Scenario(_stop, _go_on, ("g",), own_tables=True),
    "propagate and apply": _repeated(_propagate_and_apply, "g"),
    "fold buckets": _repeated(_fold("j"), "j"),
    "fold groups": _repeated(_fold("g"), "g"),
    "gather": _repeated(_gather, "j"),
    "forget": _repeated(_forget, "g"),
    "forget and sweep": _repeated(_forget_and_sweep, "g"),
    "alter": _repeated(_alter),
    "drop": _repeated(_drop),
    "recover a step": Scenario(
        lambda wh: wh.write(),
        _refresh("g"),
        ("g",),
        prepare=_crashed("step.after_write", _refresh("g")),
    ),
    "recover a fold": Scenario(
        lambda wh: wh.write(),
        _fold("j"),
        ("j",),
        prepare=_crashed("fold.after_delta_commit", _fold("j")),
    ),
}

F = Failpoint
REACHED_BY: dict[Failpoint, tuple[str, ...]] = {
    F.LEDGER_BEFORE_LINK: ("make a warehouse",),
    F.LEDGER_AFTER_LINK: ("make a warehouse",),
    F.CAPTURE_BEFORE_COMMIT: ("capture",),
    F.CAPTURE_AFTER_COMMIT: ("capture",),
    F.SOURCE_BEFORE_COMMIT: ("add a source",),
    F.SOURCE_AFTER_COMMIT: ("add a source",),
    F.SOURCE_BEFORE_DROP: ("drop a source",),
    F.SOURCE_AFTER_DROP: ("drop a source",),
    F.CREATE_BEFORE_REGISTER: ("create in pieces",),
    F.CREATE_AFTER_REGISTER: ("create in pieces",),
    F.BUILD_BEFORE_PIECE: ("create in pieces@2", "recompute groups"),
    F.BUILD_BEFORE_RENAME: ("create in pieces@2",),
    F.BUILD_AFTER_PIECE: ("create in pieces", "recompute groups"),
    F.BUILD_AFTER_WRITE: ("create in pieces", "recompute buckets"),
    F.BUILD_BEFORE_COMMIT: ("recompute buckets", "create in pieces", "create two blocks@2"),
    F.BUILD_AFTER_COMMIT: ("create two blocks", "create in pieces", "recompute groups"),
    F.STEP_AFTER_INTENT: ("refresh groups",),
    F.STEP_AFTER_WRITE: ("refresh groups", "refresh rows", "small steps@2"),
    F.STEP_AFTER_COMMIT: ("refresh rows", "refresh groups", "small steps@2"),
    F.REFRESH_BEFORE_HISTORY: ("refresh groups",),
    F.REFRESH_AFTER_HISTORY: ("refresh groups",),
    F.REFRESH_BEFORE_STOP: ("stop",),
    F.REFRESH_AFTER_STOP: ("stop",),
    F.APPLY_BEFORE_COMMIT: ("propagate and apply",),
    F.APPLY_AFTER_COMMIT: ("propagate and apply",),
    F.FOLD_AFTER_INTENT: ("fold groups", "fold buckets@2"),
    F.FOLD_AFTER_DELTA_COMMIT: ("fold buckets@2", "fold buckets", "fold groups"),
    F.FOLD_AFTER_COMMIT: ("fold groups", "fold buckets"),
    F.GATHER_AFTER_INTENT: ("gather",),
    F.GATHER_AFTER_WRITE: ("gather",),
    F.GATHER_AFTER_COMMIT: ("gather",),
    F.FORGET_BEFORE_COMMIT: ("forget",),
    F.FORGET_AFTER_COMMIT: ("forget",),
    F.SWEEP_BEFORE_DELETE: ("forget and sweep",),
    F.SWEEP_AFTER_DELETE: ("forget and sweep",),
    F.RECOVER_BEFORE_COMMIT: ("recover a step", "recover a fold"),
    F.RECOVER_AFTER_COMMIT: ("recover a step", "recover a fold"),
    F.ALTER_BEFORE_COMMIT: ("alter",),
    F.ALTER_AFTER_COMMIT: ("alter",),
    F.DROP_BEFORE_COMMIT: ("drop",),
    F.DROP_AFTER_COMMIT: ("drop",),
}
"""All are slow tests; `@2` is the second time that it comes by."""


def main(root: str, scenario: str) -> None:
    """Act in the world at `root`; the environment says where to die."""
    from spark_session import SHORT

    from rollview.spark.session import make_session

    settings = {
        "spark.driver.memory": "1g",
        **SHORT,
    }
    session = frugal(make_session(settings, "local[2]"))
    SCENARIOS[scenario].act(Warehouse(Path(root) / "wh", session))
    os._exit(3)  # it lived on: the test that wanted it dead fails


if __name__ == "__main__":
    main(*sys.argv[1:])
