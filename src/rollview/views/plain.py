"""Plain forms: what SQL can say in several ways is rewritten into the one way that the rest knows.

A window that is named in WINDOW is written where it is used. QUALIFY becomes a filter over a subquery. LIMIT after a
query in parentheses moves inside them, a subquery in ON of an inner join to WHERE. LIMIT needs an order, and an order
without LIMIT means nothing to a view. ANY and ALL are quantified.py's matter.
Changes the tree in place, before anything is looked up; knows trees only.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.views.grouping import call_of
from rollview.views.quantified import write_out
from rollview.views.syntax import Text, column, unwrapped
from rollview.views.windows import bounds_of

CUT = ("order", "limit", "offset")


def plain(text: Text, tree: exp.Query) -> None:
    """Rewrite the tree in place."""
    write_out(tree)
    for query in reversed(list(tree.find_all(exp.Query))):
        if isinstance(query, exp.Subquery):
            _move_inside(text, query)
        _check_cut(text, query)
        if isinstance(query, exp.Select):
            _ask_in_where(query)
            _write_out_windows(text, query)
            if query.args.get("qualify") is not None:
                _filter_outside(text, query)


def _move_inside(text: Text, query: exp.Subquery) -> None:
    inner = unwrapped(query)
    cut = [part for part in CUT if query.args.get(part) is not None]
    if not cut:
        return
    if any(inner.args.get(part) is not None for part in CUT):
        hint = "write the inner one as a subquery in FROM"
        raise text.refused(text.place(query), "LIMIT of a query with a LIMIT", hint)
    for part in cut:
        node = query.args[part]
        query.set(part, None)
        inner.set(part, node)


def _check_cut(text: Text, query: exp.Query) -> None:
    order = query.args.get("order")
    cut = query.args.get("limit") or query.args.get("offset")
    only_asked = isinstance(cut, exp.Limit) and isinstance(query.parent, exp.Exists)
    if cut is not None and order is None and not only_asked:
        word = "LIMIT" if isinstance(cut, exp.Limit) else "OFFSET"
        hint = (
            "add ORDER BY, which says which rows are meant; or drop it, and query the view with it"
        )
        raise text.refused(text.place(cut, word), f"{word} without ORDER BY", hint)
    if cut is not None:
        bounds_of(text, query)
    elif order is not None:
        hint = "leave it out; order belongs to the query that reads the view"
        raise text.refused(text.place(order, "ORDER"), "ORDER BY", hint, "OPERATOR_NOT_SUPPORTED")


def may_ask_in_where(join: exp.Join) -> bool:
    """The conditions of an inner join are as well in WHERE, unless a later join pads its rows with NULLs."""
    joins = join.parent.args.get("joins") or [] if isinstance(join.parent, exp.Select) else []
    after = joins[next((n for n, j in enumerate(joins) if j is join), len(joins)) :]
    sides = [str(j.args.get("side") or "").upper() for j in after]
    kind = str(join.args.get("kind") or "").upper()
    return sides[:1] == [""] and kind in ("", "INNER") and not {"RIGHT", "FULL"} & set(sides)


def _ask_in_where(select: exp.Select) -> None:
    """Conditions with subqueries move from ON to WHERE."""
    for join in select.args.get("joins") or ():
        on = join.args.get("on")
        if on is None or on.find(exp.Query) is None or not may_ask_in_where(join):
            continue
        whole = list(on.flatten()) if isinstance(on, exp.And) else [on]
        asking = [c for c in whole if c.find(exp.Query) is not None]
        rest = [c.copy() for c in whole if c.find(exp.Query) is None]
        join.set("on", exp.and_(*rest) if rest else exp.true())
        select.where(*(c.copy() for c in asking), copy=False)


def _write_out_windows(text: Text, select: exp.Select) -> None:
    known = {w.this.name.lower(): w for w in select.args.get("windows") or ()}
    select.set("windows", None)
    for window in select.find_all(exp.Window):
        name = window.alias.lower() if window.args.get("alias") is not None else ""
        if not name or window.find_ancestor(exp.Select) is not select:
            continue
        if name not in known:
            hint = f"define it: WINDOW {name} AS (…)"
            place = text.place(window)
            raise text.refused(place, f'there is no window "{name}"', hint, "MISSING_WINDOW")
        window.set("alias", None)
        for part in ("partition_by", "order", "spec"):
            meant = known[name].args.get(part)
            if meant and not window.args.get(part):
                window.set(
                    part, [p.copy() for p in meant] if isinstance(meant, list) else meant.copy()
                )


def _filter_outside(text: Text, select: exp.Select) -> None:
    """SELECT … QUALIFY c as SELECT * EXCEPT (q) FROM (SELECT …, c AS q) WHERE q."""
    name = "qualified"
    while name in text.sql.lower():
        name += "_"
    condition = select.args["qualify"].this.copy()
    aliases = {e.alias.lower(): e.this for e in select.expressions if isinstance(e, exp.Alias)}
    holder = exp.Paren(this=condition)
    for node in list(holder.find_all(exp.Column)):
        meant = aliases.get(node.name.lower()) if len(node.parts) == 1 else None
        if meant is not None:
            node.replace(exp.Paren(this=meant.copy()))
    inner = select.copy()
    for part in ("with_", "qualify", "distinct", *CUT):
        inner.set(part, None)
    inner.append("expressions", exp.alias_(holder, name, quoted=True))
    for part in ("expressions", "from_", "joins", "where", "group", "having", "qualify"):
        select.set(part, None)
    hidden = exp.Star(except_=[exp.to_identifier(name, quoted=True)])
    select.set("expressions", [hidden])
    alias = exp.TableAlias(this=exp.to_identifier(f"{name}_rows", quoted=True))
    select.set("from_", exp.From(this=exp.Subquery(this=inner, alias=alias)))
    select.set("where", exp.Where(this=column("", name)))


def windows_of(select: exp.Select) -> list[exp.Window]:
    """The windows of the SELECT itself, not of queries inside it."""
    return [
        w
        for e in select.expressions
        for w in e.find_all(exp.Window)
        if w.find_ancestor(exp.Select) is select
    ]


def window_function(window: exp.Window) -> str:
    """The name of the function that is called over the window."""
    return call_of(window.this).name.upper()
