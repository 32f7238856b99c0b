"""Subqueries in expressions: EXISTS, IN and scalar ones, correlated or not, as joins with what they find.

Y1  A condition of WHERE that is EXISTS or IN is a semi join, its negation an anti join; anywhere else the row gets a
    column that says what the subquery found for it.
Y2  x IN (…) is unknown if nothing equals x and x or some value is NULL, unless there are no values at all. As in Spark
    neither x IN (…) nor x NOT IN (…) is true then, and neither is NULL: as values they are false.
Y3  A scalar subquery without rows is NULL; an aggregate over no rows is what Spark shows for none. More than one row
    is Spark's error, with the key that caused it.
Placeholders: selects.py. What relates subquery and row: correlation.py. Words: docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from rollview.views.correlation import Inner, check_reach, correlated, inner_of, related, ungrouped
from rollview.views.draft import Draft
from rollview.views.from_clause import Read
from rollview.views.grouping import aggregated
from rollview.views.groups import counted, grouped_item, over_nothing
from rollview.views.items import Source, columns_of
from rollview.views.names import Scope
from rollview.views.outer import (
    Matches,
    anti,
    conjuncts,
    is_over,
    keyed,
    looked_up,
    matches,
    relating,
    semi,
    uses,
)
from rollview.views.selects import Selected, holds_placeholder, placeholder, selected
from rollview.views.syntax import column, operand, unwrapped
from rollview.views.windows import limited, windowed

TOO_MANY = (
    "[SCALAR_SUBQUERY_TOO_MANY_ROWS] More than one row returned by a subquery used as an expression"
)


@dataclass(slots=True)
class Expansion:
    """A source that grows by what the subqueries in its expressions find."""

    draft: Draft
    read: Read
    source: Source
    scope: Scope
    queries: Mapping[str, exp.Expr]
    values: dict[str, exp.Expr] = field(default_factory=dict)

    def filtered(self, conditions: Sequence[exp.Expr]) -> tuple[exp.Expr, ...]:
        """The conditions that are left when EXISTS and IN became joins (Y1)."""
        whole = list(conjuncts(conditions))
        plain = [tree for tree in whole if not holds_placeholder(tree)]
        own = [tree for tree in plain if is_over(tree, self.source.refs)]
        self.source = replace(self.source, conditions=(*self.source.conditions, *own))
        left = [tree for tree in plain if not is_over(tree, self.source.refs)]
        for tree in whole:
            if holds_placeholder(tree) and not self._joined(tree):
                left.append(self.valued(tree))
        return tuple(left)

    def _joined(self, tree: exp.Expr) -> bool:
        """Make the condition a join, if it can be one."""
        bare, negated = tree, False
        while isinstance(bare, (exp.Not, exp.Paren)):
            negated ^= isinstance(bare, exp.Not)
            bare = bare.this
        found: list[Matches] = []
        if isinstance(bare, exp.Exists) and not self._always_rows(bare.this):
            found = [self._exists(bare)]
        elif isinstance(bare, exp.In) and self._finds_rows(bare):
            inner = self._inner_in(bare)
            found = [self._equal(bare, inner), *([self._unknown(bare, inner)] if negated else [])]
        for matched in found:
            left = self.source
            self.source = anti(self.draft, left, matched) if negated else semi(left, matched)
        return bool(found)

    def valued(self, tree: exp.Expr) -> exp.Expr:
        """The tree with references to what its subqueries find (Y1)."""
        holder = exp.Paren(this=tree.copy())
        pending = [holder.this]
        while pending:
            node = pending.pop()
            if isinstance(node, exp.Exists) and placeholder(node.this) is not None:
                node.replace(self._exists_value(node))
            elif isinstance(node, exp.In) and _asks(node) is not None:
                node.set("this", self.valued(node.this))
                node.replace(operand(self._in_value(node, unknown=_is_negated(node))))
            elif placeholder(node) is not None:
                node.replace(operand(self._scalar(node)))
            else:
                pending += list(node.iter_expressions())
        found: exp.Expr = holder.this
        return found.pop()

    def _query(self, node: exp.Expr) -> exp.Expr:
        name = placeholder(node)
        assert name is not None, "a subquery stands as a placeholder"
        return self.queries[name]

    def _select(self, node: exp.Expr) -> exp.Select | None:
        """The subquery, if it is a SELECT that makes groups."""
        select = unwrapped(self._query(node))
        groups = isinstance(select, exp.Select) and aggregated(select)
        return select if isinstance(select, exp.Select) and groups else None

    def _always_rows(self, node: exp.Expr) -> bool:
        """The subquery is an aggregate without GROUP BY: it has one row, unless HAVING takes it away."""
        select = self._select(node)
        return select is not None and not select.args.get("group")

    def _finds_rows(self, node: exp.In) -> bool:
        """IN (SELECT …), but not of a correlated aggregate without GROUP BY, which is a value."""
        asked = _asks(node)
        if asked is None or holds_placeholder(node.this):
            return False
        select = self._select(asked) if self._always_rows(asked) else None
        return select is None or not correlated(self.source, self.expanded(select))

    # --- what a subquery finds

    def expanded(self, select: exp.Select) -> Selected:
        """The subquery's SELECT, its own subqueries expanded."""
        found = selected(self.draft, select, self.read, self.scope)
        check_reach(self.draft, found)
        inside = Expansion(self.draft, self.read, found.source, found.scope, found.queries)
        where = inside.filtered(found.where)
        shown = tuple((name, inside.valued(tree)) for name, tree in found.projections)
        having = inside.valued(found.having) if found.having is not None else None
        return replace(found, source=inside.source, where=where, projections=shown, having=having)

    def _inner(self, node: exp.Expr) -> Inner:
        """The rows of the subquery at a placeholder."""
        query = self._query(node)
        select = unwrapped(query)
        if isinstance(select, exp.Select) and _only_asked(node, select):
            return self._uncut(query, select)
        return self.inner(query)

    def inner(self, query: exp.Expr) -> Inner:
        """The rows of a subquery."""
        select = unwrapped(query)
        if isinstance(select, exp.Select) and not limited(select) and not windowed(select):
            return self._uncut(query, select)
        if isinstance(select, exp.Select):
            self._check_alone(select)
        return inner_of(self.draft, query, self.read.rows(query))

    def _uncut(self, query: exp.Expr, select: exp.Select) -> Inner:
        found = self.expanded(select)
        if select.meta.get("numbered"):
            self._check_keys(select, found)
        distinct = bool(select.args.get("distinct"))
        if not aggregated(select) and not distinct:
            return Inner(found.source, found.where, found.outputs, found.names)
        if not correlated(self.source, found):
            return inner_of(self.draft, query, self.read.rows(query))
        if distinct and not aggregated(select):
            found = replace(found, keys=found.outputs)
        return ungrouped(self.draft, self.source, found)

    def _check_keys(self, select: exp.Select, found: Selected) -> None:
        """Refuse first rows (correlated_tops.py) by keys of which several may equal the row's value."""
        how = relating(self.source.refs, found.source.refs, found.where)
        if len(keyed(self.draft, self.source, found.source, how).pairs) < len(how.pairs):
            label = "LIMIT in a subquery that is related by columns of different types"
            hint = "CAST its own column to the type of the other"
            place = self.draft.text.place(select)
            raise self.draft.text.refused(place, label, hint, "SUBQUERY_EXPRESSION")

    def _check_alone(self, select: exp.Select) -> None:
        """Refuse LIMIT and windows in a subquery that reads something of the query around it."""
        bare = select.copy()
        bare.parent, bare.arg_key = select.parent, select.arg_key  # WITH names are found through it
        for part in ("order", "limit", "offset"):
            bare.set(part, None)
        plain = selected(self.draft, bare, self.read, self.scope)
        if correlated(self.source, plain):
            label = "LIMIT or a window in a correlated subquery"
            hint = "write MAX_BY or MIN_BY, or a window in a subquery in FROM"
            place = self.draft.text.place(select)
            raise self.draft.text.refused(place, label, hint, "SUBQUERY_EXPRESSION")

    def _exists(self, node: exp.Expr) -> Matches:
        inner = self._inner(node.this)
        return matches(self.draft, self.source, inner.source, inner.where)

    def _exists_value(self, node: exp.Exists) -> exp.Expr:
        if not self._always_rows(node.this):
            return self._flag(self._exists(node))
        select = self._select(node.this)
        if select is None or select.args.get("having") is None:
            return exp.true()
        found = self.expanded(select)
        assert found.having is not None, "it has a HAVING"
        kept = exp.Case(ifs=[exp.If(this=found.having, true=exp.true())], default=exp.false())
        return self._of_groups(replace(found, projections=((None, kept),), having=None))

    def _flag(self, found: Matches) -> exp.Expr:
        """A column that says whether the row has a match."""
        pair = (exp.true(), exp.false())
        self.source, (ref,) = looked_up(self.draft, self.source, found, [pair])
        return column(*ref)

    def _inner_in(self, node: exp.In) -> Inner:
        asked = _asks(node)
        assert asked is not None, "IN (SELECT …)"
        inner = self._inner(asked)
        operands = _operands(node.this)
        if len(operands) != len(inner.outputs):
            label = f"{len(operands)} values IN a subquery of {len(inner.outputs)} columns"
            place = self.draft.text.place(node)
            hint = "compare as many values as the subquery has columns"
            raise self.draft.text.refused(place, label, hint, "NUM_COLUMNS_MISMATCH")
        return inner

    def _equal(self, node: exp.In, inner: Inner) -> Matches:
        """What equals the operand."""
        conditions = [*inner.where, *_equalities(node, inner)]
        return matches(self.draft, self.source, inner.source, conditions)

    def _unknown(self, node: exp.In, inner: Inner) -> Matches:
        """What leaves it unknown whether something equals the operand (Y2)."""
        equal = _equalities(node, inner)
        how = relating(self.source.refs, inner.source.refs, inner.where)
        how = keyed(self.draft, self.source, inner.source, how)
        if len(equal) == 1 and not how.mixed and not uses(inner.outputs[0], self.source.refs):
            nulls = _more_than(0, _count_if(exp.Is(this=operand(inner.outputs[0].copy()),
                                                   expression=exp.null())))  # fmt: skip
            item = grouped_item(self.draft, inner.source, how.of_keys, how.keys, [nulls])
            missing = exp.Is(this=equal[0].this.copy(), expression=exp.null())
            either = exp.or_(column(*item.refs[-1]), missing)
            return Matches(item, (*how.to(item.refs), exp.Paren(this=either)))
        unknown = exp.Is(this=exp.Paren(this=exp.and_(*equal)), expression=exp.null())
        return matches(self.draft, self.source, inner.source, [*inner.where, unknown])

    def _in_value(self, node: exp.In, unknown: bool) -> exp.Expr:
        """True or false, and `unknown` where that is not known (Y2)."""
        asked = _asks(node)
        assert asked is not None, "IN (SELECT …)"
        if not self._finds_rows(node):
            same = exp.EQ(this=operand(node.this.copy()), expression=operand(self._scalar(asked)))
            return exp.Anonymous(this="COALESCE", expressions=[same, exp.convert(unknown)])
        inner = self._inner_in(node)
        found = self._flag(self._equal(node, inner))
        return exp.or_(found, self._flag(self._unknown(node, inner))) if unknown else found

    def _scalar(self, node: exp.Expr) -> exp.Expr:
        """The value of a subquery, once however often it stands there (Y3)."""
        name = placeholder(node)
        assert name is not None, "a subquery stands as a placeholder"
        if name not in self.values:
            select = self._select(node) if self._always_rows(node) else None
            found = self.expanded(select) if select is not None else None
            self.values[name] = self._of_groups(found) if found else self._of_rows(node)
        return self.values[name].copy()

    def _of_groups(self, found: Selected) -> exp.Expr:
        """The value of an aggregate without GROUP BY."""
        value = self._only(found.outputs)
        if found.having is not None:
            value = exp.Case(ifs=[exp.If(this=found.having.copy(), true=value.copy())])
        found = replace(found, projections=((None, value),), having=None)
        if not correlated(self.source, found):
            item = grouped_item(self.draft, found.source, found.where, (), found.outputs)
            self.source = replace(self.source, items=(*self.source.items, item))
            return column(*item.refs[-1])
        found, how = related(self.draft, self.source, found)
        item = grouped_item(self.draft, found.source, how.of_keys, how.keys, found.outputs)
        pair = (column(*item.refs[-1]), over_nothing(found.outputs[0]))
        matched = Matches(item, how.to(item.refs))
        self.source, (ref,) = looked_up(self.draft, self.source, matched, [pair])
        return column(*ref)

    def _of_rows(self, node: exp.Expr) -> exp.Expr:
        """The value of a subquery that may have any number of rows."""
        inner = self._inner(node)
        value = self._only(inner.outputs)
        plain = Selected(inner.source, (), ((None, value),), inner.where, (), None, {})
        grouped, how = related(self.draft, self.source, plain)
        several = _more_than(1, counted())
        item = grouped_item(self.draft, grouped.source, how.of_keys, how.keys, [several])
        *keys, many = columns_of(item.refs)
        error = exp.Anonymous(this="RAISE_ERROR", expressions=[_message(keys if how.pairs else [])])
        checked = exp.Case(ifs=[exp.If(this=many, true=error)], default=value.copy())
        beside = replace(inner.source, conditions=(*inner.source.conditions, *inner.where))
        matched = Matches(item, how.to(item.refs))
        pair = (checked, exp.null())
        self.source, (ref,) = looked_up(self.draft, self.source, matched, [pair], beside)
        return column(*ref)

    def _only(self, outputs: Sequence[exp.Expr]) -> exp.Expr:
        if len(outputs) == 1:
            return outputs[0]
        label = f"a subquery of {len(outputs)} columns as a value"
        place = self.draft.text.place(outputs[0]) if outputs else None
        raise self.draft.text.refused(place, label, "select one column", "NUM_COLUMNS_MISMATCH")


def _only_asked(node: exp.Expr, select: exp.Select) -> bool:
    """EXISTS asks only whether there are rows, which neither a window nor a LIMIT above 0 changes."""
    limit = select.args.get("limit")
    some = limit is None or limit.expression.name != "0"
    return isinstance(node.parent, exp.Exists) and some and not select.args.get("offset")


def _asks(node: exp.In) -> exp.Expr | None:
    """The placeholder of IN (SELECT …)."""
    first = node.expressions[0] if len(node.expressions) == 1 else None
    return first if first is not None and placeholder(first) is not None else None


def _is_negated(node: exp.Expr) -> bool:
    """Whether the condition around makes NOT IN of it, once every NOT stands at what it is about."""
    negated = False
    while isinstance(node.parent, (exp.Not, exp.And, exp.Or, exp.Paren)):
        node = node.parent
        negated ^= isinstance(node, exp.Not)
    return negated


def _equalities(node: exp.In, inner: Inner) -> list[exp.Expr]:
    operands = _operands(node.this)
    return [
        exp.EQ(this=operand(x.copy()), expression=operand(e.copy()))
        for x, e in zip(operands, inner.outputs, strict=True)
    ]


def _operands(tree: exp.Expr) -> list[exp.Expr]:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return list(tree.expressions) if isinstance(tree, exp.Tuple) else [tree]


def _count_if(condition: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="COUNT_IF", expressions=[condition])


def _more_than(number: int, count: exp.Expr) -> exp.Expr:
    return exp.GT(this=count, expression=exp.Literal.number(number))


def _message(keys: Sequence[exp.Expr]) -> exp.Expr:
    """Spark's words, with the key."""
    values = [exp.cast(key, "STRING") for key in keys]
    shown = [
        exp.Anonymous(this="COALESCE", expressions=[v, exp.Literal.string("NULL")]) for v in values
    ]
    words = f"{TOO_MANY}; key: " if keys else TOO_MANY
    pieces: list[exp.Expr] = [exp.Literal.string(words)]
    for number, piece in enumerate(shown):
        pieces += [exp.Literal.string(", "), piece] if number else [piece]
    return exp.Anonymous(this="CONCAT", expressions=pieces)
