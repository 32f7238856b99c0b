"""Queries to blocks: FROM, joins, subqueries and WITH are flattened; what does not flatten is stored.

W1  A select-project-join flattens into its reader. DISTINCT, GROUP BY and, inside a join, UNION ALL become blocks of
    their own, one each, however often they are read.
W2  Names and types of a block are those that Spark gives to the user's own query; the block's rows must have the same
    types, else the definition is refused.
The recursion over the tree is here; names are names.py's, grouping is grouping.py's and aggregates.py's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from rollview.views.aggregates import Grouped, distinct, reduced, rewritten
from rollview.views.blocks import Block
from rollview.views.draft import Bindings, Draft, Outputs, Part, Rows, coerced, substituted
from rollview.views.from_clause import Item, Source, from_source, row_condition
from rollview.views.grouping import aggregated, group_keys, having_of
from rollview.views.limits import RESERVED
from rollview.views.names import Scope, cte_of, resolved, starred, visible_ctes
from rollview.views.syntax import sql_of, unwrapped

MOST_INPUTS = 16
MOST_PARTS = 256

Projection = tuple[str | None, exp.Expr]
"""The name, if the expression has one of its own, and the expression over references."""


def block_of(draft: Draft, query: exp.Query, outputs: Outputs) -> tuple[Block, str]:
    """The block for a query, and its meaning as a query over base relations (W2)."""
    names = tuple(name for name, _ in outputs)
    block: Block
    match unwrapped(query):
        case exp.Select() as select if select.args.get("distinct"):
            rows = replace(_plain_rows(draft, select), names=names)
            block, sql = distinct(draft, rows, outputs)
        case exp.Select() as select if aggregated(select):
            block, sql = _reduce(draft, select, outputs)
        case other:
            rows = replace(rows_of(draft, other), names=names)
            block, sql = draft.union(rows, [kind for _, kind in outputs]), draft.sql(rows)
    meant = draft.meant(sql)
    if meant != [kind for _, kind in outputs]:
        label, hint = f"its types come out as {', '.join(meant)}", "name the types with CAST"
        raise draft.text.refused(draft.text.place(query), label, hint, "ANALYSIS_ERROR")
    return block, sql


def rows_of(draft: Draft, query: exp.Expr) -> Rows:
    """The rows of a query, flattened as far as possible (W1)."""
    query = unwrapped(query)
    match query:
        case exp.Union():
            return _union(draft, query)
        case exp.Select() if query.args.get("distinct"):
            return _stored(draft, "distinct", query, lambda o: block_of(draft, query, o))
        case exp.Select():
            return _plain_rows(draft, query)
        case _:
            hint = "write it with plain SELECT, JOIN, GROUP BY and UNION ALL"
            raise draft.text.refused(draft.text.place(query), query.key.upper(), hint)


def original_sql(query: exp.Expr) -> str:
    """The user's query as generated from the tree, with the WITH queries that it may read."""
    alone = query.copy()
    outer = visible_ctes(query)
    if outer and isinstance(alone, exp.Query):
        own = alone.args.get("with_")
        inner = own.expressions if own else []
        alone.set("with_", exp.With(expressions=[c.copy() for c in outer] + list(inner)))
    return sql_of(alone)


def _plain_rows(draft: Draft, select: exp.Select) -> Rows:
    """The rows of a SELECT before its DISTINCT."""
    if aggregated(select):
        return _stored(draft, "group", select, lambda o: _reduce(draft, select, o))
    source = _source(draft, select)
    projections = _projections(draft, source.scope, select)
    where = _where(draft, source.scope, select)
    parts = _parts(draft, source, where, [tree for _, tree in projections])
    return Rows(_named(draft, select, projections), parts)


def _named(draft: Draft, select: exp.Select, projections: Sequence[Projection]) -> tuple[str, ...]:
    names = [name for name, _ in projections]
    if None in names:
        names = [name for name, _ in draft.describe(original_sql(select))]
    return tuple(name or "" for name in names)


def _stored(
    draft: Draft, kind: str, query: exp.Expr, build: Callable[[Outputs], tuple[Block, str]]
) -> Rows:
    """The rows of a query that is a block of its own; built once (W1)."""
    relation = draft.stored.get((kind, id(query)))
    if relation is None:
        outputs = outputs_of(draft, query)
        block, sql = build(outputs)
        relation = draft.stored[kind, id(query)] = draft.add(block, sql, outputs)
    return draft.reading(relation, "q")


def outputs_of(draft: Draft, query: exp.Expr) -> Outputs:
    """Names and types that Spark gives to the user's own query (W2); it is asked only what is sound."""
    _check_columns(replace(draft, aliases=set()), query)
    outputs = draft.describe(original_sql(query))
    _check_outputs(draft, query, outputs)
    return outputs


def _check_columns(draft: Draft, query: exp.Expr) -> int:
    """Refuse what an engine would refuse without naming its place, or choke on. The number of columns."""
    match unwrapped(query):
        case exp.Union() as union:
            left, right = (_check_columns(draft, side) for side in (union.this, union.expression))
            _check_width(draft, union.expression, left, right)
            return left
        case exp.Select() as select if aggregated(select):
            return len(rewritten(draft.text, _grouped(draft, select)[0], ())[1])
        case exp.Select() as select:
            scope = _source(draft, select).scope
            _where(draft, scope, select)
            return len(_projections(draft, scope, select))
        case _:
            return 0


def _check_width(draft: Draft, side: exp.Expr, left: int, right: int) -> None:
    if left != right:
        label, hint = (
            f"UNION ALL of {left} and {right} columns",
            "select as many columns in each part",
        )
        raise draft.text.refused(draft.text.place(side), label, hint, "NUM_COLUMNS_MISMATCH")


def _check_outputs(draft: Draft, query: exp.Expr, outputs: Outputs) -> None:
    """Refuse columns that cannot be told apart, have no type, or have a name of rollview's own."""
    seen: set[str] = set()
    for position, (name, kind) in enumerate(outputs):
        place = draft.text.place(_select_item(query, len(outputs), position))
        if name.lower() in seen:
            hint = "give each column a name of its own with AS"
            raise draft.text.refused(place, f'two columns named "{name}"', hint, "DUPLICATE_COLUMN")
        if name.lower().startswith(RESERVED):
            hint = "choose another name"
            raise draft.text.refused(place, f'reserved name "{name}"', hint, "RESERVED_NAME")
        if kind == "void":
            hint = "name its type: CAST(NULL AS …)"
            raise draft.text.refused(place, f'column "{name}" has no type', hint, "VOID_TYPE")
        seen.add(name.lower())


def _select_item(query: exp.Expr, columns: int, position: int) -> exp.Expr:
    """The select item that makes the column, or the whole SELECT if stars are in it."""
    select = unwrapped(query)
    while isinstance(select, exp.Union):
        select = unwrapped(select.this)
    items = select.expressions if isinstance(select, exp.Select) else []
    return items[position] if len(items) == columns else select


def _union(draft: Draft, union: exp.Union) -> Rows:
    """UNION ALL: columns by position, in the types that Spark gives to the whole."""
    sides: list[exp.Expr] = []
    pending: list[exp.Expr] = [union]
    while pending:
        side = unwrapped(pending.pop())
        if isinstance(side, exp.Union) and side.args.get("with_") is None:
            pending += [side.expression, side.this]
        else:
            sides.append(side)
    rows = [rows_of(draft, side) for side in sides]
    for side, found in zip(sides, rows, strict=True):
        _check_width(draft, side, len(rows[0].names), len(found.names))
    whole = Rows(rows[0].names, tuple(part for found in rows for part in found.parts))
    if len(whole.parts) > MOST_PARTS:
        label, hint = (
            f"UNION ALL of {len(whole.parts)} parts",
            "unite some of them in a view of their own",
        )
        raise draft.text.refused(
            draft.text.place(union), label, hint, "NUM_JOINS_THRESHOLD_EXCEEDED"
        )
    unique = replace(whole, names=tuple(f"c{i}" for i in range(len(whole.names))))
    have = [draft.meant(draft.sql(replace(unique, parts=(part,)))) for part in whole.parts]
    return coerced(whole, have, draft.meant(draft.sql(unique)))


def _source(draft: Draft, select: exp.Select) -> Source:
    return from_source(draft, select, lambda query: rows_of(draft, query))


def _where(draft: Draft, scope: Scope, select: exp.Select) -> tuple[exp.Expr, ...]:
    where = select.args.get("where")
    return (row_condition(draft, scope, where.this),) if where is not None else ()


def _projections(draft: Draft, scope: Scope, select: exp.Select) -> list[Projection]:
    """The select list over references; stars are expanded, earlier aliases may be used later on."""
    found: list[Projection] = []
    aliases: dict[str, exp.Expr] = {}
    for node in select.expressions:
        if isinstance(node, exp.Star) or (
            isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
        ):
            found += [(e.name, e.ref.copy()) for e in starred(draft.text, scope, node)]
        elif isinstance(node, exp.Alias):
            tree = resolved(draft.text, scope, node.this, aliases)
            found.append((node.alias, tree))
            aliases[node.alias.lower()] = tree
        else:
            own = node.name if isinstance(node, exp.Column) else None
            found.append((own, resolved(draft.text, scope, node, aliases)))
    return found


def _parts(
    draft: Draft, source: Source, where: Sequence[exp.Expr], outputs: Sequence[exp.Expr]
) -> tuple[Part, ...]:
    """The parts of a select: one, or as many as its only item has (W1)."""
    items = source.items
    if len(items) > 1:
        items = tuple(_single(draft, item) for item in items)
    tables = max(
        sum(len(p.inputs) for p in parts)
        for parts in zip(*(i.rows.parts for i in items), strict=True)
    )
    if tables > MOST_INPUTS:
        label, hint = f"a join of {tables} tables", "join some of them in a view of their own"
        place = draft.text.place(items[-1].query)
        raise draft.text.refused(place, label, hint, "NUM_JOINS_THRESHOLD_EXCEEDED")
    parts = []
    for position in range(len(items[0].rows.parts)):
        chosen = [item.rows.parts[position] for item in items]
        bindings: Bindings = {
            (item.alias, key): tree
            for item, part in zip(items, chosen, strict=True)
            for key, tree in zip(item.keys, part.outputs, strict=True)
        }
        inner = [c for part in chosen for c in part.conditions]
        outer = [substituted(draft.text, c, bindings) for c in (*source.conditions, *where)]
        parts.append(
            Part(
                tuple(i for part in chosen for i in part.inputs),
                (*inner, *outer),
                tuple(substituted(draft.text, tree, bindings) for tree in outputs),
            )
        )
    return tuple(parts)


def _single(draft: Draft, item: Item) -> Item:
    """The item as one part: a UNION ALL inside a join is stored."""
    if len(item.rows.parts) == 1:
        return item
    query: exp.Expr = item.query
    if isinstance(query, exp.Table):
        cte = cte_of(query)
        assert cte is not None, "a relation has one part"
        query = cte.this

    def build(outputs: Outputs) -> tuple[Block, str]:
        rows = replace(item.rows, names=tuple(name for name, _ in outputs))
        return draft.union(rows, [kind for _, kind in outputs]), draft.sql(rows)

    return replace(item, rows=_stored(draft, "union", unwrapped(query), build))


def _grouped(draft: Draft, select: exp.Select) -> tuple[Grouped, Source, tuple[exp.Expr, ...]]:
    source = _source(draft, select)
    projections = _projections(draft, source.scope, select)
    keys = group_keys(draft.text, source.scope, select, projections)
    having = having_of(draft.text, source.scope, select, projections, keys)
    where = _where(draft, source.scope, select)
    return Grouped(tuple(keys), tuple(tree for _, tree in projections), having), source, where


def _reduce(draft: Draft, select: exp.Select, outputs: Outputs) -> tuple[Block, str]:
    grouped, source, where = _grouped(draft, select)
    return reduced(draft, grouped, outputs, lambda trees: _parts(draft, source, where, trees))
