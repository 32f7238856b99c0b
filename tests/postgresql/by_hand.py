"""Copies made without Spark: the rows that a load reads, as a Delta Lake table whose log is written by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from rollview import replicas
from rollview.ledger.store import BaseRelation, BlockRow, Ledger
from rollview.sources.postgresql.connect import connected
from rollview.sources.postgresql.load import begin_at, part_rows
from rollview.sources.postgresql.registration import Prepared, relation_of


def loaded_by_hand(
    spark: Callable[[], Any], ledger: Ledger, warehouse: Path, url: str, made: Prepared, pair: Any,
    block: BlockRow,
) -> tuple[BaseRelation, BlockRow]:  # fmt: skip
    """As replicas.loaded, without Spark."""
    table, found = pair
    relation = relation_of(table, found, made.stream, block.oldest, None)
    if table.mode != "replica":
        return relation, block
    folder = warehouse / block.folder / "folded"
    (folder / "_delta_log").mkdir(parents=True)
    schema = pa.schema(list(table.schema)[:-2])
    with (
        connected(url, "s") as c,
        pyarrow.parquet.ParquetWriter(folder / "part 0.parquet", schema) as writer,
    ):
        begin_at(c, made.moment.name)
        rows = 0
        for part in made.parts[table.name]:
            for batch in part_rows(c, table, part):
                writer.write_batch(batch)
                rows += batch.num_rows
    add = {
        "path": "part%200.parquet",
        "partitionValues": {},
        "size": 1,
        "modificationTime": 0,
        "dataChange": True,
    }
    info = {"timestamp": 0, "operation": "WRITE"}
    text = json.dumps({"commitInfo": info}) + "\n" + json.dumps({"add": add}) + "\n"
    (folder / "_delta_log" / f"{0:020d}.json").write_text(text)
    return replace(relation, rows=rows), replace(block, folded_version=0, rows=rows)


@pytest.fixture
def copies_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources of mode replica are loaded without Spark."""
    monkeypatch.setattr(replicas, "loaded", loaded_by_hand)
