"""Outer, semi and anti joins: rows with a match, and all rows minus those with a match.

J1  Rows of the left side that have a match = left joined with M, where M has each match once. If what relates the sides
    is equalities, M is the distinct keys of the right side; on any other condition, the distinct values of the left
    side's part of it that found a match.
J2  left outer = inner + left padded with NULLs - left with a match, padded; right and full likewise.
J3  A NULL key equals nothing; `<=>` does compare NULLs. Of keys of different types several may equal one value of the
    left side ('1' and '01' equal 1): such an equality is as any other condition.
Knows items (items.py); what the condition says was resolved before. Paper: Gupta, Mumick 1995, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from sqlglot import exp

from rollview.views.aggregates import distinct
from rollview.views.draft import Draft, Part, Rows
from rollview.views.items import (
    MOST_PRODUCTS,
    Item,
    Ref,
    Source,
    columns_of,
    item_of,
    parts_of,
    stored,
)
from rollview.views.syntax import cast_to

EQUALS = (exp.EQ, exp.NullSafeEQ)
WHOLE = frozenset(["tinyint", "smallint", "int", "bigint"])
"""Types whose values are equal across types only if they are the same number."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Which left rows have a match: M as an item, and the conditions that relate the left side to it (J1).

    No left row is related to more than one row of M.
    """

    item: Item
    conditions: tuple[exp.Expr, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """An equality of the two sides."""

    left: exp.Expr
    right: exp.Expr
    kind: type[exp.Expr]


def conjuncts(conditions: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    """The conditions that are joined by AND."""
    for tree in conditions:
        while isinstance(tree, exp.Paren):
            tree = tree.this
        if isinstance(tree, exp.And):
            yield from conjuncts([tree.this, tree.expression])
        else:
            yield tree


def uses(tree: exp.Expr, refs: Sequence[Ref]) -> bool:
    """The tree has one of the references."""
    return any((c.table, c.name) in refs for c in tree.find_all(exp.Column))


@dataclass(frozen=True, slots=True)
class Relating:
    """What relates two sides, condition by condition."""

    pairs: tuple[Pair, ...]
    of_left: tuple[exp.Expr, ...]
    of_right: tuple[exp.Expr, ...]
    mixed: tuple[exp.Expr, ...]

    @property
    def keys(self) -> list[exp.Expr]:
        """The right side's part of the equalities; a constant if there is none, so that no rows show none."""
        return [p.right for p in self.pairs] or [exp.true()]

    @property
    def of_keys(self) -> list[exp.Expr]:
        """The conditions on the right side by itself: a NULL key equals nothing (J3)."""
        return [*self.of_right, *(known(p.right) for p in self.pairs if p.kind is exp.EQ)]

    def to(self, refs: Sequence[Ref]) -> tuple[exp.Expr, ...]:
        """The left side's rows that are related to keys with the given references."""
        equal = [
            p.kind(this=_operand(p.left), expression=ref)
            for p, ref in zip(self.pairs, columns_of(refs), strict=False)
        ]
        return (*equal, *self.of_left)


def is_over(tree: exp.Expr, refs: Sequence[Ref]) -> bool:
    """The tree has no other references."""
    return all((c.table, c.name) in refs for c in tree.find_all(exp.Column))


def relating(left: Sequence[Ref], right: Sequence[Ref], conditions: Sequence[exp.Expr]) -> Relating:
    """The conditions by what they are about."""
    pairs: list[Pair] = []
    of_left, of_right, mixed = [], [], []
    for tree in conjuncts(conditions):
        pair = _pair(tree, left, right)
        if pair is not None:
            pairs.append(pair)
        elif not uses(tree, right):
            of_left.append(tree)
        elif not uses(tree, left):
            of_right.append(tree)
        else:
            mixed.append(tree)
    return Relating(tuple(pairs), tuple(of_left), tuple(of_right), tuple(mixed))


def keyed(draft: Draft, left: Source, right: Source, how: Relating) -> Relating:
    """What relates the two sides, in which at most one key of the right side equals a value of the left (J3)."""
    if not how.pairs:
        return how
    ours = _kinds(draft, left, [p.left for p in how.pairs])
    theirs = _kinds(draft, right, [p.right for p in how.pairs])
    alike = [a == b or {a, b} <= WHOLE for a, b in zip(ours, theirs, strict=True)]
    pairs = tuple(p for p, same in zip(how.pairs, alike, strict=True) if same)
    others = [
        p.kind(this=_operand(p.left), expression=_operand(p.right))
        for p, same in zip(how.pairs, alike, strict=True)
        if not same
    ]
    return replace(how, pairs=pairs, mixed=(*how.mixed, *others))


def _kinds(draft: Draft, source: Source, trees: Sequence[exp.Expr]) -> list[str]:
    """The types of trees over a source; an engine is asked only where they are no columns."""
    part = parts_of(draft, source, (), trees)[0]
    relations = dict(part.inputs)
    found = [
        dict(draft.types(relations[tree.table])).get(tree.name, "")
        if isinstance(tree, exp.Column) and tree.table in relations
        else ""
        for tree in part.outputs
    ]
    return found if all(found) else draft.meant(draft.sql(Rows(_names(trees), (part,))))


def known(tree: exp.Expr) -> exp.Expr:
    """The tree is not NULL."""
    return exp.Not(this=exp.Is(this=_operand(tree), expression=exp.null()))


def matches(draft: Draft, left: Source, right: Source, conditions: Sequence[exp.Expr]) -> Matches:
    """The matches of the left side under the conditions (J1)."""
    related = keyed(draft, left, right, relating(left.refs, right.refs, conditions))
    if related.mixed:
        return _on_anything(draft, left, right, list(conjuncts(conditions)))
    item = distinct_item(draft, right, related.of_keys, related.keys)
    return Matches(item, related.to(item.refs))


def _pair(tree: exp.Expr, left: Sequence[Ref], right: Sequence[Ref]) -> Pair | None:
    if not isinstance(tree, EQUALS):
        return None
    a, b = tree.this, tree.expression
    for one, other in ((a, b), (b, a)):
        if (
            uses(one, left)
            and not uses(one, right)
            and uses(other, right)
            and not uses(other, left)
        ):
            return Pair(one, other, type(tree))
    return None


def _on_anything(
    draft: Draft, left: Source, right: Source, conditions: Sequence[exp.Expr]
) -> Matches:
    keys: list[exp.Expr] = []
    for tree in conditions:
        keys += [k for k in _own_parts(tree, left.refs, right.refs) if k not in keys]
    both = Source((*left.items, *right.items), (), (*left.conditions, *right.conditions))
    item = distinct_item(draft, both, conditions, keys)
    related = [
        exp.NullSafeEQ(this=_operand(key), expression=ref)
        for key, ref in zip(keys, columns_of(item.refs), strict=True)
    ]
    return Matches(item, tuple(related))


def _own_parts(tree: exp.Expr, own: Sequence[Ref], other: Sequence[Ref]) -> Iterator[exp.Expr]:
    """The largest subtrees over own references; inside a lambda, whose variables are nobody's, the references."""
    if not uses(tree, own):
        return
    if isinstance(tree, exp.Column) or (not uses(tree, other) and not _in_lambda(tree)):
        yield tree
    else:
        for child in tree.iter_expressions():
            yield from _own_parts(child, own, other)


def _in_lambda(tree: exp.Expr) -> bool:
    return tree.find_ancestor(exp.Lambda) is not None or isinstance(tree, exp.Lambda)


def _operand(tree: exp.Expr) -> exp.Expr:
    return tree.copy() if isinstance(tree, exp.Column) else exp.Paren(this=tree.copy())


def distinct_item(
    draft: Draft, source: Source, where: Sequence[exp.Expr], keys: Sequence[exp.Expr]
) -> Item:
    """The distinct values of the keys, as a block."""
    rows = Rows(tuple(f"k{n}" for n in range(len(keys))), parts_of(draft, source, where, keys))
    outputs = list(zip(rows.names, draft.meant(draft.sql(rows)), strict=True))
    relation = draft.hidden(
        ("distinct", draft.shape(rows)), lambda: distinct(draft, rows, outputs), outputs
    )
    query = source.items[-1].query
    return item_of(draft, "m", draft.reading(relation, "m"), query)


def semi(left: Source, found: Matches) -> Source:
    """The left rows that have a match."""
    items, conditions = (*left.items, found.item), (*left.conditions, *found.conditions)
    return replace(left, items=items, conditions=conditions)


def anti(draft: Draft, left: Source, found: Matches) -> Source:
    """The left rows that have no match."""
    left = fewer(draft, left, 2)
    rows = Rows(_names(left.refs), _unmatched(draft, left, found))
    return Source((Item(left.refs, rows, left.items[-1].query),), left.scope)


def _unmatched(draft: Draft, left: Source, found: Matches) -> tuple[Part, ...]:
    """All rows of the left side, minus those that have a match."""
    outputs = columns_of(left.refs)
    matched = parts_of(draft, semi(left, found), (), outputs)
    taken = tuple(replace(part, sign=-part.sign) for part in matched)
    return (*parts_of(draft, left, (), outputs), *taken)


def outer(
    draft: Draft,
    left: Source,
    right: Source,
    conditions: Sequence[exp.Expr],
    side: str,
    more: Sequence[tuple[Ref, exp.Expr]] = (),
) -> Item:
    """The one item of a LEFT, RIGHT or FULL join (J2): the references of both sides, and `more` made of them."""
    keep_left, keep_right = side in ("LEFT", "FULL"), side in ("RIGHT", "FULL")
    left, right = _simple(draft, left, right, keep_left, keep_right)
    refs = (*left.refs, *right.refs)
    both = Source((*left.items, *right.items), (), (*left.conditions, *right.conditions))
    parts = list(parts_of(draft, both, conditions, columns_of(refs)))
    if keep_left:
        found = matches(draft, left, right, conditions)
        nulls = _nulls(draft, right)
        parts += [replace(p, outputs=(*p.outputs, *nulls)) for p in _unmatched(draft, left, found)]
    if keep_right:
        found = matches(draft, right, left, conditions)
        nulls = _nulls(draft, left)
        parts += [replace(p, outputs=(*nulls, *p.outputs)) for p in _unmatched(draft, right, found)]
    whole = Item(refs, Rows(_names(refs), tuple(parts)), right.items[-1].query)
    if not more:
        return whole
    refs = (*refs, *(ref for ref, _ in more))
    outputs = [*columns_of(whole.refs), *(tree for _, tree in more)]
    return replace(
        whole,
        refs=refs,
        rows=Rows(_names(refs), parts_of(draft, Source((whole,), ()), (), outputs)),
    )


def looked_up(
    draft: Draft,
    left: Source,
    found: Matches,
    values: Sequence[tuple[exp.Expr, exp.Expr]],
    beside: Source | None = None,
) -> tuple[Source, list[Ref]]:
    """The left rows with further columns: (value with a match, value without one), and what they are called.

    `beside` are items that the values of a match are made of, one row for each row of M.
    """
    left = fewer(draft, left, 3)
    matched = semi(left, found)
    if beside is not None:
        matched = replace(
            matched,
            items=(*matched.items, *beside.items),
            conditions=(*matched.conditions, *beside.conditions),
        )
    outputs = [*columns_of(left.refs), *(v for v, _ in values)]
    parts = parts_of(draft, matched, (), outputs)
    return padded(draft, left, found, parts, [v for _, v in values])


def padded(
    draft: Draft, left: Source, found: Matches, parts: Sequence[Part], without: Sequence[exp.Expr]
) -> tuple[Source, list[Ref]]:
    """The left rows with further columns: `parts` for those with a match, the values `without` for the others."""
    refs = left.refs
    names = _names([*refs, *without])
    kinds = draft.meant(draft.sql(Rows(names, tuple(parts[:1]))))[len(refs) :]
    values = [_cast(v.copy(), kind) for v, kind in zip(without, kinds, strict=True)]
    rest = [replace(p, outputs=(*p.outputs, *values)) for p in _unmatched(draft, left, found)]
    item = item_of(draft, "l", Rows(names, (*parts, *rest)), left.items[-1].query)
    made = list(item.refs[len(refs) :])
    return replace(left, items=(replace(item, refs=(*refs, *made)),), conditions=()), made


def fewer(draft: Draft, source: Source, times: int) -> Source:
    """The source, stored if so many times its parts would be too many."""
    if times * prod(len(item.rows.parts) for item in source.items) <= MOST_PRODUCTS:
        return source
    rows = Rows(_names(source.refs), parts_of(draft, source, (), columns_of(source.refs)))
    item = stored(draft, Item(source.refs, rows, source.items[-1].query))
    return replace(source, items=(item,), conditions=())


def _simple(
    draft: Draft, left: Source, right: Source, keep_left: bool, keep_right: bool
) -> tuple[Source, Source]:
    """The two sides, stored if their join would otherwise have too many parts."""

    def parts(source: Source) -> int:
        return prod(len(item.rows.parts) for item in source.items)

    while True:
        one, other = parts(left), parts(right)
        if one * other + 2 * one * keep_left + 2 * other * keep_right <= MOST_PRODUCTS:
            return left, right
        if one >= other:
            left = collapsed(draft, left)
        else:
            right = collapsed(draft, right)


def collapsed(draft: Draft, source: Source) -> Source:
    """The source as one item with one part, of the columns that have names."""
    refs = tuple(dict.fromkeys((e.ref.table, e.ref.name) for e in source.scope))
    rows = Rows(_names(refs), parts_of(draft, source, (), columns_of(refs)))
    return Source((stored(draft, Item(refs, rows, source.items[-1].query)),), source.scope)


def _nulls(draft: Draft, source: Source) -> list[exp.Expr]:
    """A NULL for each reference, of its type."""
    rows = Rows(_names(source.refs), parts_of(draft, source, (), columns_of(source.refs)))
    kinds = draft.meant(draft.sql(rows))
    return [_cast(exp.null(), kind) for kind in kinds]


def _cast(tree: exp.Expr, kind: str) -> exp.Expr:
    return tree if kind == "void" else cast_to(tree, kind)


def _names(refs: Sequence[object]) -> tuple[str, ...]:
    return tuple(f"c{k}" for k in range(len(refs)))
