"""The golden suites use the DuckDB engine of the unit tests, and the Spark session of the oracles."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "unit"))

import duck_engine
from oracle.conftest import spark  # noqa: F401 (the one session of all suites)


@pytest.fixture
def sabotage(monkeypatch):
    """A monkeypatch for the product: texts that were made before it are not used under it, nor after it."""
    duck_engine.generated.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    duck_engine.generated.cache_clear()
