"""Tables from expressions in FROM: LATERAL VIEW, VALUES, and no FROM at all.

V1  What makes rows of a row (EXPLODE and the like) is linear: it is part of the join, called by Spark itself.
V2  A row of VALUES is a part without inputs; such a part never changes.
Names and types of the columns are those that Spark gives. Knows items (items.py). Words: docs/glossary.md.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.views.draft import Draft, Part, Rows, coerced
from rollview.views.functions import GENERATORS
from rollview.views.items import Item, Source, columns_of, generated, parts_of
from rollview.views.names import Entry, resolved
from rollview.views.syntax import call_name, column, quoted, sql_of

MOST_ROWS = 256


def lateral(draft: Draft, source: Source, node: exp.Lateral) -> Source:
    """The source with LATERAL VIEW call alias AS columns (V1)."""
    call = resolved(draft.text, source.scope, node.this)
    alias = node.args["alias"]
    written = [c.name for c in alias.args.get("columns") or ()] if alias else []
    names = written or generator_names(draft, source, call)
    source, refs = generated(draft, source, call, names, bool(node.args.get("outer")))
    qualifier = (alias.name.lower() if alias and alias.this else "",)
    entries = [Entry(qualifier, n, column(*ref)) for n, ref in zip(names, refs, strict=True)]
    return Source(source.items, (*source.scope, *entries), source.conditions)


def generator_names(draft: Draft, source: Source, call: exp.Expr) -> list[str]:
    """What Spark calls the columns of a call that makes rows."""
    rows = Rows(
        tuple(f"c{n}" for n in range(len(source.refs))),
        parts_of(draft, source, (), columns_of(source.refs)),
    )
    refs = dict(zip(source.refs, rows.names, strict=True))
    tree = exp.Paren(this=call.copy())
    for node in list(tree.find_all(exp.Column)):
        node.replace(column("", refs[node.table, node.name]))
    text = f"SELECT {sql_of(tree.this)} FROM ({draft.sql(rows)}) AS {quoted('_rv_source')}"
    return [name for name, _ in draft.outputs(text)]


def is_generator(node: exp.Expr) -> bool:
    """A call that makes rows."""
    return call_name(node) in GENERATORS


def nothing(select: exp.Expr) -> Source:
    """The source of a SELECT without FROM: one row without columns."""
    return Source((Item((), Rows((), (Part((), (), ()),)), select),), ())


def values_rows(draft: Draft, values: exp.Values) -> Rows:
    """The rows of VALUES, in the types that Spark gives to all of them (V2)."""
    rows = [_cells(row) for row in values.expressions]
    if len(rows) > MOST_ROWS:
        label, hint = f"VALUES of {len(rows)} rows", "put the rows into a table"
        raise draft.text.refused(draft.text.place(values), label, hint)
    if len({len(row) for row in rows}) != 1:
        label, hint = "VALUES with rows of different length", "write as many values in each row"
        place = draft.text.place(values)
        raise draft.text.refused(place, label, hint, "NUM_COLUMNS_MISMATCH")
    names = tuple(f"col{n + 1}" for n in range(len(rows[0])))
    parts = tuple(Part((), (), tuple(cell.copy() for cell in row)) for row in rows)
    for cell in (cell for row in rows for cell in row):
        resolved(draft.text, (), cell)
    whole = Rows(names, parts)
    have = [draft.meant(draft.sql(Rows(names, (part,)))) for part in parts]
    return coerced(whole, have, draft.meant(draft.sql(whole)))


def _cells(row: exp.Expr) -> list[exp.Expr]:
    if isinstance(row, exp.Tuple):
        return list(row.expressions)
    return [row.this if isinstance(row, exp.Paren) else row]
