"""The cache of Delta Lake jars: checked before use (J1), no network once it is filled (J2)."""

import os
from pathlib import Path

import pytest

from rollview.errors import ConfigError
from rollview.spark import jars

FAKE_JAVA = """#!/bin/sh
for argument in "$@"; do last=$argument; done
folder=${last%/*}
ACTION
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and no java: whatever wants to fetch must say so."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    return jars.cache_folder()


@pytest.fixture
def sums(monkeypatch):
    """One jar with a known content in place of the real ones."""
    digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"  # of "x"
    monkeypatch.setattr(jars, "checksums", lambda: {"one.jar": digest})


def java_that(tmp_path, script):
    path = tmp_path / "jdk" / "bin" / "java"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FAKE_JAVA.replace("ACTION", script))
    path.chmod(0o755)


def test_every_artifact_has_a_sum():
    assert list(jars.checksums()) == [f"{name}-{rev}.jar" for _, name, rev in jars.ARTIFACTS]
    assert all(len(digest) == 64 for digest in jars.checksums().values())


def test_j2_a_filled_cache_needs_neither_java_nor_network(cache, sums):
    cache.mkdir(parents=True)
    (cache / "one.jar").write_text("x")
    assert jars.jar_paths() == [cache / "one.jar"]


def test_an_empty_cache_is_filled(cache, sums, tmp_path):
    java_that(tmp_path, 'printf x > "$folder/one.jar"')
    assert jars.jar_paths() == [cache / "one.jar"]
    assert os.listdir(cache) == ["one.jar"]


def test_j1_a_damaged_jar_is_fetched_again(cache, sums, tmp_path):
    cache.mkdir(parents=True)
    (cache / "one.jar").write_text("half")
    java_that(tmp_path, 'printf x > "$folder/one.jar"')
    jars.jar_paths()
    assert (cache / "one.jar").read_text() == "x"


def test_j1_another_content_is_refused(cache, sums, tmp_path):
    java_that(tmp_path, 'printf y > "$folder/one.jar"')
    with pytest.raises(ConfigError, match=r"not the expected ones: one\.jar"):
        jars.jar_paths()
    assert os.listdir(cache) == []


def test_no_network(cache, sums, tmp_path):
    java_that(tmp_path, "echo 'java.net.UnknownHostException: somewhere'; exit 1")
    with pytest.raises(ConfigError, match="cannot fetch the Delta Lake") as caught:
        jars.jar_paths()
    assert "UnknownHostException" in caught.value.detail
    assert "connect to the network" in caught.value.hint


def test_no_java(cache, sums):
    with pytest.raises(ConfigError, match="there is no java in JAVA_HOME"):
        jars.jar_paths()


def test_a_cache_that_cannot_be_written(cache, sums, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(ConfigError, match="cannot write") as caught:
        jars.jar_paths()
    assert "XDG_CACHE_HOME" in caught.value.hint


def test_the_module_imports_no_pyspark():
    source = Path(jars.__file__).read_text("utf-8")
    assert "import pyspark" not in source
    assert "from pyspark" not in source
