"""FROM: tables, WITH queries, subqueries and joins, as items with references to their columns.

H1  What is joined by inner joins stays apart, item by item: their conditions are one list, beside those of WHERE.
    Other joins become one item (outer.py).
H2  A join USING shows each key once, before the other columns: the left side's, the right side's of a right join, the
    one that is there of a full join.
How queries inside FROM are read is given as functions (flatten.py's recursion, laterals.py). Words: docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.views.draft import Draft, Rows
from rollview.views.grouping import holds_aggregate
from rollview.views.items import Ref, Source, item_of
from rollview.views.names import Entry, Scope, cte_of, merged, resolved, shared_columns
from rollview.views.outer import anti, matches, outer, semi
from rollview.views.pivots import pivoted
from rollview.views.syntax import column, unwrapped
from rollview.views.tables import is_generator, lateral, nothing, values_rows


@dataclass(frozen=True, slots=True)
class Read:
    """How a query inside FROM is read: by itself, or as LATERAL, for each row of what stands before it."""

    rows: Callable[[exp.Expr], Rows]
    lateral: Callable[[Draft, Read, Source, exp.Join], Source]


def from_source(draft: Draft, select: exp.Select, read: Read) -> Source:
    """The FROM of a SELECT."""
    start = select.args.get("from_")
    if start is None:
        return nothing(select)
    source = _source(draft, start.this, read)
    for join in select.args.get("joins") or ():
        source = _joined(draft, source, join, read)
    for view in select.args.get("laterals") or ():
        source = lateral(draft, source, view)
    return source


def _source(draft: Draft, node: exp.Expr, read: Read) -> Source:
    """One FROM item: a table, a WITH query, a subquery, or a join in parentheses."""
    inner = node.this if isinstance(node, exp.Subquery) else node
    if isinstance(node, exp.Subquery) and not isinstance(unwrapped(inner), exp.Query):
        source = _source(draft, inner, read)
        if node.alias:
            scope = tuple(replace(e, qualifier=(node.alias.lower(),)) for e in source.scope)
            source = replace(source, scope=scope)
    elif isinstance(node, exp.Table) and "relation" in node.meta:
        relation = node.meta["relation"]
        qualifier = tuple(relation.lower().split("."))
        written = node.alias.lower()
        qualifier = qualifier if written == qualifier[-1] else (written,)
        source = _item(draft, node, draft.reading(relation, node.alias), qualifier)
    elif isinstance(node, exp.Values):
        source = _item(draft, node, values_rows(draft, node), (node.alias.lower(),))
    elif isinstance(node, exp.Table):
        cte = cte_of(node)
        assert cte is not None, "bind() leaves only relations and WITH names"
        rows = renamed(draft, cte, read.rows(cte.this))
        source = _item(draft, node, rows, (node.alias_or_name.lower(),))
    else:
        source = _item(draft, node, read.rows(inner), (node.alias.lower(),))
    for pivot in node.args.get("pivots") or ():
        source = pivoted(draft, source, pivot)
    for join in node.args.get("joins") or ():
        source = _joined(draft, source, join, read)
    return source


def renamed(draft: Draft, node: exp.Expr, rows: Rows) -> Rows:
    """The rows under the column names of an alias: `AS q(a, b)`."""
    alias = node.args.get("alias")
    columns = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    if not columns:
        return rows
    if len(columns) != len(rows.names):
        label = f"{len(columns)} names for {len(rows.names)} columns"
        raise draft.text.refused(draft.text.place(columns[0]), label, "name every column once")
    return replace(rows, names=tuple(c.name for c in columns))


def _item(draft: Draft, node: exp.Expr, rows: Rows, qualifier: tuple[str, ...]) -> Source:
    rows = renamed(draft, node, rows)
    item = item_of(draft, qualifier[-1], rows, node)
    scope = tuple(
        Entry(qualifier, name, column(*ref))
        for name, ref in zip(rows.names, item.refs, strict=True)
    )
    return Source((item,), scope)


def _joined(draft: Draft, left: Source, join: exp.Join, read: Read) -> Source:
    if isinstance(join.this, exp.Lateral):
        made = is_generator(join.this.this)
        return lateral(draft, left, join.this) if made else read.lateral(draft, read, left, join)
    right = _source(draft, join.this, read)
    check_twice(draft, left.scope, right.scope, join)
    side, kind = (str(join.args.get(part) or "").upper() for part in ("side", "kind"))
    side = side if kind not in ("SEMI", "ANTI") else ""
    using = join.args.get("using") or ()
    if join.args.get("method"):
        using = shared_columns(left.scope, right.scope)
    keys = [k if isinstance(k, exp.Identifier) else k.this for k in using]
    scope, both, conditions = _keyed(draft, left.scope, right.scope, keys, side)
    if not keys and join.args.get("on") is not None:
        conditions = [row_condition(draft, scope, join.args["on"])]
    if kind in ("SEMI", "ANTI"):
        shown = scope[: len(keys)]
        left = replace(left, scope=(*shown, *(e for e in left.scope if e not in shown)))
        found = matches(draft, left, right, conditions)
        return semi(left, found) if kind == "SEMI" else anti(draft, left, found)
    if side:
        return Source((outer(draft, left, right, conditions, side, both),), scope)
    return Source(
        (*left.items, *right.items), scope, (*left.conditions, *right.conditions, *conditions)
    )


def check_twice(draft: Draft, left: Scope, right: Scope, join: exp.Join) -> None:
    """Refuse a join of two tables of one name."""
    twice = {e.qualifier for e in left} & {e.qualifier for e in right if e.qualifier[-1]}
    if twice:
        name = ".".join(min(twice))
        hint = "give each of them an alias of its own"
        place = draft.text.place(join.this)
        raise draft.text.refused(
            place, f'two tables named "{name}" in FROM', hint, "AMBIGUOUS_REFERENCE"
        )


def _keyed(
    draft: Draft, left: Scope, right: Scope, keys: Sequence[exp.Identifier], side: str
) -> tuple[Scope, list[tuple[Ref, exp.Expr]], list[exp.Expr]]:
    """The scope of a join, of a full join the keys that are there of either side, and the conditions (H2)."""
    rest, pairs = merged(draft.text, left, right, keys)
    firsts, seconds = [a for a, _ in pairs], [b for _, b in pairs]
    conditions: list[exp.Expr] = [
        exp.EQ(this=a.ref.copy(), expression=b.ref.copy()) for a, b in pairs
    ]
    if side != "FULL":
        shown, other = (seconds, firsts) if side == "RIGHT" else (firsts, seconds)
        return (*shown, *rest, *(replace(e, visible=False) for e in other)), [], conditions
    alias = draft.alias("_using")
    both: list[tuple[Ref, exp.Expr]] = [
        (
            (alias, str(n)),
            exp.Anonymous(this="COALESCE", expressions=[a.ref.copy(), b.ref.copy()]),
        )
        for n, (a, b) in enumerate(pairs)
    ]
    either = [Entry(("",), a.name, column(alias, str(n))) for n, a in enumerate(firsts)]
    hidden = [replace(e, visible=False) for e in (*firsts, *seconds)]
    return (*either, *rest, *hidden), both, conditions


def row_condition(draft: Draft, scope: Scope, tree: exp.Expr) -> exp.Expr:
    """A condition of ON or WHERE over references."""
    if holds_aggregate(tree):
        hint = "write conditions on aggregates in HAVING"
        raise draft.text.refused(
            draft.text.place(tree), "aggregate in WHERE or ON", hint, "INVALID_WHERE_CONDITION"
        )
    return resolved(draft.text, scope, tree)
