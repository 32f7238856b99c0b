"""Large source tables that a step reads by the join keys of its changes, and not whole: one list of parts for each.

O1  A term over looked up rows has the rows of the term over the whole table: what is left out joins no change.
O2  Keys come from changed files that the driver reads (sources/delta_lake/lookup.py); no Spark job is run for them.
An input is looked up if an equality leads to it from the changes of its term. What is beyond the bounds is read whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame

from rollview.calculus.probing import edges
from rollview.calculus.terms import AsOf, Changes, Factor
from rollview.sources.delta_lake.lookup import MOST_KEYS, Keys
from rollview.sources.delta_lake.relation import DeltaLakeTable
from rollview.spark.evaluate import Place, old, parts_of
from rollview.spark.probes import JoinTerm
from rollview.spark.relations import Relations

EXECUTORS = 2
"""A core of the driver finds keys about so many times as fast as one of Spark scans: with more cores, Spark scans."""


def looked_up(
    relations: Relations, terms: Sequence[JoinTerm], large: Sequence[str]
) -> Mapping[Place, list[DataFrame]]:
    """The inputs that are looked up, each in parts (O1)."""
    cores = EXECUTORS * (os.cpu_count() or 1)
    if not large or relations.spark.sparkContext.defaultParallelism > cores:
        return {}
    return {
        (number, i): _rows(table, each.term[i], each.join.inputs[i].columns, keys)
        for number, each in enumerate(terms)
        for i, table, keys in _looked_up(relations, each, large)
    }


def _rows(
    table: DeltaLakeTable, factor: Factor, columns: Sequence[str], keys: Keys
) -> list[DataFrame]:
    """The rows of the factor that have one of the keys, and perhaps others: here already, or in parts to be scanned."""
    assert not isinstance(factor, Changes), "changes are read as they are"
    few = table.found(factor.at if isinstance(factor, AsOf) else factor.lo, columns, keys)
    if few is None:
        return parts_of(table, factor, columns, partial(table.parts, only=keys))
    if isinstance(factor, AsOf):
        return [few]
    return [old(few).unionByName(table.changes(factor.lo, factor.at, columns))]


def _looked_up(
    relations: Relations, each: JoinTerm, large: Sequence[str]
) -> Iterator[tuple[int, DeltaLakeTable, Keys]]:
    """The inputs of a term that are looked up, and by which keys (O2)."""
    start = next(f for f in each.term if isinstance(f, Changes))
    names = [i.relation for i in each.join.inputs]
    origin = _source_table(relations, names[start.input])
    if (
        origin is None
        or set(names).isdisjoint(large)
        or relations.changed_rows(origin.name, start.lo, start.hi) > MOST_KEYS
    ):
        return
    graph = edges(each.join, {name: dict(relations.columns(name)) for name in names})
    for edge in (way for e in graph for way in (e, e.turned())):
        table = _source_table(relations, names[edge.right]) if names[edge.right] in large else None
        if edge.left != start.input or table is None or isinstance(each.term[edge.right], Changes):
            continue
        key, column = edge.columns[0]
        values = origin.keys(start.lo, start.hi, key)
        if values is not None:
            yield edge.right, table, Keys(column, values)


def _source_table(relations: Relations, name: str) -> DeltaLakeTable | None:
    table = relations(name) if relations.base(name) is not None else None
    return table if isinstance(table, DeltaLakeTable) else None
