"""A crash at every failpoint: nothing is lost, nothing is done twice, nothing is left over.

Each failpoint is tried as an exception that nothing catches, all Python state dropped, and as SIGKILL of a process
with its JVM. `make test` tries a kill; the others are slow tests, for `make test-all`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import scenarios
from scenarios import REACHED_BY, SCENARIOS, Scenario
from world import World, check_finished, check_shown, check_whole, died

from rollview.failpoints import Crash, Failpoint

pytestmark = [pytest.mark.faults, pytest.mark.spark]

HERE = [p for p in Failpoint if p.value.partition(".")[0] not in ("stream", "slot", "load")]
"""Those of PostgreSQL sources are tried in tests/postgresql/test_crashes.py."""
CASES = [(point, name) for point in HERE for name in REACHED_BY.get(point, ("none",))]
KILLED_IN_EVERY_RUN = ((Failpoint.STEP_AFTER_WRITE, "refresh groups"),)


KILLED = [
    pytest.param(*c, marks=[] if c in KILLED_IN_EVERY_RUN else [pytest.mark.slow]) for c in CASES
]


def label(value: object) -> str:
    return value.value if isinstance(value, Failpoint) else str(value).replace(" ", "-")


def armed(point: Failpoint, case: str, action: str) -> tuple[str, str]:
    """The scenario's name, and what the environment must say."""
    name, _, turn = case.partition("@")
    assert name in SCENARIOS, f"{point}: no scenario reaches it; add one to scenarios.REACHED_BY"
    return name, f"{point.value}={action}@{turn or 1}"


def check_after_crash(world: World, scenario: Scenario) -> None:
    """Open anew, look, recover, go on to the end, and look again."""
    with world.open() as wh:
        if scenario.views:
            check_shown(world, wh)
        wh.write()
        assert {i.kind for i in wh.ledger.intents()} <= {"build"}
        scenario.again(wh)
        if scenario.views:
            check_finished(world, wh, scenario.views)
        else:
            check_whole(world, wh)


def test_every_failpoint_has_a_scenario() -> None:
    assert {
        p for p in HERE if REACHED_BY.get(p, ("none",))[0].partition("@")[0] not in SCENARIOS
    } == set()


@pytest.mark.slow
@pytest.mark.parametrize(("point", "case"), CASES, ids=label)
def test_an_exception_at_a_failpoint(
    origin: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: Failpoint, case: str
) -> None:
    name, environment = armed(point, case, "raise")
    world = SCENARIOS[name].world(origin, tmp_path)
    wh = world.open()
    monkeypatch.setenv("ROLLVIEW_FAILPOINTS", environment)
    with pytest.raises(Crash, match=point.value):
        SCENARIOS[name].act(wh)
    monkeypatch.delenv("ROLLVIEW_FAILPOINTS")
    died(wh)
    check_after_crash(world, SCENARIOS[name])


@pytest.mark.parametrize(("point", "case"), KILLED, ids=label)
def test_a_kill_at_a_failpoint(origin: World, tmp_path: Path, point: Failpoint, case: str) -> None:
    name, environment = armed(point, case, "kill")
    world = SCENARIOS[name].world(origin, tmp_path)
    assert killed(world.root, name, environment) == -signal.SIGKILL
    check_after_crash(world, SCENARIOS[name])


def killed(root: Path, scenario: str, failpoints: str) -> int:
    """The return code of a process that acts in the world until the failpoint; its JVM dies with it."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "ROLLVIEW_FAILPOINTS": failpoints,
    }
    command = [sys.executable, scenarios.__file__, str(root), scenario]
    with (root / "output").open("wb") as output:
        process = subprocess.Popen(
            command, cwd=root, env=environment, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(timeout=300)
        finally:
            end_group(process)
    return process.returncode


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the process with all that it started, and wait until nothing of it is left."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        process.poll()
    raise TimeoutError(f"process group {process.pid} does not end")
