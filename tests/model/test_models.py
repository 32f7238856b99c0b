"""The three executable specifications hold, and each of their checks is able to fail.

Each test loads a fresh copy of a model, since a sabotage stays in the module it was done to. The models
alone run hundreds of histories (`python tests/model/rolling_model.py`); here are fewer, for every run.
"""

import importlib.util
import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
MORE = int(os.environ.get("ROLLVIEW_EXAMPLES", "1"))


@pytest.fixture
def model(request):
    """A fresh copy of the model that the test names."""
    path = FOLDER / f"{request.param}.py"
    spec = importlib.util.spec_from_file_location(f"fresh_{request.param}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("model", ["rolling_model"], indirect=True)
def test_rolling_equals_a_recompute_at_every_time(model):
    for seed in range(10 * MORE):
        model.check_rolling(seed)
        model.check_compute_delta(seed)


@pytest.mark.parametrize("model", ["rolling_model"], indirect=True)
def test_rolling_as_published_is_right_for_two_relations_and_wrong_for_three(model):
    assert all(model.published_rolling_holds(seed, 2) for seed in range(8 * MORE))
    assert not all(model.published_rolling_holds(seed, 3) for seed in range(40))


@pytest.mark.parametrize("model", ["rolling_model"], indirect=True)
def test_rolling_with_the_earliest_stamp_is_caught(model, monkeypatch):
    latest = model.join
    monkeypatch.setattr(model, "join", lambda factors, pick_stamp: latest(factors, min))
    assert any(fails(model.check_rolling, seed) for seed in range(20))


@pytest.mark.parametrize("model", ["blocks_model"], indirect=True)
def test_blocks_equal_a_recompute_and_their_sabotage_is_caught(model, capsys):
    model.main(12 * MORE)
    printed = capsys.readouterr().out
    assert printed.count("histories right") == len(model.VIEWS)
    assert "so the check can fail" in printed


@pytest.mark.parametrize("model", ["rolled_model"], indirect=True)
def test_the_rolled_table_is_right_and_its_sabotage_is_caught(model, capsys):
    model.main(40 * MORE)
    printed = capsys.readouterr().out
    assert f"{40 * MORE} of {40 * MORE} histories right" in printed
    assert "so the check can fail" in printed


def fails(check, seed):
    try:
        check(seed)
    except AssertionError:
        return True
    return False
