"""Definitions come back from JSON as they were (S1)."""

from __future__ import annotations

import json

import ledger_rows as make
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollview.errors import LedgerDamaged
from rollview.views.blocks import Definition
from rollview.views.stored import from_json, to_json


# Generating whole definitions is slow, checking them is not.
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.from_type(Definition))
def test_s1_any_definition_comes_back(definition: Definition) -> None:
    assert from_json(json.loads(json.dumps(to_json(definition)))) == definition


def test_the_form_is_plain() -> None:
    stored = to_json(make.definition())
    assert stored["kind"] == "Definition" and stored["name"] == "v"
    assert [block["kind"] for block in stored["blocks"]] == ["Union", "Reduce"]
    assert stored["blocks"][0]["parts"][0]["inputs"][0] == {
        "kind": "Input", "alias": "s", "relation": "lake.sales", "columns": ["id", "price"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"kind": "Definition", "name": "v"},
        {"kind": "Fixpoint", "name": "v"},
        {"kind": "Input", "alias": "a", "relation": "r", "columns": []},
        {"kind": "Definition", "name": "v", "sql": "", "blocks": [], "novelty": 1},
    ],
)
def test_what_is_not_known_is_refused(stored: dict) -> None:
    with pytest.raises(LedgerDamaged, match="cannot be read"):
        from_json(stored)
