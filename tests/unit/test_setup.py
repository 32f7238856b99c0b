"""tools/setup.py stops with one sentence that says what to do, and with exit code 1 (S1).

Each test runs the file as make does, in a copy of the clone with a PATH of its own: fake commands
stand for the machine's, so nothing here needs a network or takes long.
"""

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETUP = ROOT / "tools" / "setup.py"


class Clone:
    """A folder with tools/setup.py in it, and a PATH that has only what the test puts there."""

    def __init__(self, folder):
        self.folder, self.bin = folder, folder / "bin"
        (folder / "tools").mkdir()
        self.bin.mkdir()
        shutil.copy(SETUP, folder / "tools")
        (folder / "requirements.lock").write_text("setuptools==1\n")
        (folder / "pyproject.toml").write_text("")

    def command(self, path, script):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def java(self, version, path=None):
        script = f"echo 'openjdk version \"{version}\" 2025-04-15' >&2"
        self.command(path or self.bin / "java", script)

    def venv(self, pip="exit 0", jars="exit 0"):
        """A .venv whose python obeys `-c` and answers `-m pip` and `-m rollview.spark.jars`."""
        answer = f'case "$2" in pip) {pip} ;; rollview*) {jars} ;; esac'
        prefix = f"import sys; sys.prefix = '{self.folder / '.venv'}'"
        script = f'[ "$1" = -c ] && exec {sys.executable} -c "{prefix}; $2"\n{answer}'
        self.command(self.folder / ".venv" / "bin" / "python", script)

    def setup(self, version=None, **environment):
        """Run setup.py, under a Python that says it is `version`."""
        pretend = f"sys.version_info = {version}" if version else "pass"
        file = str(self.folder / "tools" / "setup.py")
        code = f"import runpy, sys; {pretend}; runpy.run_path({file!r}, run_name='__main__')"
        return subprocess.run(
            [sys.executable, "-c", code],
            env={"PATH": str(self.bin), **environment},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


def sentence(done):
    """The only line on standard error; there is no traceback and the exit code is 1."""
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("setup: ")
    assert line.endswith("run make again.")
    return line


@pytest.fixture(scope="module")
def module():
    spec = importlib.util.spec_from_file_location("rollview_tools_setup", SETUP)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_an_old_python_can_read_the_file():
    ast.parse(SETUP.read_text("utf-8"), feature_version=(3, 6))


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 9, 18), (3, 14, 0)])
def test_a_python_that_does_not_fit(clone, version):
    line = sentence(clone.setup(version))
    assert "needs Python 3.10 to 3.13" in line
    assert f"python3 is {version[0]}.{version[1]}.{version[2]}" in line


def test_another_python_on_the_path_is_taken(clone):
    clone.command(clone.bin / "python3.12", "echo 3.12")
    assert "Java" in sentence(clone.setup((3, 6, 15)))  # past Python, stopped by the next check


def test_a_python_on_the_path_that_does_not_run_is_passed_over(clone):
    clone.command(clone.bin / "python3.12", "exit 127")
    assert "needs Python" in sentence(clone.setup((3, 6, 15)))


def test_no_java(clone):
    line = sentence(clone.setup())
    assert "no working java in the PATH" in line
    assert "install Java 17 or newer" in line


@pytest.mark.parametrize(("version", "major"), [("1.8.0_392", 8), ("11.0.22", 11)])
def test_an_old_java(clone, version, major):
    clone.java(version)
    line = sentence(clone.setup())
    assert f"is Java {major}:" in line
    assert "install Java 17 or newer" in line


def test_java_home_comes_before_the_path(clone):
    clone.java("17.0.15")
    clone.java("11.0.22", clone.folder / "jdk" / "bin" / "java")
    assert "correct JAVA_HOME" in sentence(clone.setup(JAVA_HOME=str(clone.folder / "jdk")))
    assert "correct JAVA_HOME" in sentence(clone.setup(JAVA_HOME=str(clone.folder / "nothing")))


def test_no_venv_module(clone):
    clone.java("17.0.15")
    clone.command(clone.bin / "python3.12", '[ "$2" != "${2#*venv}" ] && exit 1; echo 3.12')
    assert "has no venv module" in sentence(clone.setup((3, 6, 15)))


def test_no_network_for_packages(clone):
    clone.java("21")
    clone.venv(pip="echo 'Failed to establish a new connection'; exit 1")
    line = sentence(clone.setup())
    assert "package index cannot be reached" in line
    assert "connect to the network" in line


def test_pip_fails_for_another_reason(clone):
    clone.java("21")
    clone.venv(pip="echo 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES'; exit 1")
    line = sentence(clone.setup())
    assert "DO NOT MATCH THE HASHES" in line
    assert "setup.log" in line


def test_no_network_for_jars(clone):
    clone.java("21")
    clone.venv(jars="echo 'cannot fetch the Delta Lake jars' >&2; exit 1")
    line = sentence(clone.setup())
    assert "Maven Central cannot be reached" in line
    assert "connect to the network" in line


def test_ready_then_nothing_to_install(clone):
    clone.java("25-ea")
    clone.venv()
    assert clone.setup().returncode == 0
    clone.venv(pip="exit 1")  # would fail if it were asked again
    assert clone.setup().returncode == 0
    (clone.folder / "requirements.lock").write_text("setuptools==2\n")
    assert "pip failed" in sentence(clone.setup())


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('java version "1.8.0_392"', 8),
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('Picked up JAVA_TOOL_OPTIONS: -X\nopenjdk version "25-ea" 2025-09-16', 25),
        ("The operation couldn't be completed.", None),
    ],
)
def test_java_major(module, text, major):
    assert module.java_major(text) == major


def test_the_lock_pins_the_build_tools_and_has_only_hashes(module):
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    assert all(f"\n{tool}==" in lock for tool in module.BUILD_TOOLS)
    assert "://" not in lock
    assert os.sep + "home" + os.sep not in lock
