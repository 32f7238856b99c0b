"""C1 to C3: what the history tells of the machine, and when a fold is due."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import ledger_rows as make
import pytest

from rollview.apply import folds_pay
from rollview.calculus.cost import Learned, fold_seconds
from rollview.ledger.learning import FOLD, FULL, folding, learned_from
from rollview.ledger.store import Ledger

CONSTANTS = {"by_constants": {"incremental": 0.5, "full": 2.0}}


@pytest.fixture
def ledger(tmp_path):
    """The view "v" with nothing pending."""
    opened = Ledger.open(tmp_path / "wh", None, create=True)
    make.registered(opened)
    opened.add_view(make.view(), make.blocks())
    yield opened
    opened.close()


def worked(ledger, technique, seconds, details, state="ok", times=6):
    row = replace(make.refresh("v", 1), technique=technique, state=state, details=details)
    for _ in range(times):
        ledger.add_refresh(replace(row, seconds=seconds))


def due(ledger):
    return folds_pay(ledger, "v", [ledger.block("v")])


def test_c1_each_kind_of_work_teaches_its_own_factor(ledger):
    worked(ledger, "ROW_BASED", 1.0, CONSTANTS)
    worked(ledger, FULL, 1.0, CONSTANTS)
    worked(ledger, FOLD, 3.0, {"by_constants": {"fold": 1.0}})
    assert learned_from(ledger, "v") == Learned(2.0, 0.5, 3.0)
    assert learned_from(ledger, "w") == Learned()


@pytest.mark.parametrize(
    ("technique", "state", "details"),
    [("NO_OP", "ok", CONSTANTS), ("ROW_BASED", "failed", CONSTANTS), ("ROW_BASED", "ok", {})],
)
def test_c1_nothing_is_learned_from_no_work_or_half_of_it(ledger, technique, state, details):
    worked(ledger, technique, 4.0, details, state)
    assert learned_from(ledger, "v") == Learned()


def test_c2_a_fold_is_due_when_readers_have_paid_for_it(ledger):
    assert not due(ledger)
    for number in range(1, 100):
        before = folding(ledger, ledger.block("v"), Learned())
        ledger.add_step(make.step(f"s{number}", number, number))
        if due(ledger):
            break
    after = folding(ledger, ledger.block("v"), Learned())
    assert before.paid < before.cost == fold_seconds(5) <= after.paid
    assert (after.steps, after.rows) == (number, 10 * number)
    ledger.set_block("v", fold_times=(number,) * 3)
    assert not due(ledger)


def test_c2_folds_that_were_slow_are_waited_for_longer(ledger):
    worked(ledger, FOLD, 8.0, {"by_constants": {"fold": 1.0}})
    for number in range(1, 13):
        ledger.add_step(make.step(f"s{number}", number, number))
    assert folding(ledger, ledger.block("v"), Learned()).due
    assert not due(ledger)


def test_c3_a_fold_waits_where_earlier_ones_have_left_too_much(ledger):
    for number in range(1, 100):
        ledger.add_step(make.step(f"s{number}", number, number))
    assert due(ledger)
    ledger.set_block("v", bytes=100 * 2**20)
    now = datetime.now(timezone.utc)
    folded = replace(make.refresh("v", 1), technique=FOLD, started_at=now, bytes=500 * 2**20)
    ledger.add_refresh(folded)
    ledger.add_refresh(folded)
    assert due(ledger), "1,000 MiB is ten times what is stored"
    ledger.add_refresh(replace(folded, started_at=now - timedelta(days=2)))
    ledger.add_refresh(replace(folded, technique=FULL))
    ledger.add_refresh(replace(folded, view="w"))
    assert due(ledger), "what was replaced long ago is deleted"
    ledger.add_refresh(replace(folded, bytes=1))
    assert not due(ledger)
    found = folding(ledger, ledger.block("v"), Learned())
    assert found.waits and (found.replaced, found.room) == (1_000 * 2**20 + 1, 1_000 * 2**20)
    ledger.set_block("v", bytes=2**30)
    assert due(ledger), "there is more of it now"


def test_c3_little_is_not_waited_for(ledger):
    for number in range(1, 100):
        ledger.add_step(make.step(f"s{number}", number, number))
    folded = replace(make.refresh("v", 1), technique=FOLD, started_at=datetime.now(timezone.utc))
    ledger.add_refresh(replace(folded, bytes=256 * 2**20))
    assert due(ledger)
    ledger.add_refresh(replace(folded, bytes=1))
    assert not due(ledger)
