"""Large source tables that a step reads by the join keys of its changes, and not whole: one list of parts for each.

O1  A term over looked up rows has the rows of the term over the whole table: what is left out joins no change.
O2  Keys come from changed files that the driver reads (sources/delta_lake/lookup.py); no Spark job is run for them.
An input is looked up if an equality leads to it from the changes of its term. What is beyond the bounds is read whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame

from rollview.calculus.probing import edges
from rollview.calculus.terms import AsOf, Changes, Factor
from rollview.sources.delta_lake.lookup import MOST_KEYS, Keys
from rollview.sources.delta_lake.relation import DeltaLakeTable
from rollview.spark.evaluate import Place, old, parts_of
from rollview.spark.kept import KEEP_ROWS
from rollview.spark.probes import JoinTerm
from rollview.spark.relations import Relations
from rollview.views.blocks import Block, inputs

EXECUTORS = 2
"""A core of the driver finds keys about so many times as fast as one of Spark scans: with more cores, Spark scans."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """An input whose rows with `column` among the `key` of the changes are enough."""

    input: int
    table: DeltaLakeTable
    column: str
    origin: DeltaLakeTable
    changes: Changes
    key: str


def large_relations(relations: Relations, block: Block) -> list[str]:
    """The relations that a block reads and that are large, the largest first."""
    sizes = {i.relation: relations.rows(i.relation) for i in inputs(block)}
    return sorted((n for n in sizes if sizes[n] > KEEP_ROWS), key=lambda n: -sizes[n])


def looked_up(
    relations: Relations, terms: Sequence[JoinTerm], large: Sequence[str]
) -> Mapping[Place, list[DataFrame]]:
    """The inputs that are looked up, each in parts (O1)."""
    found: dict[Place, list[DataFrame]] = {}
    for number, each in enumerate(terms):
        for lookup in lookups(relations, each, large):
            values = lookup.origin.keys(lookup.changes.lo, lookup.changes.hi, lookup.key)
            if values is not None:
                i = lookup.input
                keys, columns = Keys(lookup.column, values), each.join.inputs[i].columns
                found[number, i] = _rows(relations, lookup.table, each.term[i], columns, keys)
    return found


def lookups(relations: Relations, each: JoinTerm, large: Sequence[str]) -> Iterator[Lookup]:
    """The inputs of a term that are looked up, if the keys of its changes can be read (O2)."""
    start = next(f for f in each.term if isinstance(f, Changes))
    names = [i.relation for i in each.join.inputs]
    if set(names).isdisjoint(large):
        return
    origin = _source_table(relations, names[start.input])
    if origin is None or relations.changed_rows(origin.name, start.lo, start.hi) > MOST_KEYS:
        return
    graph = edges(each.join, {name: dict(relations.columns(name)) for name in names})
    for edge in (way for e in graph for way in (e, e.turned())):
        table = _source_table(relations, names[edge.right]) if names[edge.right] in large else None
        if (
            edge.left == start.input
            and table is not None
            and not isinstance(each.term[edge.right], Changes)
        ):
            key, column = edge.columns[0]
            yield Lookup(edge.right, table, column, origin, start, key)


def explained_lookups(
    relations: Relations, terms: Sequence[JoinTerm], large: Sequence[str]
) -> list[str]:
    """Which large table is looked up how, in words."""
    return [
        f"{found.table.name} is looked up by ({found.column}) for the ({found.key}) of changes of "
        f"{found.origin.name}"
        for each in terms
        for found in lookups(relations, each, large)
    ]


def _rows(
    relations: Relations,
    table: DeltaLakeTable,
    factor: Factor,
    columns: Sequence[str],
    keys: Keys,
) -> list[DataFrame]:
    """The rows of the factor that have one of the keys, and perhaps others: here already, or in parts to be scanned."""
    assert not isinstance(factor, Changes), "changes are read as they are"
    cores = EXECUTORS * (os.cpu_count() or 1)
    time = factor.at if isinstance(factor, AsOf) else factor.lo
    quick = relations.spark.sparkContext.defaultParallelism <= cores
    few = table.found(time, columns, keys) if quick else None
    if few is None:
        return parts_of(table, factor, columns, partial(table.parts, only=keys))
    if isinstance(factor, AsOf):
        return [few]
    return [old(few).unionByName(table.changes(factor.lo, factor.at, columns))]


def _source_table(relations: Relations, name: str) -> DeltaLakeTable | None:
    table = relations(name) if relations.base(name) is not None else None
    return table if isinstance(table, DeltaLakeTable) else None
