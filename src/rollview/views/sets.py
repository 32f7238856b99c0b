"""INTERSECT and EXCEPT: a Reduce over the rows of both sides, which counts those of the left one.

O1  Keys are all columns. With l copies on the left and r on the right, INTERSECT ALL has min(l, r) copies, EXCEPT ALL
    has l - r if that is more than 0; without ALL a row is there once, if both have it, or only the left one.
NULLs are equal, as everywhere in set operations. Knows rows (draft.py), not the queries that made them.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rollview.changes import COUNT
from rollview.views.aggregates import normalised
from rollview.views.blocks import Column, Reduce
from rollview.views.draft import Draft, Outputs, Part, Rows
from rollview.views.syntax import cast_to, column, quoted, sql_of

SIDE, LEFT = "_rv_left", "_rv_s0"


def reduced_sides(
    draft: Draft, query: exp.SetOperation, left: Rows, right: Rows, outputs: Outputs
) -> tuple[Reduce, str]:
    """The Reduce of an INTERSECT or EXCEPT of rows that have the types of `outputs`, and a query like it (O1)."""
    types = [kind for _, kind in outputs]
    names = tuple(name for name, _ in outputs)
    parts = (*_of_side(left, True), *_of_side(right, False))
    rows = normalised(draft, Rows((*names, SIDE), parts), [*types, "boolean"], len(names))
    count, of_left = quoted(COUNT), quoted(LEFT)
    of_right = f"({count} - {of_left})"
    every = query.args.get("distinct") is False
    if isinstance(query, exp.Except):
        copies = f"{of_left} - {of_right}"
        having = f"{copies} > 0" if every else f"{of_left} > 0 AND {of_right} = 0"
    else:
        copies = f"LEAST({of_left}, {of_right})"
        having = f"{of_left} > 0 AND {of_right} > 0"
    sums = (
        Column(LEFT, f"CASE WHEN {quoted(SIDE)} THEN {count} ELSE CAST(0 AS BIGINT) END", "bigint"),
    )
    shown = tuple(Column(n, sql_of(cast_to(column("", n), kind)), kind) for n, kind in outputs)
    block = Reduce(
        draft.union(rows, [*types, "boolean"]),
        names,
        sums,
        shown,
        having,
        copies if every else None,
    )
    meaning = f"SELECT {', '.join(map(quoted, names))} FROM ({draft.sql(rows)}) AS `_rv_d`"
    return block, meaning


def _of_side(rows: Rows, left: bool) -> list[Part]:
    return [replace(p, outputs=(*p.outputs, exp.Boolean(this=left))) for p in rows.parts]
