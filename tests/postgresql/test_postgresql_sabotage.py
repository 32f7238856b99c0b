"""Sabotage: with a part of capture broken, the oracle of these tests must find it out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from shop import Shop, check_captured

from rollview import capture as capturer
from rollview.failpoints import Crash, Failpoint
from rollview.ledger.store import Ledger
from rollview.sources.postgresql import capture as capturing
from rollview.sources.postgresql import slot
from rollview.sources.postgresql.spool import Spool
from rollview.sources.postgresql.transactions import Started
from rollview.warehouse import Warehouse

pytest_plugins = ["servers"]


def found_out(wh: Warehouse, shop: Shop) -> None:
    with pytest.raises(AssertionError):
        check_captured(wh, shop)


def test_a_sign_that_is_flipped(shop, wh, monkeypatch) -> None:
    add = Spool.add
    monkeypatch.setattr(Spool, "add", lambda self, n, count, row: add(self, n, abs(count), row))
    shop.transact(["DELETE FROM orders WHERE id = 3"])
    wh.capture()
    found_out(wh, shop)


def test_a_row_that_is_dropped(shop, wh, monkeypatch) -> None:
    add, seen = Spool.add, []

    def dropping(self, number, count, row):
        seen.append(row)
        if len(seen) != 7:
            add(self, number, count, row)

    monkeypatch.setattr(Spool, "add", dropping)
    for _ in range(8):
        shop.transact()
    wh.capture()
    found_out(wh, shop)


def test_transactions_that_are_put_together(shop, wh, monkeypatch) -> None:
    moved = capturer.record.write_steps

    def same_stamp(ledger, warehouse, batch, stamps):
        return moved(ledger, warehouse, batch, [stamps[-1]] * len(stamps))

    monkeypatch.setattr(capturer.record, "write_steps", same_stamp)
    for _ in range(4):
        shop.transact()
    wh.capture()
    found_out(wh, shop)


def test_a_position_that_does_not_move(shop, wh, monkeypatch) -> None:
    monkeypatch.setattr(Ledger, "put_stream", lambda self, stream: None)
    for _ in range(2):
        shop.transact()
        wh.capture()
    found_out(wh, shop)


def test_a_slot_that_is_confirmed_too_early(shop, wh, monkeypatch) -> None:
    """The server forgets before the ledger has committed, and the check that would notice is off."""
    read = capturer.read_batch

    def eager(connection, stream, tables, now, folder, copy):
        batch = read(connection, stream, tables, now, folder, copy)
        slot.confirm(connection, replace(stream, position=batch.end))
        return batch

    monkeypatch.setattr(capturer, "read_batch", eager)
    shop.transact()
    monkeypatch.setenv("ROLLVIEW_FAILPOINTS", f"{Failpoint.CAPTURE_BEFORE_COMMIT.value}=raise")
    with pytest.raises(Crash):
        wh.capture()
    monkeypatch.delenv("ROLLVIEW_FAILPOINTS")
    assert "somebody moved" in str(wh.capture().problems[0])  # the product's own check
    monkeypatch.setattr(
        slot, "check", lambda connection, stream, now: slot.slot(connection, stream.slot)
    )
    shop.transact()
    wh.capture()
    found_out(wh, shop)


def test_redelivered_transactions_that_are_not_skipped(shop, wh, monkeypatch) -> None:
    monkeypatch.setattr(slot, "confirm", lambda connection, stream: None)
    events = capturing.events

    def never_old(messages, next_xid):
        for event in events(messages, next_xid):
            yield replace(event, lsn=1 << 62) if isinstance(event, Started) else event

    shop.transact()
    wh.capture()
    shop.transact()
    wh.capture()
    check_captured(wh, shop)  # delivered twice, captured once
    monkeypatch.setattr(capturing, "events", never_old)
    shop.transact()
    wh.capture()
    found_out(wh, shop)


def test_a_catalogue_that_nobody_looks_at(shop, wh, monkeypatch) -> None:
    monkeypatch.setattr(capturing, "differences", lambda *_: [])
    shop.transact(["ALTER TABLE orders ALTER COLUMN note TYPE text USING note || '!'"])
    shop.transact(["INSERT INTO cust VALUES (1, 'later')"])
    wh.capture()
    found_out(wh, shop)
