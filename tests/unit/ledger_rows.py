"""Rows for the ledger's tests."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from rollview.changes import Csn
from rollview.ledger.store import (
    BaseRelation,
    BlockRow,
    CapturedChange,
    Commit,
    Ledger,
    Refresh,
    Source,
    Step,
    Stream,
    ViewRow,
)
from rollview.views.blocks import Column, Definition, Input, Join, Reduce, Union

START = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=timezone.utc)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def source(name: str = "lake") -> Source:
    return Source(name, "delta", {"path": "/data/läke", "deep": [1, {"a": None}]}, at(0))


def stream(source: str = "lake", position: int = 1 << 40) -> Stream:
    return Stream(
        source, "rollview_1", "pub", 16400, "7412000000000000001", 1, position, {"a": [1]}
    )


def relation(name: str = "lake.sales", **changed: Any) -> BaseRelation:
    row: dict[str, Any] = {
        "name": name, "source": name.split(".")[0], "location": "/data/sales", "table_id": "t1",
        "position": 3, "columns": (("id", "bigint"), ("price", "decimal(10,2)")),
        "base_csn": Csn(0), "base_position": 3, "rows": 10, "bytes": 1 << 40, "stopped": None,
        "properties": {"mode": "name"},
    }  # fmt: skip
    return BaseRelation(**row | changed)


def commit(csn: int, seconds: float | None = None, source: str = "lake") -> Commit:
    when = at(csn if seconds is None else seconds)
    return Commit(Csn(csn), source, csn + 3, 1 << 33 if csn % 2 else None, when, "WRITE")


def change(
    csn: int, relation: str = "lake.sales", rows: tuple[int, int] = (2, 1)
) -> CapturedChange:
    files = {"add": [f"part-{csn}.parquet"]}
    return CapturedChange(Csn(csn), relation, csn + 3, at(csn), "WRITE", *rows, files)


def registered(ledger: Ledger) -> Ledger:
    """The ledger with a source and two relations."""
    with ledger.atomic():
        ledger.add_source(source())
        ledger.put_relation(relation())
        ledger.put_relation(relation("lake.customer"))
    return ledger


def definition(name: str = "v") -> Definition:
    sale = Join(
        (Input("s", "lake.sales", ("id", "price")), Input("c", "lake.customer", ("id",))),
        "`s`.`id` = `c`.`id`",
        (Column("id", "`s`.`id`", "bigint"), Column("price", "`s`.`price`", "decimal(10,2)")),
    )
    total = Reduce(
        Union((Join((Input("b", f"{name}#0", ("id",)),), None, (Column("id", "`id`", "bigint"),)),)),
        ("id",), (Column("s", "`id` * `_rv_count`", "bigint"),), (Column("id", "`id`", "bigint"),),
    )  # fmt: skip
    return Definition(name, f"SELECT … AS {name}", (Union((sale,)), total))


def view(name: str = "v", state: str = "building") -> ViewRow:
    return ViewRow(
        name, f"SELECT {name}", definition(name), {"fold": "always"}, state, "", at(5), None
    )


def blocks(name: str = "v") -> list[BlockRow]:
    first = BlockRow(
        f"{name}#0", name, 0, f"views/{name}/0", (Csn(1), Csn(2)), Csn(1), None, (), 0, 0
    )
    last = BlockRow(name, name, 1, f"views/{name}/1", (Csn(2),), Csn(0), 7, (Csn(0),) * 3, 5, 50)
    return [last, first]


def step(id: str, lo: int, hi: int, block: str = "v") -> Step:
    return Step(id, block, f"steps/{id}", Csn(lo), Csn(hi), 10, 2, 1000, at(hi))


def refresh(view: str, number: int) -> Refresh:
    return Refresh(
        view, at(0), 0.25, "incremental", "", "ok", "", Csn(number), Csn(number + 1), 3, 4, 5, {"n": number}
    )  # fmt: skip
