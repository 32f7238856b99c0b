"""FROM as items: what is joined, and the parts that come of it.

I1  A reference is a pair (alias, key); an item says for each of its references what it stands for, part by part.
    Items that were joined keep the references of both, so that a name found once stays found.
I2  A join of items with several parts has the product of their parts; where that is too many, the item with most
    parts is stored as a block of its own.
Knows neither SELECT nor names (flatten.py and names.py do). Words: docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from sqlglot import exp

from rollview.views.draft import Bindings, Draft, Generating, Part, Rows, substituted
from rollview.views.names import Scope
from rollview.views.syntax import column

MOST_INPUTS = 64
"""Relations of one join: a step has a term for each, and each term reads all of them."""
MOST_PRODUCTS = 12
"""Parts of a join before one of its items is stored: three left joins in a row would have 27."""

Ref = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Item:
    """A table, subquery or join in FROM; `refs` are what its rows' columns are called (I1)."""

    refs: tuple[Ref, ...]
    rows: Rows
    query: exp.Expr


@dataclass(frozen=True, slots=True)
class Source:
    """FROM: its items, what its columns are called, and the join conditions."""

    items: tuple[Item, ...]
    scope: Scope
    conditions: tuple[exp.Expr, ...] = ()

    @property
    def refs(self) -> tuple[Ref, ...]:
        """All references of all items."""
        return tuple(ref for item in self.items for ref in item.refs)


def item_of(draft: Draft, wish: str, rows: Rows, query: exp.Expr) -> Item:
    """Rows as an item under references of its own."""
    alias = draft.alias(f"_{wish}")
    return Item(tuple((alias, str(k)) for k in range(len(rows.names))), rows, query)


def columns_of(refs: Sequence[Ref]) -> list[exp.Expr]:
    """The references as trees."""
    return [column(alias, key) for alias, key in refs]


def generated(
    draft: Draft, source: Source, call: exp.Expr, names: Sequence[str], outer: bool
) -> tuple[Source, list[Ref]]:
    """The source with the columns that a call makes rows of, and the references to them."""
    refs = source.refs
    alias = draft.alias("e")
    plain = tuple(f"c{n}" for n in range(len(names)))
    parts = []
    for part in parts_of(draft, source, (), columns_of(refs)):
        bindings: Bindings = dict(zip(refs, part.outputs, strict=True))
        made = Generating(alias, substituted(draft.text, call, bindings), plain, outer)
        outputs = (*part.outputs, *(column(alias, name) for name in plain))
        parts.append(replace(part, outputs=outputs, generators=(*part.generators, made)))
    new = [(alias, str(n)) for n in range(len(names))]
    rows = Rows(tuple(f"c{n}" for n in range(len(refs) + len(names))), tuple(parts))
    item = Item((*refs, *new), rows, source.items[-1].query)
    return replace(source, items=(item,), conditions=()), new


def parts_of(
    draft: Draft, source: Source, where: Sequence[exp.Expr], outputs: Sequence[exp.Expr]
) -> tuple[Part, ...]:
    """The rows of a source that satisfy its own conditions and `where`, as parts (I2)."""
    items = _few(draft, source.items)
    parts = []
    for chosen in product(*(item.rows.parts for item in items)):
        _check_inputs(draft, items, sum(len(part.inputs) for part in chosen))
        bindings: Bindings = {
            ref: tree
            for item, part in zip(items, chosen, strict=True)
            for ref, tree in zip(item.refs, part.outputs, strict=True)
        }
        inner = [c for part in chosen for c in part.conditions]
        outer = [substituted(draft.text, c, bindings) for c in (*source.conditions, *where)]
        parts.append(
            Part(
                tuple(i for part in chosen for i in part.inputs),
                (*inner, *outer),
                tuple(substituted(draft.text, tree, bindings) for tree in outputs),
                prod(part.sign for part in chosen),
                tuple(g for part in chosen for g in part.generators),
            )
        )
    return tuple(parts)


def _check_inputs(draft: Draft, items: Sequence[Item], tables: int) -> None:
    if tables > MOST_INPUTS:
        label, hint = f"a join of {tables} tables", "join some of them in a view of their own"
        place = draft.text.place(items[-1].query)
        raise draft.text.refused(place, label, hint, "NUM_JOINS_THRESHOLD_EXCEEDED")


def _few(draft: Draft, items: Sequence[Item]) -> tuple[Item, ...]:
    """The items with at most MOST_PRODUCTS parts in their product (I2); an item alone is as it is."""
    found = list(items)
    while len(found) > 1 and prod(len(i.rows.parts) for i in found) > MOST_PRODUCTS:
        most = max(range(len(found)), key=lambda k: len(found[k].rows.parts))
        found[most] = stored(draft, found[most])
    return tuple(found)


def stored(draft: Draft, item: Item) -> Item:
    """The item as one part: its rows are a block."""
    if len(item.rows.parts) == 1:
        return item
    rows = replace(item.rows, names=tuple(f"c{k}" for k in range(len(item.refs))))
    types = draft.meant(draft.sql(rows))
    outputs = list(zip(rows.names, types, strict=True))
    relation = draft.hidden(
        ("union", draft.shape(rows)), lambda: (draft.union(rows, types), draft.sql(rows)), outputs
    )
    return replace(item, rows=draft.reading(relation, "q"))
