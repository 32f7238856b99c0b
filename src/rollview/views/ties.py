"""Ties: what Spark would answer by the order in which it happens to read is settled, or refused.

I1  After this a definition has one answer: an answer that Spark could give to the user's own query as well.
I2  What settles a tie is written into the tree, so that the blocks and the recompute of `verify` agree; a column keeps
    the name that Spark gave it before.
I3  An order that leaves ties is completed by what else the SELECT shows; rows that tie even then look the same.
Refused is what cannot be settled without another meaning, with the words to add.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.errors import ViewRefused
from rollview.views.draft import Draft
from rollview.views.flatten import outputs_of, scope_of
from rollview.views.grouping import ADDED_TO_CALL, aggregated, call_of, is_asked
from rollview.views.plain import window_function, windows_of
from rollview.views.syntax import Text, call_name, column, operand
from rollview.views.windows import limited, operands_of

LISTS = frozenset(["COLLECT_LIST", "COLLECT_SET", "ARRAY_AGG"])
TEXTS = frozenset(["LISTAGG", "STRING_AGG"])
UNORDERED = frozenset(["SIZE", "ARRAY_SIZE", "CARDINALITY", "ARRAY_MIN", "ARRAY_MAX"])
"""What may be asked of a list whose order is not known."""


def settle(draft: Draft, tree: exp.Query) -> None:
    """Settle every tie in the tree, in place; refuse those that cannot be settled (I1)."""
    for call in reversed(list(tree.find_all(exp.Anonymous))):  # inner queries first
        name = call_name(call)
        if name in LISTS:
            _check_list(draft.text, call, name)
        elif name in TEXTS:
            _settle_text(draft, call, name)
        elif name == "MODE":
            _check_mode(draft.text, call)
        elif name in ("MIN_BY", "MAX_BY") and len(call.expressions) == 2:
            _settle_extreme(draft, call)

    for query in reversed(list(tree.find_all(exp.Query))):
        if isinstance(query, exp.Select):
            for window in windows_of(query):
                _settle_window(draft, query, window)
        if limited(query):
            _settle_top(draft, query)


RANKS = frozenset(["RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST"])
NUMBERS = frozenset(["ROW_NUMBER", "NTILE", "LAG", "LEAD"])
FIRSTS = frozenset(["FIRST_VALUE", "FIRST"])
LASTS = frozenset(["LAST_VALUE", "LAST"])
IN_ORDER = frozenset(["COLLECT_LIST", "ARRAY_AGG"])
CHOICES = FIRSTS | LASTS | IN_ORDER | {"NTH_VALUE", "ANY_VALUE"}


def _settle_window(draft: Draft, select: exp.Select, window: exp.Window) -> None:
    """Complete the window's order where ties could show (I3); peers of a RANGE are one, and stay one."""
    name, spec = window_function(window), window.args.get("spec")
    rows = spec is not None and str(spec.args.get("kind")).upper() == "ROWS"
    chosen = name in CHOICES and not (name in IN_ORDER and _asked_in_any_order(window.this))
    if name in RANKS or not (rows or name in NUMBERS or chosen):
        return
    order = window.args.get("order")
    if order is None:
        if chosen or rows:
            hint = "add ORDER BY to the window, which says which row is meant"
            raise _tie(draft.text, window, f"{name} without an order", hint)
        return  # Spark refuses it
    if chosen and not rows and not _whole_partition(name, spec):
        argument = call_of(window.this).expressions[:1]
        if any(o.this in argument for o in order.expressions):
            return
        hint = "add ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW (or UNBOUNDED FOLLOWING)"
        raise _tie(draft.text, window, f"{name} over a RANGE", hint)
    keep_name(draft, window)
    known = [*(o.this for o in order.expressions), *(window.args.get("partition_by") or ())]
    for extra in _shown(draft, select):
        if extra not in known:
            order.append("expressions", exp.Ordered(this=extra.copy(), nulls_first=True))
            known.append(extra)


def _whole_partition(name: str, spec: exp.Expr | None) -> bool:
    """Whether the choice is the first or last of the partition, so that peers do not matter."""
    if spec is None:
        return name in FIRSTS
    start, end = spec.args.get("start"), spec.args.get("end")
    whole = (start == "UNBOUNDED", end == "UNBOUNDED")
    return whole[0] if name in FIRSTS else whole[1] if name in LASTS else all(whole)


def _shown(draft: Draft, select: exp.Select) -> list[exp.Expr]:
    """All that the SELECT's rows are made of: its operands, and what stars and subqueries may read."""
    operands = operands_of(select.expressions)
    found = [tree for tree in operands if tree.find(exp.Query) is None]
    asks = len(found) < len(operands) and not aggregated(select)
    if asks or any(
        isinstance(e.this if isinstance(e, exp.Column) else e, exp.Star) for e in select.expressions
    ):
        entries = [e for e in scope_of(draft, select) if e.visible]
        found += [column(e.qualifier[-1], e.name) for e in entries]
    return found


def _settle_top(draft: Draft, query: exp.Expr) -> None:
    """Complete the order of a top-N by every column, by position (I3)."""
    order, how = query.args["order"], {"nulls_first": True}
    columns = len(outputs_of(draft, query))
    if [o.this for o in order.expressions] == [exp.Var(this="ALL")]:
        (every,) = order.expressions
        how = {part: every.args.get(part) for part in ("desc", "nulls_first")}
        order.set("expressions", [])
    for position in range(1, columns + 1):
        place = exp.Literal.number(position)
        if all(o.this != place for o in order.expressions):
            order.append("expressions", exp.Ordered(this=place, **how))


def _around(call: exp.Expr) -> exp.Expr:
    """The call with FILTER and WITHIN GROUP."""
    while isinstance(call.parent, ADDED_TO_CALL) and call.parent.this is call:
        call = call.parent
    return call


def _check_list(text: Text, call: exp.Anonymous, name: str) -> None:
    whole = _around(call)
    ordered = isinstance(whole.parent, exp.Window) and name in IN_ORDER  # _settle_window's matter
    if not (ordered or _asked_in_any_order(whole)):
        hint = f"write SORT_ARRAY({name}(x)), which has one order"
        raise _tie(text, call, f"{name} without an order", hint)


def _asked_in_any_order(whole: exp.Expr) -> bool:
    """Of the list, with its window, only what does not depend on its order is asked."""
    if isinstance(whole.parent, exp.Window) and whole.parent.this is whole:
        whole = whole.parent
    above = whole.parent
    assert above is not None, "a call stands in a query"
    outer = call_name(above)
    sorted_whole = outer == "SORT_ARRAY" or (outer == "ARRAY_SORT" and len(above.expressions) == 1)
    return (sorted_whole or outer in UNORDERED) and above.expressions[0] is whole


def _settle_text(draft: Draft, call: exp.Anonymous, name: str) -> None:
    """Complete the order of a text by the values themselves (I3)."""
    order = call.parent.expression if isinstance(call.parent, exp.WithinGroup) else None
    first = call.expressions[0] if call.expressions else None
    if order is None or first is None:
        hint = f"write {name}(x, ',') WITHIN GROUP (ORDER BY …), which has one order"
        raise _tie(draft.text, call, f"{name} without an order", hint)
    value = first.expressions[0] if isinstance(first, exp.Distinct) else first
    if not any(o.this == value for o in order.expressions):
        keep_name(draft, call)
        order.append("expressions", exp.Ordered(this=value.copy(), nulls_first=True))


def _check_mode(text: Text, call: exp.Anonymous) -> None:
    if isinstance(call.parent, exp.WithinGroup):
        return
    chosen = call.expressions[1] if len(call.expressions) == 2 else None
    if not (isinstance(chosen, exp.Boolean) and chosen.this):
        hint = "write MODE(x, TRUE), which takes the least of the most frequent values"
        raise _tie(text, call, "MODE without a choice among ties", hint)


def _tie(text: Text, node: exp.Expr, label: str, hint: str) -> ViewRefused:
    return text.refused(text.place(node), label, hint, "NON_DETERMINISTIC_EXPRESSION")


def _settle_extreme(draft: Draft, call: exp.Anonymous) -> None:
    """MIN_BY(x, y): among equal y the least x, in MAX_BY the greatest; y that is NULL still does not count."""
    value, by = call.expressions
    inside = by.expressions if call_name(by) in ("STRUCT", "NAMED_STRUCT") else [by]
    if value in inside or isinstance(value, exp.Literal):
        return
    keep_name(draft, call)
    both = exp.Anonymous(this="STRUCT", expressions=[by.copy(), value.copy()])
    known = exp.Not(this=exp.Is(this=operand(by.copy()), expression=exp.null()))
    call.set("expressions", [value, exp.Case(ifs=[exp.If(this=known, true=both)])])


def keep_name(draft: Draft, node: exp.Expr) -> None:
    """Before `node` is changed: the column that it is part of gets its name written out (I2)."""
    item, select = node, node.parent
    while select is not None and not isinstance(select, exp.Select):
        item, select = select, select.parent
    if select is None or isinstance(item, exp.Alias) or not _is_item(select, item):
        return
    if is_asked(select):  # the name of a value is nobody's
        return
    names = [name for name, _ in outputs_of(draft, select)]
    if len(names) == len(select.expressions):
        position = next(k for k, e in enumerate(select.expressions) if e is item)
        alias = exp.Alias(alias=exp.to_identifier(names[position], quoted=True))
        item.replace(alias)
        alias.set("this", item)


def _is_item(select: exp.Select, item: exp.Expr) -> bool:
    return any(e is item for e in select.expressions)
