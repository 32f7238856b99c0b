"""ANY and ALL: a comparison with the rows of a subquery, in words that Spark runs.

U1  = ANY is IN and <> ALL is NOT IN. Any other ANY asks for the least or the greatest of the values, ALL is the
    negation of the opposite ANY.
U2  The answer is unknown if no value decides it and the operand or some value is NULL, unless there are no values at
    all. A condition that only keeps what is true need not ask for that.
Changes the tree in place, before anything is looked up; knows trees only.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.views.grouping import aggregated
from rollview.views.syntax import column, operand, unwrapped

OPPOSITE: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
}
EXTREMES: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.GT: ("least",),
    exp.GTE: ("least",),
    exp.LT: ("most",),
    exp.LTE: ("most",),
    exp.NEQ: ("least", "most"),
}
"""Which values decide ANY: if not these, then none."""


def is_quantified(node: exp.Expr) -> bool:
    """ANY or ALL of a subquery on the right of a comparison."""
    above = node.parent
    compared = type(above) in OPPOSITE and above is not None and above.args["expression"] is node
    return compared and isinstance(unwrapped(node.this), exp.Query)


def write_out(tree: exp.Expr) -> None:
    """Rewrite every comparison with ANY and ALL, in place; inner ones first."""
    for node in reversed(list(tree.find_all(exp.Any, exp.All))):
        if is_quantified(node):
            comparison = node.parent
            assert comparison is not None, "it is quantified"
            comparison.replace(exp.Paren(this=_written(comparison, node)))


def _written(comparison: exp.Expr, node: exp.Expr) -> exp.Expr:
    every = isinstance(node, exp.All)
    kind = OPPOSITE[type(comparison)] if every else type(comparison)
    only_true = not every and _keeps_what_is_true(comparison)
    found = _any(comparison.this, kind, unwrapped(node.this), only_true)
    return exp.Not(this=exp.Paren(this=found)) if every else found


def _keeps_what_is_true(node: exp.Expr) -> bool:
    """The node is a condition of WHERE, or one of several that are joined by AND."""
    above = node.parent
    while isinstance(above, (exp.And, exp.Paren)):
        above = above.parent
    return isinstance(above, exp.Where)


def _any(value: exp.Expr, kind: type[exp.Expr], query: exp.Expr, only_true: bool) -> exp.Expr:
    """value kind ANY (query), by U1 and U2."""
    if kind is exp.EQ:
        return exp.In(this=value.copy(), query=exp.Subquery(this=query.copy()))
    decided = exp.or_(
        *(
            kind(this=operand(value.copy()), expression=_asked(query, extreme))
            for extreme in EXTREMES[kind]
        )
    )
    if only_true:
        return decided
    rows, known = _asked(query, "all_rows"), _asked(query, "known")
    missing = exp.Is(this=operand(value.copy()), expression=exp.null())
    ifs = [
        exp.If(this=decided, true=exp.true()),
        exp.If(this=exp.EQ(this=rows, expression=exp.Literal.number(0)), true=exp.false()),
        exp.If(this=exp.or_(missing, exp.LT(this=known, expression=rows.copy())), true=exp.null()),
    ]
    return exp.Case(ifs=ifs, default=exp.false())


def _asked(query: exp.Expr, field: str) -> exp.Expr:
    """What is known of the query's one column: one subquery for all that is asked of it (selects.py)."""
    query = query.copy()
    if _is_plain(query):
        shown = query.expressions[0]
        query.set("expressions", [_facts(shown.this if isinstance(shown, exp.Alias) else shown)])
    else:
        name = exp.to_identifier("value", quoted=True)
        alias = exp.TableAlias(this=exp.to_identifier("asked", quoted=True), columns=[name])
        inner = exp.Subquery(this=query, alias=alias)
        query = exp.select(_facts(column("asked", "value"))).from_(inner)
    facts = exp.Subquery(this=query)
    return exp.Dot(this=facts, expression=exp.to_identifier(field, quoted=True))


def _facts(value: exp.Expr) -> exp.Expr:
    known = {
        "least": ("MIN", value),
        "most": ("MAX", value),
        "known": ("COUNT", value),
        "all_rows": ("COUNT", exp.Star()),
    }
    fields: list[exp.Expr] = []
    for name, (call, argument) in known.items():
        made = exp.Anonymous(this=call, expressions=[argument.copy()])
        fields += [exp.Literal.string(name), made]
    return exp.Anonymous(this="NAMED_STRUCT", expressions=fields)


def _is_plain(query: exp.Expr) -> bool:
    """A SELECT of one value without groups: an aggregate can take the place of the value."""
    if not isinstance(query, exp.Select) or len(query.expressions) != 1 or aggregated(query):
        return False
    shown = query.expressions[0]
    parts = ("limit", "offset", "order", "qualify", "distinct", "with_")
    cut = any(query.args.get(part) for part in parts)
    return not cut and shown.find(exp.Star, exp.Window, exp.Query) is None
