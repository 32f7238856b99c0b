"""What the unit tests share."""

import duck_engine
import pytest


@pytest.fixture
def sabotage(monkeypatch):
    """A monkeypatch for the product: texts that were made before it are not used under it, nor after it."""
    duck_engine.generated.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    duck_engine.generated.cache_clear()
