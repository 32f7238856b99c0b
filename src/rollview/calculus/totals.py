"""Totals: how large the sums of a Reduce can be at most, known without reading a row.

T1  A total is at most what it was before and, for every step since, the largest value in the step times the number of
    its stamps: a step has one row per key and stamp.
T2  A total that no type is too narrow for, neither its own nor one that it, a sum or a product of it is cast to, is
    shown without error, unless something is divided by it.
T3  A divisor that is no number, no COUNT(*), no NULLIF(x, 0), and not compared with 0 around the division, may be 0.
Numbers are whole, and away from zero where they must be rounded. Who reads them from files, and who looks at the groups
where a bound says too little: spark/overflows.py. Why: docs/decisions/023.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from sqlglot import exp

from rollview.calculus.queries import block_expression
from rollview.changes import COUNT, Csn
from rollview.views.blocks import Reduce

Largest = Mapping[str, int]
"""By sum: no value, or no total, is further from zero."""


@dataclass(frozen=True, slots=True)
class Known:
    """Of a block with folded rows of `version`: no total at `since` exceeds `largest`.

    `steps`: by id, the largest values of steps that came later.
    """

    version: int
    since: Csn
    largest: Largest | None
    steps: Mapping[str, Largest | None] = field(default_factory=dict)


DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
BITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}


@lru_cache(maxsize=1024)
def limits(block: Reduce) -> Largest:
    """By sum: the largest total that every type can hold in which it is kept or shown (T2). Doubles have no limit."""
    kinds = {s.name: s.type for s in block.sums}
    found = {name: most for name, kind in kinds.items() if (most := _most(kind)) is not None}
    for tree in _shown(block):
        for name in tree.find_all(exp.Column):
            if name.name in found:
                kind = kinds[name.name]
                further = _limits_of(name, found[name.name] if kind in BITS else None)
                found[name.name] = min([found[name.name], *further])
    return found


def _shown(block: Reduce) -> list[exp.Expr]:
    texts = [*(c.expr for c in block.columns), block.having, block.copies]
    return [block_expression(text) for text in texts if text]


def _limits_of(total: exp.Column, room: int | None) -> Iterator[int]:
    """What the total must not exceed for the casts, sums and products that it goes into.

    `room`: the largest number of its type; None for decimals, whose sums and products are wider.
    """
    node: exp.Expr = total
    times = 1
    while (above := node.parent) is not None:
        match above:
            case exp.If() if above.this is node:
                return  # a condition
            case exp.Cast():
                most = _most(above.to.sql(dialect="spark").lower())
                if most is None or above.args.get("safe"):  # TRY_CAST
                    return
                yield most // times
                room = None if above.to.is_type("decimal") else most
            case exp.Add() | exp.Sub() | exp.Mul():
                other = above.expression if above.this is node else above.this
                if other.find(exp.Div) or room is None:
                    return  # no overflow among doubles
                if isinstance(above, exp.Mul):
                    number = other.unnest()
                    if not (number.is_int and int(number.name)):
                        yield math.isqrt(room) // times
                        return
                    times *= int(number.name)
                else:
                    times *= 2
                yield room // times
            case exp.Paren() | exp.Case() | exp.If() | exp.Coalesce() | exp.Neg():
                pass
            case _:
                return
        node = above


@lru_cache(maxsize=1024)
def may_divide_by_zero(block: Reduce) -> bool:
    """Whether a group may be there that cannot be shown, however small its totals are (T3)."""
    return any(not _never_zero(*found) for tree in _shown(block) for found in _divisions(tree))


def _divisions(tree: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr, exp.Expr]]:
    """Each division, with what it divides by what."""
    for node in tree.find_all(exp.Div, exp.IntDiv, exp.Mod):
        yield node, node.this.unnest(), node.expression.unnest()
    for call in tree.find_all(exp.Anonymous):  # function calls stay as written
        if call.name.upper() in ("DIV", "MOD", "PMOD") and len(call.expressions) == 2:
            yield call, call.expressions[0].unnest(), call.expressions[1].unnest()


def _never_zero(division: exp.Expr, divided: exp.Expr, divisor: exp.Expr) -> bool:
    divisor = _without_casts(divisor)
    if isinstance(divisor, exp.Literal):
        return not _is_zero(divisor)
    if isinstance(divisor, exp.Anonymous) and divisor.name.upper() == "NULLIF":
        return _is_zero(divisor.expressions[1])
    if isinstance(divisor, exp.Column) and divisor.name == COUNT:
        return True
    # NULL / 0 is NULL: it serves as well if what is divided is NULL then.
    around = [*_cases_around(division), *([divided] if isinstance(divided, exp.Case) else [])]
    return any(_excludes_zero(case, divisor) for case in around)


def _cases_around(node: exp.Expr) -> Iterator[exp.Case]:
    """The CASEs of which the node is in the ELSE."""
    while (above := node.parent) is not None:
        if isinstance(above, exp.Case) and above.args.get("default") is node:
            yield above
        node = above


def _excludes_zero(case: exp.Case, divisor: exp.Expr) -> bool:
    conditions = (one.this for one in case.args["ifs"] if isinstance(one.args["true"], exp.Null))
    return any(isinstance(c, exp.EQ) and _is_zero(c.expression) and _without_casts(c.this) == divisor
               for c in conditions)  # fmt: skip


def _without_casts(tree: exp.Expr) -> exp.Expr:
    tree = tree.unnest()
    return _without_casts(tree.this) if isinstance(tree, exp.Cast) else tree


def _is_zero(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Literal) and not tree.is_string and float(tree.name) == 0


def _most(kind: str) -> int | None:
    """The largest whole number that the type can hold, with either sign."""
    sizes = DECIMAL.fullmatch(kind)
    if sizes is not None:
        return int(10 ** (int(sizes[1]) - int(sizes[2])) - 1)
    return int(2 ** BITS[kind] - 1) if kind in BITS else None


def bound(before: Largest | None, steps: Iterable[tuple[Largest | None, int]]) -> Largest | None:
    """What no total exceeds after the steps, given each one's largest values and number of stamps (T1).

    None, here and there: nothing is known.
    """
    if before is None:
        return None
    totals = dict(before)
    for largest, stamps in steps:
        if largest is None:
            return None
        totals = {name: total + largest[name] * stamps for name, total in totals.items()}
    return totals


def fits(totals: Largest | None, most: Largest) -> bool:
    """Whether no total can exceed its limit."""
    return totals is not None and all(totals[name] <= limit for name, limit in most.items())
