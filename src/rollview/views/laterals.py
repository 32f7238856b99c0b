"""LATERAL (SELECT …) in FROM: a join with what a query finds for each row of what stands before it.

E1  The tables of the query's own FROM are joined under its conditions; what it shows may be made of both sides, and is
    computed after the join. The parts of a UNION ALL are joined each by itself.
E2  An aggregate without GROUP BY has one row for every row before it, also over nothing, unless HAVING takes it away.
E3  LEFT JOIN pads with NULLs where no row is found or passes ON, whatever the query would show there.
What relates query and row: correlation.py; LIMIT: correlated_tops.py. Refused is what cannot leave its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.errors import ViewRefused
from rollview.views.correlation import Inner, correlated, related
from rollview.views.draft import Draft, Part, Rows, coerced, substituted
from rollview.views.from_clause import Read, check_twice, renamed, row_condition
from rollview.views.grouping import aggregated, is_aggregate
from rollview.views.groups import group_values, grouped_item, over_groups, over_nothing
from rollview.views.items import Ref, Source, columns_of, item_of, parts_of
from rollview.views.names import Entry, Scope
from rollview.views.outer import (
    Matches,
    distinct_item,
    fewer,
    looked_up,
    matches,
    padded,
    uses,
)
from rollview.views.selects import Selected
from rollview.views.subqueries import Expansion
from rollview.views.syntax import column, unwrapped
from rollview.views.windows import limited, windowed


@dataclass(frozen=True, slots=True)
class _Found:
    """What a query finds: `both`, the rows before it beside what it reads; `inner` is what may hold no row for them."""

    both: Source
    inner: Source | None
    where: tuple[exp.Expr, ...]
    outputs: tuple[exp.Expr, ...]
    names: tuple[str | None, ...]


def lateral_join(draft: Draft, read: Read, left: Source, join: exp.Join) -> Source:
    """The source with JOIN LATERAL (query) ON condition."""
    outer = str(join.args.get("side") or "").upper() == "LEFT"
    left = fewer(draft, left, 3) if outer else left
    _check_from(draft, left, join.this)
    found = [_found(draft, read, left, part) for part in _united(join.this.this)]
    _check_widths(draft, join, found)
    wanted = Rows(tuple(name or "" for name in found[0].names), ())
    names = renamed(draft, join.this, wanted).names
    qualifier = (join.this.alias.lower(),)

    def scope(refs: Sequence[Ref]) -> Scope:
        own = [Entry(qualifier, n, column(*ref)) for n, ref in zip(names, refs, strict=True)]
        return (*left.scope, *own)

    alias = draft.alias("_lateral")
    refs = [(alias, str(n)) for n in range(len(names))]
    check_twice(draft, left.scope, scope(refs)[len(left.scope) :], join)
    on = join.args.get("on")
    if on is not None and on != exp.true():
        condition = row_condition(draft, scope(refs), on)
        found = [_kept(draft, left, one, refs, condition) for one in found]
    source, made = (_padded if outer else _joined)(draft, left, found)
    return replace(source, scope=scope(made))


def _united(query: exp.Expr) -> list[exp.Expr]:
    """The parts of a UNION ALL, or the query."""
    union = unwrapped(query)
    plain = isinstance(union, exp.Union) and union.args.get("distinct") is False
    if not plain or limited(union) or union.args.get("with_") is not None:
        return [query]
    return [*_united(union.this), *_united(union.expression)]


def _kept(
    draft: Draft, left: Source, found: _Found, refs: Sequence[Ref], condition: exp.Expr
) -> _Found:
    """What is found and passes the condition, which is over `refs` for what is shown."""
    meant = {ref: column(*ref) for ref in left.refs} | dict(zip(refs, found.outputs, strict=True))
    return replace(found, where=(*found.where, substituted(draft.text, condition, meant)))


def _joined(draft: Draft, left: Source, found: Sequence[_Found]) -> tuple[Source, list[Ref]]:
    """The rows with what is found for them (E1)."""
    rows = _rows(draft, left, found)
    item = item_of(draft, "l", rows, found[-1].both.items[-1].query)
    made = item.refs[len(left.refs) :]
    return Source((replace(item, refs=(*left.refs, *made)),), ()), list(made)


def _padded(draft: Draft, left: Source, found: Sequence[_Found]) -> tuple[Source, list[Ref]]:
    """The same, and NULLs where nothing is found (E3)."""
    if len(found) == 1 and found[0].inner is None:
        return _joined(draft, left, [_or_nulls(found[0])])
    inner = found[0].inner if len(found) == 1 else None
    matched = matches(draft, left, inner, found[0].where) if inner else _any(draft, left, found)
    nulls = [exp.null() for _ in found[0].outputs]
    return padded(draft, left, matched, _rows(draft, left, found).parts, nulls)


def _or_nulls(found: _Found) -> _Found:
    """The one row that is found for every row, of NULLs where its conditions do not hold."""
    if not found.where:
        return found
    keep = exp.and_(*found.where)
    shown = [exp.Case(ifs=[exp.If(this=keep.copy(), true=v.copy())]) for v in found.outputs]
    return replace(found, where=(), outputs=tuple(shown))


def _any(draft: Draft, left: Source, found: Sequence[_Found]) -> Matches:
    """The rows for which any of several queries finds something, by what the queries read of them."""
    read = [ref for ref in left.refs if any(uses(c, [ref]) for one in found for c in one.where)]
    plain = all(one.inner is not None for one in found)  # else the lookup has read some already
    keys = columns_of(read if plain else left.refs) or [exp.true()]
    names = tuple(f"k{n}" for n in range(len(keys)))
    parts = tuple(p for one in found for p in parts_of(draft, one.both, one.where, keys))
    rows = item_of(draft, "a", Rows(names, parts), left.items[-1].query)
    item = distinct_item(draft, Source((rows,), ()), (), columns_of(rows.refs))
    pairs = zip(keys, columns_of(item.refs), strict=True)
    return Matches(item, tuple(exp.NullSafeEQ(this=a, expression=b) for a, b in pairs))


def _rows(draft: Draft, left: Source, found: Sequence[_Found]) -> Rows:
    """The columns of the rows before, and what is shown, in the types that Spark gives to all parts."""
    names = tuple(f"c{n}" for n in range(len(left.refs) + len(found[0].outputs)))
    parts: list[Part] = []
    for one in found:
        outputs = [*columns_of(left.refs), *one.outputs]
        parts += parts_of(draft, one.both, one.where, outputs)
    whole = Rows(names, tuple(parts))
    if len(found) == 1:
        return whole
    have = [draft.meant(draft.sql(Rows(names, (part,)))) for part in parts]
    return coerced(whole, have, draft.meant(draft.sql(whole)))


def _found(draft: Draft, read: Read, left: Source, query: exp.Expr) -> _Found:
    asking = Expansion(draft, read, left, left.scope, {})
    select = unwrapped(query)
    if isinstance(select, exp.SetOperation):
        _check_sides(draft, asking, select)
    elif isinstance(select, exp.Select) and aggregated(select) and not limited(select):
        groups = asking.expanded(select)
        if correlated(left, groups) and not windowed(select):
            _check_groups(draft, left, select, groups)
            if not groups.keys:
                return _one_row(draft, left, groups)
    return _beside(left, asking.inner(query))


def _beside(left: Source, inner: Inner) -> _Found:
    conditions = (*left.conditions, *inner.source.conditions)
    both = Source((*left.items, *inner.source.items), (), conditions)
    return _Found(both, inner.source, inner.where, inner.outputs, inner.names)


def _one_row(draft: Draft, left: Source, groups: Selected) -> _Found:
    """The row of an aggregate without GROUP BY: calls are looked up, what is made of them is computed after (E2)."""
    having = (groups.having,) if groups.having is not None else ()
    calls = group_values((*groups.outputs, *having), columns_of(left.refs))
    if not calls:
        return _Found(left, None, having, groups.outputs, groups.names)
    asked = replace(groups, projections=tuple((None, call) for call in calls), having=None)
    alone, how = related(draft, left, asked)
    item = grouped_item(draft, alone.source, how.of_keys, how.keys, alone.outputs)
    values = columns_of(item.refs[len(how.keys) :])
    pairs = [(value, over_nothing(call)) for value, call in zip(values, calls, strict=True)]
    source, refs = looked_up(draft, left, Matches(item, how.to(item.refs)), pairs)
    meant = list(zip(calls, refs, strict=True))
    outputs = tuple(over_groups(tree, meant) for tree in groups.outputs)
    kept = tuple(over_groups(tree, meant) for tree in having)
    return _Found(source, None, kept, outputs, groups.names)


def _check_groups(draft: Draft, left: Source, select: exp.Select, groups: Selected) -> None:
    """Refuse groups that are not one row for each key and row, or that Spark would refuse as well."""
    if groups.sets:
        label, hint = "grouping sets in a correlated LATERAL", "group by one list of keys"
        raise _refused(draft, select, label, hint)
    if groups.keys and select.args.get("distinct"):
        hint = "leave out DISTINCT, or write it in the query around"
        raise _refused(draft, select, "DISTINCT of groups in a correlated LATERAL", hint)
    having = [groups.having] if groups.having is not None else []
    calls = [n for tree in having for n in tree.walk() if is_aggregate(n)]
    for tree in (*groups.outputs, *groups.keys, *calls):
        if uses(tree, left.refs):
            label = "a column of the query around, in an aggregate of LATERAL or beside it"
            raise _refused(draft, tree, label, "read it in WHERE, and compute with it outside")


def _check_from(draft: Draft, left: Source, node: exp.Lateral) -> None:
    """Refuse what reads the row inside of the query's own FROM, where only its tables are known."""
    named = {
        n.alias_or_name.lower() for n in node.this.find_all(exp.Table, exp.Subquery, exp.Lateral)
    }
    around = {e.qualifier[-1] for e in left.scope} - named
    for place in (
        n for part in node.this.find_all(exp.From, exp.Join) for n in part.find_all(exp.Column)
    ):
        if place.table.lower() in around and place.table:
            label = f'a column of "{place.table}" inside FROM of a LATERAL query'
            hint = "write the condition in WHERE of the LATERAL query itself"
            raise _refused(draft, place, label, hint)


def _check_sides(draft: Draft, asking: Expansion, query: exp.SetOperation) -> None:
    """Refuse set operations of which a side reads the row."""
    pending: list[exp.Expr] = [query.this, query.expression]
    while pending:
        side = unwrapped(pending.pop())
        if isinstance(side, exp.SetOperation):
            pending += [side.this, side.expression]
        elif isinstance(side, exp.Select) and correlated(asking.source, asking.expanded(side)):
            label = f"{query.key.upper()} in a correlated LATERAL"
            raise _refused(draft, side, label, "write UNION ALL, or EXISTS and NOT EXISTS in WHERE")


def _check_widths(draft: Draft, join: exp.Join, found: Sequence[_Found]) -> None:
    widths = list(dict.fromkeys(len(one.outputs) for one in found))
    if len(widths) > 1:
        label = f"UNION ALL of {widths[0]} and {widths[1]} columns"
        place = draft.text.place(join.this)
        hint = "select as many columns in each part"
        raise draft.text.refused(place, label, hint, "NUM_COLUMNS_MISMATCH")


def _refused(draft: Draft, node: exp.Expr, label: str, hint: str) -> ViewRefused:
    return draft.text.refused(draft.text.place(node), label, hint, "SUBQUERY_EXPRESSION")
