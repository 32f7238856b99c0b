"""Products that several views share: the same relations, joined by the same equalities, over the same intervals.

D1  A term's rows are the rows of its core, filtered and projected: the core joins the term's factors by the equalities
    between their columns; what else the condition says comes after it.
D2  The rows of a core are changes like any others (columns, stamp, count), so that a term over a core is a term over
    one input. A view's own part of it is a Join with that one input.
Knows joins and expressions; not who computes a core, nor for how long it is kept (spark/products.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sqlglot import exp

from rollview.calculus.queries import block_expression, column, conjuncts, every
from rollview.views.blocks import Column, Input, Join
from rollview.views.syntax import quoted, sql_of

Place = tuple[int, str]
"""A column of an input: (position of the input, name of the column)."""
Columns = tuple[tuple[str, ...], ...]
"""For each input of a core, the columns that it carries."""

CORE = "_rv_core"


@dataclass(frozen=True, slots=True)
class Core:
    """What joins have in common that differ in their filters and columns."""

    relations: tuple[str, ...]
    equalities: frozenset[tuple[Place, Place]]


@lru_cache(maxsize=4096)
def core_of(join: Join) -> Core | None:
    """The core of a join; None if rows are made of its rows (EXPLODE), or if it has no input."""
    if join.generators or not join.inputs:
        return None
    equal, _ = _split(join)
    return Core(tuple(i.relation for i in join.inputs), frozenset(equal))


def columns_of(join: Join) -> Columns:
    """The columns that a join reads of each input."""
    return tuple(i.columns for i in join.inputs)


def shared(joins: Iterable[Join]) -> dict[Core, Columns]:
    """The cores of two or more of the joins, each with every column that one of them reads."""
    by_core: dict[Core, list[Join]] = {}
    for join in joins:
        core = core_of(join)
        if core is not None:
            by_core.setdefault(core, []).append(join)
    return {core: _read(found) for core, found in by_core.items() if len(found) > 1}


def _read(joins: Sequence[Join]) -> Columns:
    every_input = zip(*(join.inputs for join in joins), strict=True)
    return tuple(
        tuple(sorted({c for i in same for c in i.columns})) for same in every_input
    )  # fmt: skip


def core_join(core: Core, columns: Columns) -> Join:
    """The core as a join of its own; its columns are named after their places."""
    inputs = tuple(
        Input(_alias(k), relation, columns[k]) for k, relation in enumerate(core.relations)
    )
    equal = sorted(core.equalities)
    condition = every(
        exp.EQ(this=column(a, _alias(i)), expression=column(b, _alias(j)))
        for (i, a), (j, b) in equal
    )
    columns_of_core = tuple(
        Column(carried(k, name), f"{quoted(_alias(k))}.{quoted(name)}", "")
        for k, names in enumerate(columns)
        for name in names
    )
    return Join(inputs, sql_of(condition) if equal else None, columns_of_core)


@lru_cache(maxsize=4096)
def over_core(join: Join, relation: str, columns: Columns) -> Join:
    """The join's own part (D2): filter and columns, over the rows of its core, which are known as `relation`."""
    positions = {i.alias: k for k, i in enumerate(join.inputs)}
    names = tuple(carried(k, name) for k, some in enumerate(columns) for name in some)
    _, own = _split(join)
    condition = sql_of(_placed(every(own), positions)) if own else None
    shown = tuple(
        replace(c, expr=sql_of(_placed(block_expression(c.expr), positions))) for c in join.columns
    )
    return Join((Input(CORE, relation, names),), condition, shown, join.sign)


def _placed(tree: exp.Expr, positions: dict[str, int]) -> exp.Expr:
    """The expression over the columns of the core."""

    def placed(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.table in positions:
            return column(carried(positions[node.table], node.name), CORE)
        return node

    return tree.transform(placed, copy=False)


def _split(join: Join) -> tuple[list[tuple[Place, Place]], list[exp.Expr]]:
    """The equalities between columns of two inputs, and the rest of what must hold."""
    positions = {i.alias: k for k, i in enumerate(join.inputs)}
    equal: list[tuple[Place, Place]] = []
    rest: list[exp.Expr] = []
    for one in conjuncts(join):
        match one:
            case exp.EQ(this=exp.Column() as left, expression=exp.Column() as right) if (
                left.table != right.table and {left.table, right.table} <= positions.keys()
            ):
                first, second = sorted((positions[c.table], c.name) for c in (left, right))
                equal.append((first, second))
            case _:
                rest.append(one)
    return equal, rest


def _alias(position: int) -> str:
    return f"_rv_i{position}"


def carried(position: int, name: str) -> str:
    """The name of an input's column among those of its core."""
    return f"_rv_{position}_{name}"
