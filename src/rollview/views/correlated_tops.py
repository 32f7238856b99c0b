"""The first rows for each row of the query around: LIMIT in a correlated subquery, as a filter over a window.

O1  (SELECT v FROM t WHERE t.k = outer.k ORDER BY o LIMIT n) is: the rows of t numbered by o in each partition by k,
    of those up to n the ones with the outer row's k. What is not related by equalities is refused.
O2  EXISTS asks only whether there are rows, so that LIMIT above 0 and its order mean nothing there.
O3  Columns keep their names, which the query around LATERAL reads; only the first rows are in the block.
Changes the tree in place, before ties are settled (ties.py completes the order of the window).
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rollview.views.draft import Draft
from rollview.views.flatten import scope_of
from rollview.views.grouping import aggregated, is_asked
from rollview.views.names import Scope, lookup, starred
from rollview.views.outer import conjuncts
from rollview.views.syntax import column, operand
from rollview.views.windows import bounds_of, limited, windowed

ROWS = "first rows"
"""The alias, and below the column names: with a space, so that no name of the user's is meant by them."""
PLACE = "row place"


def number_first_rows(draft: Draft, tree: exp.Query) -> None:
    """Rewrite every correlated subquery with LIMIT, in place; inner ones first (O1, O2)."""
    for select in reversed(list(tree.find_all(exp.Select))):
        if not limited(select) or not is_asked(select):
            continue
        if isinstance(select.parent, exp.Exists) and _some(draft, select):
            for part in ("order", "limit", "offset"):
                select.set(part, None)
        elif _reads_around(
            draft.scratch(), select
        ):  # the tree changes: what was made of it is stale
            _number(draft.scratch(), select)


def _some(draft: Draft, select: exp.Select) -> bool:
    return bounds_of(draft.text, select)[1] != 0 and not select.args.get("offset")


def _reads_around(draft: Draft, select: exp.Select) -> bool:
    scope = scope_of(draft, select)
    parts = [select.args.get(part) for part in ("where", "group", "having")]
    trees = [*select.expressions, *(part for part in parts if part is not None)]
    trees += [ordered.this for ordered in _order(select, _shown(select))]
    return any(not _own(draft, scope, tree) for tree in trees)


def _own(draft: Draft, scope: Scope, tree: exp.Expr) -> bool:
    """Every name in the tree is one of the query itself; what is asked inside of it is not looked at."""
    return all(lookup(draft.text, scope, node) is not None for node in _columns(tree))


def _foreign(draft: Draft, scope: Scope, tree: exp.Expr) -> bool:
    """Every name in the tree is one of the query around."""
    found = [lookup(draft.text, scope, node) is None for node in _columns(tree)]
    return bool(found) and all(found) and tree.find(exp.Query) is None


def _shown(select: exp.Select) -> list[exp.Expr]:
    return [item.this if isinstance(item, exp.Alias) else item for item in select.expressions]


def _columns(tree: exp.Expr) -> Iterator[exp.Column]:
    for node in tree.walk(prune=lambda n: isinstance(n, exp.Query)):
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            yield node


def _number(draft: Draft, select: exp.Select) -> None:
    """O1, in the place of the SELECT."""
    scope = scope_of(draft, select)
    _write_out_stars(draft, scope, select)
    where = select.args.get("where")
    keys: list[tuple[exp.Expr, exp.Expr]] = []
    rest: list[exp.Expr] = []
    related: list[exp.Expr] = []
    for condition in conjuncts([where.this] if where is not None else []):
        if _own(draft, scope, condition):
            rest.append(condition)
        elif _foreign(draft, scope, condition):
            related.append(condition.copy())
        else:
            keys.append(_key(draft, scope, select, condition))
    shown = _shown(select)
    read = [*shown, *(ordered.this for ordered in _order(select, shown))]
    odd = aggregated(select) or windowed(select) or select.args.get("distinct")
    if odd or not keys or not all(_own(draft, scope, tree) for tree in read):
        raise _refused(draft, select)
    related += [
        exp.EQ(this=column(ROWS, f"row key {n}"), expression=operand(outer.copy()))
        for n, (_, outer) in enumerate(keys)
    ]
    values: list[exp.Expr] = []
    for n, item in enumerate(select.expressions):
        value = column(ROWS, f"row value {n}")
        plain = isinstance(item, (exp.Alias, exp.Column))
        values.append(exp.alias_(value, item.alias_or_name, quoted=True) if plain else value)
    first = _first_rows(draft, select, shown, [own for own, _ in keys], rest)
    for part in list(select.args):
        select.set(part, None)
    select.set("expressions", values)
    select.meta["numbered"] = True
    _read_only(select, first, related)


def _first_rows(
    draft: Draft,
    select: exp.Select,
    shown: list[exp.Expr],
    keys: list[exp.Expr],
    where: list[exp.Expr],
) -> exp.Select:
    """The rows that are kept of each partition; the filter is next to the window, and so part of its block (O3)."""
    number = exp.Window(
        this=exp.Anonymous(this="ROW_NUMBER"),
        partition_by=[own.copy() for own in keys],
        order=exp.Order(expressions=_order(select, shown)),
        over="OVER",
    )
    named = {f"row value {n}": tree for n, tree in enumerate(shown)}
    named |= {f"row key {n}": own for n, own in enumerate(keys)}
    inner = select.copy()
    numbered = {**named, PLACE: number}
    inner.set("expressions", [exp.alias_(t.copy(), n, quoted=True) for n, t in numbered.items()])
    inner.set("where", exp.Where(this=exp.and_(*where)) if where else None)
    for part in ("order", "limit", "offset"):
        inner.set(part, None)
    skipped, last = bounds_of(draft.text, select)
    kept: list[exp.Expr] = [
        exp.GT(this=column(ROWS, PLACE), expression=exp.Literal.number(skipped))
    ]
    if last is not None:
        upto = exp.LTE(this=column(ROWS, PLACE), expression=exp.Literal.number(last))
        kept = [*kept, upto] if skipped else [upto]
    first = exp.Select(expressions=[column(ROWS, name) for name in named])
    _read_only(first, inner, kept)
    return first


def _read_only(select: exp.Select, inner: exp.Select, where: list[exp.Expr]) -> None:
    """The SELECT reads the inner one, and nothing else."""
    alias = exp.TableAlias(this=exp.to_identifier(ROWS, quoted=True))
    select.set("from_", exp.From(this=exp.Subquery(this=inner, alias=alias)))
    select.set("where", exp.Where(this=exp.and_(*where)))


def _write_out_stars(draft: Draft, scope: Scope, select: exp.Select) -> None:
    """Stars as the columns that they stand for."""
    items: list[exp.Expr] = []
    for item in select.expressions:
        if isinstance(item.this if isinstance(item, exp.Column) else item, exp.Star):
            entries = starred(draft.text, scope, item)
            items += [column(e.qualifier[-1], e.name) for e in entries]
        else:
            items.append(item)
    select.set("expressions", items)


def _key(
    draft: Draft, scope: Scope, select: exp.Select, condition: exp.Expr
) -> tuple[exp.Expr, exp.Expr]:
    """Own and outer side of an equality."""
    if isinstance(condition, exp.EQ) and condition.find(exp.Query) is None:
        sides = (condition.this, condition.expression)
        for own, outer in (sides, sides[::-1]):
            if _foreign(draft, scope, outer) and _own(draft, scope, own):
                return own, outer
    raise _refused(draft, select)


def _order(select: exp.Select, shown: list[exp.Expr]) -> list[exp.Expr]:
    """ORDER BY with the expressions that positions and names stand for."""
    aliases = {e.alias.lower(): e.this for e in select.expressions if isinstance(e, exp.Alias)}
    found = []
    order = select.args.get("order")
    for ordered in order.expressions if order is not None else ():
        made, tree = ordered.copy(), ordered.this
        if tree == exp.Var(this="ALL"):
            for item in shown:
                made.set("this", item.copy())
                found.append(made.copy())
            continue
        if isinstance(tree, exp.Literal) and tree.name.isdigit() and int(tree.name) <= len(shown):
            made.set("this", shown[int(tree.name) - 1].copy())
        elif isinstance(tree, exp.Column) and len(tree.parts) == 1:
            made.set("this", aliases.get(tree.name.lower(), tree).copy())
        found.append(made)
    return found


def _refused(draft: Draft, select: exp.Select) -> Exception:
    label = "LIMIT in a correlated subquery"
    hint = "relate it by equalities in WHERE, and only there; or write MAX_BY or MIN_BY"
    place = draft.text.place(select)
    return draft.text.refused(place, label, hint, "SUBQUERY_EXPRESSION")
