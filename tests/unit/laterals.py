"""LATERAL VIEW in DuckDB's words, and what else DuckDB means differently: for the engine and for the oracle alike."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

SAME = {"SOME": "BOOL_OR", "TRY_SUM": "SUM", "XXHASH64": "HASH"}
"""Sums are the same as long as nothing overflows; of a hash it only matters that equal values have equal ones."""


def nodes(tree: exp.Expr) -> list[exp.Expr]:
    """All nodes, what is above first: `walk` without its generators, since every text of the engine is gone through."""
    found = [tree]
    for node in found:
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                found.append(value)
            elif isinstance(value, list):
                found += [v for v in value if isinstance(v, exp.Expr)]
    return found


def in_duck_words(tree: exp.Expr) -> exp.Expr:
    """The tree with DuckDB's lateral joins; no rows make no groups, as in Spark, also for the empty grouping set."""
    found = nodes(tree)
    for select in [node for node in found if isinstance(node, exp.Select)]:
        if _has_sets(select.args.get("group")):
            select.having("COUNT(*) > 0", copy=False)
        _keys_first(select)
    if [
        change
        for node in found
        for change in (_lateral(node), _within(node), _either(node))
        if change
    ]:
        found = nodes(tree)
    for call in found:
        _as_in_spark(call)
        if not isinstance(call, (exp.Grouping, exp.GroupingId, exp.Anonymous)):
            continue
        name = call.name.upper() if isinstance(call, exp.Anonymous) else call.key.upper()
        if name in SAME:
            call.set("this", SAME[name])
        if name.startswith("GROUPING") and not isinstance(call.parent, exp.Cast):
            call.replace(exp.cast(call.copy(), "TINYINT" if name == "GROUPING" else "BIGINT"))
    return tree


def _lateral(select: exp.Expr) -> bool:
    """LATERAL VIEWs as joins, in their place; whether there are any."""
    views = select.args.pop("laterals", None) if isinstance(select, exp.Select) else None
    for view in views or ():
        select.append("joins", _joined(view))
    return bool(views)


def _as_in_spark(call: exp.Expr) -> None:
    """The call, in its place, with Spark's value and type."""
    match call:
        case exp.ArrayUniqueAgg():
            _empty_list(call)
        case exp.In() if call.args.get("query"):
            _known(call)
        case exp.WithinGroup() if isinstance(call.this, exp.PercentileDisc):
            call.replace(exp.cast(call.copy(), "DOUBLE"))
        case exp.TsOrDsAdd():  # DATE_ADD
            call.replace(exp.cast(call.copy(), "DATE"))


def _keys_first(select: exp.Select) -> None:
    """The star of a semi or anti join USING with the keys first, as in Spark."""
    joins = [j for j in select.args.get("joins") or () if j.kind in ("SEMI", "ANTI")]
    keys = [key for join in joins for key in join.args.get("using") or ()]
    if keys and select.expressions == [exp.Star()]:
        star = exp.Star(except_=[key.copy() for key in keys])
        select.set("expressions", [*(exp.column(key.copy()) for key in keys), star])


def _empty_list(call: exp.Expr) -> None:
    """COLLECT_SET over nothing but NULLs is an empty list in Spark, and NULL in DuckDB."""
    while isinstance(call.parent, (exp.Filter, exp.Window)) and call.parent.this is call:
        call = call.parent
    call.replace(exp.Coalesce(this=call.copy(), expressions=[exp.Array(expressions=[])]))


def _known(call: exp.In) -> None:
    """IN (SELECT …) as a value: FALSE in Spark where DuckDB has NULL, and so is NOT IN."""
    negated, node = False, call
    while not isinstance(node.parent, exp.Select):
        node = node.parent
        negated ^= isinstance(node, exp.Not)
        if not isinstance(node, (exp.Not, exp.And, exp.Or, exp.Paren)):
            break
    while node.parent and not isinstance(node.parent, exp.Select):
        node = node.parent
    if node.arg_key == "expressions":
        call.replace(exp.Coalesce(this=exp.paren(call.copy()), expressions=[exp.convert(negated)]))


def _within(join: exp.Expr) -> bool:
    """ON of LEFT JOIN LATERAL in its query, for DuckDB 1.5, which knows comparisons only; whether there was one."""
    lateral = join.this if isinstance(join, exp.Join) else None
    on = join.args.get("on")
    if not isinstance(lateral, exp.Lateral) or join.side != "LEFT" or on in (None, exp.true()):
        return False
    inner = exp.Subquery(this=lateral.this.this, alias=lateral.args["alias"].copy())
    kept = exp.select(f'"{lateral.alias}".*', dialect="duckdb").from_(inner).where(on)
    lateral.set("this", exp.Subquery(this=kept))
    lateral.set("alias", exp.TableAlias(this=exp.to_identifier(lateral.alias, quoted=True)))
    join.set("on", exp.true())
    return True


def _either(call: exp.Expr) -> bool:
    """ANY as an aggregate, in its place; whether it is one."""
    if not isinstance(call, exp.Any) or not isinstance(call.this, exp.Paren):
        return False
    if isinstance(call.parent, exp.Like):
        return False
    call.replace(exp.LogicalOr(this=call.this.this.copy()))
    return True


def _has_sets(group: exp.Expr | None) -> bool:
    kinds = (exp.Rollup, exp.Cube, exp.GroupingSets)
    return group is not None and any(isinstance(node, kinds) for node in group.walk())


def _joined(view: exp.Lateral) -> exp.Join:
    call, names = view.this, [c.name for c in view.args["alias"].args.get("columns") or ()]
    name = call.name.upper() if isinstance(call, exp.Anonymous) else call.key.upper()
    argument = call.expressions[0] if isinstance(call, exp.Anonymous) else call.this
    x = argument.sql(dialect="duckdb")
    rows = {
        "INLINE": f"SELECT UNNEST({x}, max_depth := 2)",
        "POSEXPLODE": f"SELECT CAST(UNNEST(RANGE(LEN({x}))) AS INT), UNNEST({x})",
        "EXPLODE": f"SELECT UNNEST({x})"
        if len(names) < 2
        else f"SELECT UNNEST(MAP_KEYS({x})), UNNEST(MAP_VALUES({x}))",
    }[name]
    columns = ", ".join(f'"{n}"' for n in names or ["col"])
    how = "LEFT JOIN LATERAL" if view.args.get("outer") else "CROSS JOIN LATERAL"
    on = " ON TRUE" if view.args.get("outer") else ""
    alias = view.args["alias"].name or "_rv_lateral"
    text = f'SELECT 1 FROM t {how} ({rows}) AS "{alias}"({columns}){on}'
    return sqlglot.parse_one(text, dialect="duckdb").args["joins"][0]
