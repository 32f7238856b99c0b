"""Queries to blocks: FROM, joins, subqueries and WITH are flattened; what does not flatten is stored.

W1  A select-project-join flattens into its reader. DISTINCT, GROUP BY, windows and LIMIT become blocks of their own,
    one each, however often they are read.
W2  Names and types of a block are those that Spark gives to the user's own query; the block's rows must have the same
    types, else the definition is refused.
The recursion over the tree is here; names are names.py's, grouping is grouping.py's and aggregates.py's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from rollview.views.aggregates import Grouped, distinct, grouped_parts, reduced, rewritten
from rollview.views.blocks import Block
from rollview.views.draft import Bindings, Draft, Outputs, Part, Rows, coerced, substituted
from rollview.views.from_clause import Read, from_source
from rollview.views.grouping import aggregated, asks, asks_of_groups
from rollview.views.grouping_sets import has_sets
from rollview.views.groups import group_values, grouped_item, over_groups
from rollview.views.items import Source, parts_of
from rollview.views.laterals import lateral_join
from rollview.views.names import Scope, cte_of, visible_ctes
from rollview.views.outputs import check_names, check_outputs, check_width
from rollview.views.recursion import recursive_cte, recursive_rows, with_anchors
from rollview.views.selects import Projection, Selected, selected
from rollview.views.set_groups import parts_of_sets
from rollview.views.sets import reduced_sides
from rollview.views.subqueries import Expansion
from rollview.views.syntax import column, sql_of, unwrapped
from rollview.views.windows import (
    PartsOf,
    bounds_of,
    hidden_order,
    limited,
    order_of,
    top_block,
    window_block,
    windowed,
)

MOST_PARTS = 256


def block_of(draft: Draft, query: exp.Query, outputs: Outputs) -> tuple[Block, str]:
    """The block for a query, and its meaning as a query over base relations (W2)."""
    names = tuple(name for name, _ in outputs)
    block: Block
    match unwrapped(query):
        case exp.Query() as cut if limited(cut):
            block, sql = _top(draft, cut, outputs)
        case exp.Select() as select if select.args.get("distinct"):
            rows = replace(_plain_rows(draft, select), names=names)
            block, sql = distinct(draft, rows, outputs)
        case exp.Select() as select if windowed(select) or _window_below(select) is not None:
            block, sql = _windows(draft, select, outputs)
        case exp.Select() as select if aggregated(select) and not _split(select):
            block, sql = _reduce(draft, select, outputs)
        case exp.Union() as union if union.args.get("distinct") is not False:
            rows = _typed(draft, _united(draft, union), outputs)
            block, sql = distinct(draft, rows, outputs)
        case exp.Intersect() | exp.Except() as pair:
            left = _typed(draft, rows_of(draft, pair.this), outputs)
            right = _typed(draft, rows_of(draft, pair.expression), outputs)
            block, sql = reduced_sides(draft, pair, left, right, outputs)
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
        case exp.Query() if (cte := recursive_cte(query)) is not None:
            return recursive_rows(draft, cte, query, lambda inner: rows_of(draft, inner))
        case exp.Query() if limited(query):
            return _stored(draft, "top", query, lambda o: _top(draft, query, o))
        case exp.Union() if query.args.get("distinct") is False:
            return _union(draft, query)
        case exp.SetOperation():
            return _stored(draft, "set", query, lambda o: block_of(draft, query, o))
        case exp.Select() if query.args.get("distinct"):
            return _stored(draft, "distinct", query, lambda o: block_of(draft, query, o))
        case exp.Select():
            return _plain_rows(draft, query)
        case _:
            hint = "write it with SELECT, JOIN, GROUP BY and UNION"
            raise draft.text.refused(draft.text.place(query), query.key.upper(), hint)


def original_sql(query: exp.Expr) -> str:
    """The user's query as generated from the tree, with the WITH queries that it may read.

    Only its columns are asked for: of a recursive query the anchor tells them.
    """
    alone = query.copy()
    outer = visible_ctes(query)
    if outer and isinstance(alone, exp.Query):
        own = alone.args.get("with_")
        inner = own.expressions if own else []
        alone.set("with_", exp.With(expressions=[c.copy() for c in outer] + list(inner)))
    return sql_of(with_anchors(alone))


def _plain_rows(draft: Draft, select: exp.Select) -> Rows:
    """The rows of a SELECT before its DISTINCT."""
    if windowed(select) or _window_below(select) is not None:
        return _stored(draft, "window", select, lambda o: _windows(draft, select, o))
    if has_sets(select):
        return _of_sets(draft, select)
    if asks_of_groups(select):
        return _over_groups(draft, select)
    if aggregated(select):
        return _stored(draft, "group", select, lambda o: _reduce(draft, select, o))
    return _joined_rows(draft, select)


def _joined_rows(draft: Draft, select: exp.Select) -> Rows:
    """The rows of a select-project-join."""
    found, growing = _selected(draft, select)
    outputs = [growing.valued(tree) for tree in found.outputs]
    parts = parts_of(draft, growing.source, found.where, outputs)
    return Rows(_named(draft, select, found.projections), parts)


def _split(select: exp.Select) -> bool:
    """The groups of the SELECT are blocks of their own, which it reads."""
    return has_sets(select) or asks_of_groups(select)


def _of_sets(draft: Draft, select: exp.Select) -> Rows:
    """The rows of a SELECT with several grouping sets: the groups of each are a block."""
    found, growing = _selected(draft, select)
    if asks_of_groups(select):
        label, hint = (
            "a subquery about grouping sets",
            "group in a subquery in FROM, and ask outside",
        )
        raise draft.text.refused(draft.text.place(select), label, hint, "SUBQUERY_EXPRESSION")
    parts = parts_of_sets(draft, found, growing, found.outputs)
    return Rows(_named(draft, select, found.projections), parts)


def _over_groups(draft: Draft, select: exp.Select) -> Rows:
    """The rows of a SELECT that asks subqueries about its groups: the groups are a block, and are asked then."""
    found, growing = _selected(draft, select)
    keys = [growing.valued(key) for key in found.keys]
    having = [found.having] if found.having is not None else []
    values = group_values([*found.outputs, *having], keys)
    made = [growing.valued(value) for value in values]
    item = grouped_item(draft, growing.source, found.where, keys, made)
    meant = list(zip([*found.keys, *values], item.refs, strict=True))
    refs = {(k.table, k.name): ref for k, ref in meant if isinstance(k, exp.Column)}
    scope = tuple(
        replace(e, ref=column(*refs[e.ref.table, e.ref.name]))
        for e in found.scope
        if (e.ref.table, e.ref.name) in refs
    )
    asking = Expansion(draft, growing.read, Source((item,), scope), scope, found.queries)
    where = asking.filtered([over_groups(tree, meant) for tree in having])
    outputs = [asking.valued(over_groups(tree, meant)) for tree in found.outputs]
    return Rows(
        _named(draft, select, found.projections), parts_of(draft, asking.source, where, outputs)
    )


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
    names = _check_columns(replace(draft, aliases=set()), query)
    outputs = draft.describe(original_sql(query))
    check_outputs(draft, query, outputs)
    check_names(draft, query, names, outputs)
    return outputs


def _check_columns(draft: Draft, query: exp.Expr) -> tuple[str | None, ...]:
    """Refuse what an engine would refuse without naming its place, or choke on. The names of columns that have one."""
    match unwrapped(query):
        case exp.SetOperation() as pair:
            left, right = (_check_columns(draft, side) for side in (pair.this, pair.expression))
            check_width(draft, pair, len(left), len(right))
            return left
        case exp.Select() as select if aggregated(select) and not _split(select):
            return (None,) * len(rewritten(draft.text, _grouped(draft, select)[0], ())[1])
        case exp.Select() as select:
            return _check_select(draft, select).names
        case _:
            return ()


def _check_select(draft: Draft, select: exp.Select) -> Selected:
    found, growing = _selected(draft, select)
    if _split(select) and not windowed(select):
        _plain_rows(draft, select)
    else:
        for tree in found.outputs:
            growing.valued(tree)
    return found


def _union(draft: Draft, union: exp.Union) -> Rows:
    """UNION ALL: columns by position, in the types that Spark gives to the whole."""
    rows = [rows_of(draft, side) for side in _sides(union, every=True)]
    whole = Rows(rows[0].names, tuple(part for found in rows for part in found.parts))
    if len(whole.parts) > MOST_PARTS:
        label, hint = (
            f"UNION ALL of {len(whole.parts)} parts",
            "unite some of them in a view of their own",
        )
        raise draft.text.refused(
            draft.text.place(union), label, hint, "NUM_JOINS_THRESHOLD_EXCEEDED"
        )
    return _coerced(draft, whole)


def _sides(union: exp.Union, every: bool) -> list[exp.Expr]:
    """The queries that are united, through unions of unions; with `every`, only through UNION ALL."""
    sides: list[exp.Expr] = []
    pending: list[exp.Expr] = [union.expression, union.this]
    while pending:
        side = unwrapped(pending.pop())
        plain = isinstance(side, exp.Union) and (not every or side.args.get("distinct") is False)
        if plain and side.args.get("with_") is None and not limited(side):
            pending += [side.expression, side.this]
        else:
            sides.append(side)
    return sides


def _united(draft: Draft, union: exp.Union) -> Rows:
    """The rows of both sides of a UNION, before equal ones become one."""
    found = [rows_of(draft, side) for side in _sides(union, every=False)]
    return Rows(found[0].names, tuple(part for rows in found for part in rows.parts))


def _typed(draft: Draft, rows: Rows, outputs: Outputs) -> Rows:
    """The rows with the names and types of the outputs."""
    rows = replace(rows, names=tuple(name for name, _ in outputs))
    have = [draft.meant(draft.sql(replace(rows, parts=(part,)))) for part in rows.parts]
    return coerced(rows, have, [kind for _, kind in outputs])


def _coerced(draft: Draft, whole: Rows) -> Rows:
    """The rows with the types that Spark gives to all parts together."""
    unique = replace(whole, names=tuple(f"c{i}" for i in range(len(whole.names))))
    have = [draft.meant(draft.sql(replace(unique, parts=(part,)))) for part in whole.parts]
    return coerced(whole, have, draft.meant(draft.sql(unique)))


def scope_of(draft: Draft, select: exp.Select) -> Scope:
    """What the columns of the SELECT's FROM are called."""
    alone = replace(draft, aliases=set())
    return from_source(alone, select, _read(alone)).scope


def _read(draft: Draft) -> Read:
    return Read(lambda query: rows_of(draft, query), lateral_join)


def _selected(draft: Draft, select: exp.Select) -> tuple[Selected, Expansion]:
    """The SELECT over references, its conditions joined with what its subqueries find."""
    read = _read(draft)
    found = selected(draft, select, read)
    growing = Expansion(draft, read, found.source, found.scope, found.queries)
    where = growing.filtered(found.where)
    return replace(found, where=where), growing


def _grouped(draft: Draft, select: exp.Select) -> tuple[Grouped, Source, tuple[exp.Expr, ...]]:
    found, growing = _selected(draft, select)
    keys = tuple(growing.valued(key) for key in found.keys)
    outputs = tuple(growing.valued(tree) for tree in found.outputs)
    having = growing.valued(found.having) if found.having is not None else None
    return Grouped(keys, outputs, having), growing.source, found.where


def _reduce(draft: Draft, select: exp.Select, outputs: Outputs) -> tuple[Block, str]:
    grouped, source, where = _grouped(draft, select)
    return reduced(draft, grouped, outputs, lambda trees: parts_of(draft, source, where, trees))


def _windows(draft: Draft, select: exp.Select, outputs: Outputs) -> tuple[Block, str]:
    """The block for a SELECT with windows, or for a filter over one."""
    below = _window_below(select)
    if windowed(select) or below is None:
        projections, operands = _before_windows(draft, select)
        trees = [tree for _, tree in projections]
        return window_block(draft, outputs, trees, None, operands)
    projections, operands = _before_windows(draft, below)
    rows = Rows(
        _named(draft, below, projections), (Part((), (), tuple(t for _, t in projections)),)
    )
    found = selected(draft, select, Read(lambda _: rows, lateral_join))
    item = found.source.items[0]
    bindings: Bindings = dict(zip(item.refs, item.rows.parts[0].outputs, strict=True))
    trees = [substituted(draft.text, tree, bindings) for tree in found.outputs]
    where = [substituted(draft.text, c, bindings) for c in found.where]
    if not any(tree.find(exp.Window) for tree in (*trees, *where)):  # no window is read after all
        rows = replace(_joined_rows(draft, select), names=tuple(name for name, _ in outputs))
        return draft.union(rows, [kind for _, kind in outputs]), draft.sql(rows)
    return window_block(draft, outputs, trees, where[0] if where else None, operands)


def _before_windows(draft: Draft, select: exp.Select) -> tuple[list[Projection], PartsOf]:
    """The projections over references, and what computes their operands: FROM and WHERE, or groups."""
    found, growing = _selected(draft, select)
    if asks_of_groups(select):
        label, hint = "a subquery beside windows over groups", "group in a subquery in FROM"
        raise draft.text.refused(draft.text.place(select), label, hint, "SUBQUERY_EXPRESSION")
    projections = [(name, growing.valued(tree)) for name, tree in found.projections]
    keys = tuple(growing.valued(key) for key in found.keys)
    having = growing.valued(found.having) if found.having is not None else None

    def plain_parts(trees: Sequence[exp.Expr]) -> tuple[Part, ...]:
        return parts_of(draft, growing.source, found.where, trees)

    if has_sets(select):
        return projections, lambda trees: parts_of_sets(draft, found, growing, trees)
    if not aggregated(select):
        return projections, plain_parts
    return projections, lambda trees: grouped_parts(
        draft, Grouped(keys, tuple(trees), having), plain_parts
    )


def _window_below(select: exp.Select) -> exp.Select | None:
    """The SELECT with windows that this one filters and projects, if nobody else reads it."""
    start = select.args.get("from_")
    plain = not any(select.args.get(part) for part in ("joins", "laterals"))
    if start is None or not plain or aggregated(select) or windowed(select) or asks(select):
        return None
    node = start.this
    if node.args.get("joins"):
        return None
    if isinstance(node, exp.Table):
        cte = cte_of(node)
        if cte is None or not windowed(unwrapped(cte.this)):
            return None
        readers = [t for t in node.root().find_all(exp.Table) if cte_of(t) is cte]
        node = cte.this if len(readers) == 1 else node
    below = unwrapped(node)
    if not isinstance(below, exp.Select) or below.args.get("distinct") or limited(below):
        return None
    return below if windowed(below) else None


def _top(draft: Draft, query: exp.Query, outputs: Outputs) -> tuple[Block, str]:
    """The block for a query with ORDER BY and LIMIT; what it is ordered by is computed as a hidden column."""
    names = [name for name, _ in outputs]
    bounds = bounds_of(draft.text, query)
    cut = {part: query.args[part] for part in ("limit", "offset") if query.args.get(part)}
    order = query.args["order"]
    places = hidden_order(draft.text, query, names)
    shown = list(query.expressions)
    try:
        for part in (*cut, "order"):
            query.set(part, None)
        for name, tree in places.values():
            query.append("expressions", exp.alias_(tree, name, quoted=True))
        rows = replace(
            rows_of(draft, query), names=(*names, *(name for name, _ in places.values()))
        )
    finally:
        query.set("expressions", shown)
        query.set("order", order)
        for part, node in cut.items():
            query.set(part, node)
    columns = {position: name for position, (name, _) in places.items()}
    return top_block(draft, outputs, rows, order_of(draft.text, query, names, columns), bounds)
