"""Overflows: no step is committed after which a group cannot be shown: a sum exceeds its type, or is divided by.

O1  As long as the footers of the files bound every total by its type, and none divides (calculus/totals.py), nothing
    runs.
O2  Otherwise the totals of the touched groups are read as they are after each stamp. One that cannot be shown fails the
    step; else the totals that were read are the bound from then on, as long as the process keeps it and nothing is
    folded.
Knows rolled tables and their files; what a failure means for the view is propagate.py's and refresh.py's matter.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from rollview.calculus.rolled import NEXT
from rollview.calculus.totals import Known, Largest, bound, fits, limits, may_divide_by_zero
from rollview.changes import COUNT, STAMP, Csn
from rollview.errors import TotalOverflows
from rollview.ledger.store import BlockRow, Step
from rollview.sources.delta_lake.listed import files_at
from rollview.sources.delta_lake.log import state_at
from rollview.spark.blame import MOST_ROWS, single
from rollview.spark.failures import first_sentence, spark_errors
from rollview.spark.relations import Relations
from rollview.spark.rolled import RolledTable
from rollview.views.blocks import Reduce
from rollview.views.syntax import quoted


def check_totals(relations: Relations, name: str, lo: Csn, hi: Csn, new: Sequence[Step]) -> None:
    """Raise if a total of the block exceeds its type at a time in (lo, hi], which a step is about to complete.

    `new`: what the step wrote, which the ledger does not list yet.
    """
    table = relations.rolled(name)
    if not isinstance(table.block, Reduce) or lo == hi:
        return
    most, divides = limits(table.block), may_divide_by_zero(table.block)
    if not (most or divides) or not [*new, *relations.ledger.steps(name, lo, hi)]:
        return
    row, memory = table.row(), relations.kept.totals
    known = memory.get(row.folder)
    if known is None or known.version != row.folded_version or known.since > lo:
        assert row.folded_version is not None, "a step continues what was built"
        since = Csn(min(row.fold_times))
        known = Known(row.folded_version, since, _largest_folded(table, row, most))
    steps = [*relations.ledger.steps(name, known.since, hi), *new]
    known = replace(known, steps={
        s.id: known.steps[s.id] if s.id in known.steps else _largest_in(table, s, most)
        for s in steps})  # fmt: skip
    moves = [(known.steps[s.id], min(s.rows, s.hi - s.lo + 1)) for s in steps]
    if divides:
        with spark_errors(relations, name, []):
            _check_divisions(table, table.totals(lo, hi, new), hi)
    if not fits(bound(known.largest, moves), most):
        with spark_errors(relations, name, []):
            touched = _looked(table, table.totals(known.since, hi, new), hi, most)
        if known.largest is not None:
            largest = {n: max(touched[n], known.largest[n]) for n in most}
            known = Known(known.version, hi, largest)
    memory[row.folder] = known


def _largest_folded(table: RolledTable, row: BlockRow, names: Iterable[str]) -> Largest | None:
    folder = table.folder(row) / "folded"
    assert row.folded_version is not None, "whoever asks has looked"
    listed = files_at(str(folder), row.folded_version)
    # Without a list all files there are serve, also those that are read no more: the bound is only wider.
    files = ([folder / f.path for f in listed] if listed is not None
             else [f for f in folder.rglob("*.parquet") if "_delta_log" not in f.parts])  # fmt: skip
    state = state_at(str(folder), row.folded_version)
    fields = json.loads(state[0].schema)["fields"] if state is not None else []
    stored = {f["name"]: f["metadata"].get("delta.columnMapping.physicalName", f["name"])
              for f in fields}  # fmt: skip
    return largest_values(files, {name: stored.get(name, name) for name in names})


def _largest_in(table: RolledTable, step: Step, names: Iterable[str]) -> Largest | None:
    files = (table.warehouse / step.folder).glob("*.parquet")
    return largest_values(files, {name: name for name in names})


def largest_values(files: Iterable[Path], stored: Mapping[str, str]) -> Largest | None:
    """By name: how far from zero a value is at most, by the files' footers; None if they do not say.

    `stored`: under which name a column is in the files.
    """
    found = dict.fromkeys(stored, 0)
    for file in files:
        footer = pyarrow.parquet.read_metadata(file)
        places = {footer.schema.column(c).path: c for c in range(footer.num_columns)}
        for group in map(footer.row_group, range(footer.num_row_groups)):
            for name, column in stored.items() if group.num_rows else ():
                said = group.column(places[column]).statistics if column in places else None
                if said is None or not said.has_min_max:
                    return None
                found[name] = max(found[name], math.ceil(said.max), -math.floor(said.min))
    return found


def _looked(table: RolledTable, totals: DataFrame, hi: Csn, most: Largest) -> Largest:
    """The largest of the totals that were reached; raises if one of them cannot be shown (O2)."""
    ends = [end(quoted(name)) for name in most for end in (F.max, F.min)]
    found = totals.agg(F.count_if(_beyond(most)), *ends).first()
    assert found is not None, "an aggregate over everything has one row"
    if found[0]:
        _check_shown(table, totals.where(_beyond(most)), hi)
    numbers = [0 if number is None else number for number in found[1:]]
    reached = zip(most, numbers[::2], numbers[1::2], strict=True)
    return {name: max(math.ceil(high), -math.floor(low)) for name, high, low in reached}


def _beyond(most: Largest) -> Column:
    """Some total exceeds a limit, or even its own type."""
    return F.expr(" OR ".join(
        f"{name} IS NULL OR {name} NOT BETWEEN -{limit}BD AND {limit}BD"
        for name, limit in ((quoted(name), limit) for name, limit in most.items())))  # fmt: skip


def _check_shown(table: RolledTable, suspect: DataFrame, hi: Csn) -> None:
    """Raise if what the block shows of a group fails, also if HAVING hides it: a recompute adds it up too."""
    block = table.block
    assert isinstance(block, Reduce), "nothing else has totals"
    shown = {f'column "{c.name}"': c.expr for c in block.columns}
    shown |= {"HAVING": block.having} if block.having else {}
    held = [f"ASSERT_TRUE({quoted(s.name)} IS NOT NULL, '[ARITHMETIC_OVERFLOW] a SUM is no {s.type}')"
            for s in block.sums]  # fmt: skip
    _check(table, suspect, hi, "a SUM exceeds its type", shown, held)


def _check_divisions(table: RolledTable, totals: DataFrame, hi: Csn) -> None:
    """Raise if what the block shows of a group fails; not of one that is gone, or that HAVING hides."""
    block = table.block
    assert isinstance(block, Reduce), "nothing else has totals"
    shown = {"HAVING": block.having} if block.having else {}
    head, tail = (f"CASE WHEN {block.having} THEN ", " END") if block.having else ("", "")
    shown |= {f'column "{c.name}"': f"{head}{c.expr}{tail}" for c in block.columns}
    present = totals.where(F.col(COUNT) > 0) if block.keys else totals
    _check(table, present, hi, "an expression over its aggregates fails", shown)


def _check(
    table: RolledTable,
    suspect: DataFrame,
    hi: Csn,
    what: str,
    shown: Mapping[str, str],
    held: Sequence[str] = (),
) -> None:
    """Raise if an expression fails for a group, with the group and the last time that fails."""
    assert isinstance(table.block, Reduce), "nothing else has totals"
    error = _failure(suspect, [*held, *shown.values()])
    if error is None:
        return
    last = F.col(NEXT).isNull()
    lasting = _failure(suspect.where(last), [*held, *shown.values()]) is not None

    def fails(rows: Sequence[Row], *expressions: str) -> bool:
        made = table.spark.createDataFrame(list(rows), suspect.schema)
        return _failure(made, expressions) is not None

    some = suspect.orderBy(STAMP).limit(MOST_ROWS).collect()
    group = single(some, lambda rows: fails(rows, *held, *shown.values()))
    where = [name for name, expression in shown.items() if fails([group], expression)]
    key = ", ".join(f"{'key' if k.startswith('_rv_') else k} = {group[k]!r}" for k in table.block.keys)  # fmt: skip
    raise TotalOverflows(
        f'view "{table.row().view}" cannot be refreshed: {what}',
        f"{first_sentence(error)}\n"
        f"group in transaction {group[STAMP]}, {', '.join(where or shown)}: {key or 'all rows'}",
        "the view stays at its last good time; mend the rows of the group, then refresh again",
        hi if lasting else group[STAMP],
    ) from error


def _failure(rows: DataFrame, expressions: Iterable[str]) -> Exception | None:
    """What Spark raises for the expressions over the rows, if anything."""
    shown = rows.select(*(F.expr(text).alias(f"_rv_{n}") for n, text in enumerate(expressions)))
    try:
        shown.write.format("noop").mode("overwrite").save()
    except (PySparkException, Py4JError) as error:
        return error
    return None
