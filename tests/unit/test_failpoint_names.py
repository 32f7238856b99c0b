"""F1 and F2 of failpoints.py: off unless asked for, and then exactly the named point, at the named turn."""

import ast
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import rollview
from rollview.failpoints import Crash, Failpoint, failpoint

SETTING = "ROLLVIEW_FAILPOINTS"


@pytest.fixture(autouse=True)
def unset(monkeypatch):
    """Every test starts without failpoints; passing one forgets how often others were reached."""
    monkeypatch.delenv(SETTING, raising=False)
    failpoint(Failpoint.STEP_AFTER_WRITE)


@pytest.mark.parametrize("point", Failpoint)
def test_f1_nothing_happens_unless_the_setting_names_the_point(point, monkeypatch):
    failpoint(point)
    monkeypatch.setenv(SETTING, ";".join(f"{p.value}=raise" for p in Failpoint if p != point))
    failpoint(point)


@pytest.mark.parametrize("point", Failpoint)
def test_f1_a_named_point_raises_what_nothing_catches(point, monkeypatch):
    monkeypatch.setenv(SETTING, f"{point.value}=raise")
    with pytest.raises(Crash, match=point.value):
        failpoint(point)
    assert not issubclass(Crash, Exception)


def test_f1_a_turn_counts_since_the_variable_was_set(monkeypatch):
    monkeypatch.setenv(SETTING, "step.after_write=raise@2")
    failpoint(Failpoint.STEP_AFTER_WRITE)
    with pytest.raises(Crash):
        failpoint(Failpoint.STEP_AFTER_WRITE)
    failpoint(Failpoint.STEP_AFTER_WRITE)


def test_f1_a_full_disk_is_an_ordinary_error(monkeypatch):
    monkeypatch.setenv(SETTING, "step.after_write=enospc")
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as caught:
        failpoint(Failpoint.STEP_AFTER_WRITE)
    assert caught.value.errno == errno.ENOSPC


def test_f1_a_kill_leaves_no_time_to_clean_up():
    code = (
        "from rollview.failpoints import Failpoint, failpoint\n"
        "try:\n    failpoint(Failpoint.STEP_AFTER_WRITE)\nfinally:\n    print('cleaned up')"
    )
    environment = {**os.environ, SETTING: "step.after_write=kill"}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert (ended.returncode, ended.stdout) == (-signal.SIGKILL, b"")


def test_f1_an_unknown_action_is_not_passed_over(monkeypatch):
    monkeypatch.setenv(SETTING, "step.after_write=explode")
    with pytest.raises(ValueError, match=r"step.after_write: unknown action 'explode'"):
        failpoint(Failpoint.STEP_AFTER_WRITE)


def test_f2_every_point_stands_somewhere_in_the_product():
    named = set()
    for path in Path(rollview.__file__).parent.rglob("*.py"):
        if path.name != "failpoints.py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    named.add((node.value.id, node.attr))
    assert {p.name for p in Failpoint} == {attr for name, attr in named if name == "Failpoint"}
