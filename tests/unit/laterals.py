"""LATERAL VIEW in DuckDB's words, and what else DuckDB means differently: for the engine and for the oracle alike."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

OTHER_NAMES = {"SOME": "BOOL_OR", "TRY_SUM": "SUM", "XXHASH64": "HASH"}
"""DuckDB's SUM is the same as TRY_SUM as long as nothing overflows."""


def in_duck_words(tree: exp.Expr) -> exp.Expr:
    """The tree with DuckDB's lateral joins; no rows make no groups, as in Spark, also for the empty grouping set."""
    for select in list(tree.find_all(exp.Select)):
        for view in select.args.pop("laterals", None) or ():
            select.append("joins", _joined(view))
        if _has_sets(select.args.get("group")):
            select.having("COUNT(*) > 0", copy=False)
    for either in list(tree.find_all(exp.Any)):
        if isinstance(either.this, exp.Paren) and not isinstance(either.parent, exp.Like):
            either.replace(exp.LogicalOr(this=either.this.this.copy()))
    for call in tree.find_all(exp.Anonymous):
        call.set("this", OTHER_NAMES.get(call.name.upper(), call.this))
    for call in list(tree.find_all(exp.Grouping, exp.GroupingId, exp.Anonymous)):
        name = call.name.upper() if isinstance(call, exp.Anonymous) else call.key.upper()
        if name.startswith("GROUPING") and not isinstance(call.parent, exp.Cast):
            call.replace(exp.cast(call.copy(), "TINYINT" if name == "GROUPING" else "BIGINT"))
    return tree


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
