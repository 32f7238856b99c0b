"""Sums: what a Reduce adds up for an aggregate, and how the aggregate is shown from the sums.

U1  A sum is linear in the count, exact (doubles: see U3), never NULL, and 0 for no rows.
U2  What is shown equals Spark's own aggregate in ANSI mode: NULL without values, overflow raises; where BIGINTs
    overflow, the error is the one given. AVG of BIGINTs does not overflow.
U3  Doubles: values from 1e-6 to 1e15 are added as decimals, so that a value that comes and goes leaves no residue;
    other finite values as doubles; NaN and the infinities are counted. NaN = NaN, and NaN is above all else.
The generated text runs on Spark and, transpiled, on DuckDB. Knows types, not trees.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rollview.changes import COUNT
from rollview.views.blocks import Column
from rollview.views.syntax import quoted

C = quoted(COUNT)
SMALL = ("tinyint", "smallint", "int")
INFINITY = "CAST('Infinity' AS DOUBLE)"
MINUS_INFINITY = "CAST('-Infinity' AS DOUBLE)"
NAN = "CAST('NaN' AS DOUBLE)"
DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")


@dataclass(slots=True)
class Sums:
    """The sums of a Reduce; the same expression is added up once."""

    columns: list[Column] = field(default_factory=list)

    def add(self, expr: str, kind: str) -> str:
        """The quoted name of the sum of `expr`."""
        found = next((c for c in self.columns if c.expr == expr), None)
        if found is None:
            found = Column(f"_rv_s{len(self.columns)}", expr, kind)
            self.columns.append(found)
        return quoted(found.name)


def count_of(sums: Sums, arguments: list[str]) -> str:
    """COUNT(a, b): the rows in which no argument is NULL."""
    if not arguments:
        return C
    null = " OR ".join(f"{quoted(a)} IS NULL" for a in arguments)
    return sums.add(f"CASE WHEN {null} THEN CAST(0 AS BIGINT) ELSE {C} END", "bigint")


def sum_of(sums: Sums, argument: str, kind: str, error: str = "") -> str | None:
    """SUM(argument), for an argument of type `kind`; None if it is not of a type that can be added.

    `error`: a text in SQL, for a total that is no BIGINT (decision 023).
    """
    total = _total(sums, argument, kind)
    if total is not None and kind == "bigint":
        total = _as_bigint(total, error)
    if total is None:
        return None
    return f"CASE WHEN {count_of(sums, [argument])} = 0 THEN NULL ELSE {total} END"


def avg_of(sums: Sums, argument: str, kind: str) -> str | None:
    """AVG(argument), likewise."""
    n = count_of(sums, [argument])
    sizes = _decimal(kind)
    if sizes is not None:
        mean = _decimal_mean(sums, argument, *sizes, n)
    else:
        total = _total(sums, argument, kind)
        mean = total and f"CAST({total} AS DOUBLE) / CAST({n} AS DOUBLE)"
    return f"CASE WHEN {n} = 0 THEN NULL ELSE {mean} END" if mean else None


def _total(sums: Sums, argument: str, kind: str) -> str | None:
    """The sum of the values, of which there is at least one, in Spark's type for it; of BIGINTs as a decimal."""
    a = quoted(argument)
    if kind in SMALL:
        return sums.add(f"{C} * CAST(COALESCE({a}, 0) AS BIGINT)", "bigint")
    if kind == "bigint":
        product = f"CAST({C} AS DECIMAL(17, 0)) * CAST(COALESCE({a}, 0) AS DECIMAL(20, 0))"
        return sums.add(f"CAST({product} AS DECIMAL(38, 0))", "decimal(38,0)")
    if kind in ("float", "double", "string", "void"):
        return _double_total(sums, a if kind == "double" else f"CAST({a} AS DOUBLE)")
    sizes = _decimal(kind)
    if sizes is None:
        return None
    precision, scale = sizes
    total = _decimal_total(sums, a, precision, scale)
    return total and f"CAST({total} AS DECIMAL({min(38, precision + 10)}, {scale}))"


def _as_bigint(total: str, error: str) -> str:
    """The exact total as a BIGINT, or the error."""
    least, most = (f"CAST({value} AS DECIMAL(38, 0))" for value in (-(2**63), 2**63 - 1))
    cast = f"CAST({total} AS BIGINT)"
    if not error:
        return cast
    return f"CASE WHEN {total} BETWEEN {least} AND {most} THEN {cast} ELSE RAISE_ERROR({error}) END"


def _decimal(kind: str) -> tuple[int, int] | None:
    found = DECIMAL.fullmatch(kind)
    return (int(found[1]), int(found[2])) if found else None


def _decimal_total(sums: Sums, a: str, precision: int, scale: int) -> str | None:
    """The exact sum of decimals as DECIMAL(38, scale).

    Spark cuts a product's scale where its digits exceed 38, but never below 6; wide decimals of larger scale are
    therefore added in two sums, their integers and their fractions.
    """
    value = f"COALESCE({a}, CAST(0 AS DECIMAL({precision}, {scale})))"
    if precision <= 28 or scale <= 6:
        digits = min(18, 37 - precision) if precision <= 28 else 18
        product = f"CAST({C} AS DECIMAL({digits}, 0)) * {value}"
        return sums.add(f"CAST({product} AS DECIMAL(38, {scale}))", f"decimal(38,{scale})")
    if scale > 27:
        return None
    integer = f"CASE WHEN {value} < 0 THEN CEIL({value}) ELSE FLOOR({value}) END"
    fraction = f"CAST({value} % CAST(1 AS DECIMAL(1, 0)) AS DECIMAL({scale + 1}, {scale}))"
    integers = sums.add(
        f"CAST(CAST({C} AS DECIMAL(18, 0)) * ({integer}) AS DECIMAL(38, 0))", "decimal(38,0)"
    )
    fractions = sums.add(
        f"CAST(CAST({C} AS DECIMAL({36 - scale}, 0)) * {fraction} AS DECIMAL(38, {scale}))",
        f"decimal(38,{scale})",
    )
    return _put_together(integers, fractions, scale)


def _put_together(integers: str, fractions: str, scale: int) -> str:
    """The sum of both as DECIMAL(38, scale).

    Spark keeps a digit for the carry, at the cost of the last one of the scale; a sum that needs all digits is
    therefore added as a whole number and scaled by way of its text.
    """
    small = f"ABS({integers}) < CAST(1{'0' * (36 - scale)} AS DECIMAL(38, 0))"
    plain = f"CAST({integers} AS DECIMAL(37, {scale})) + CAST({fractions} AS DECIMAL(37, {scale}))"
    unit = f"CAST(1{'0' * scale} AS DECIMAL({scale + 1}, 0))"
    whole = " + ".join(f"CAST({part} * {unit} AS DECIMAL(38, 0))" for part in (integers, fractions))
    text = f"CONCAT(CAST({whole} AS STRING), 'E-{scale}')"
    return f"(CASE WHEN {small} THEN {plain} ELSE CAST({text} AS DECIMAL(38, {scale})) END)"


def _decimal_mean(sums: Sums, argument: str, precision: int, scale: int, n: str) -> str | None:
    """Spark's AVG of decimals: DECIMAL(p + 4, s + 4), rounded half up.

    A plain division keeps enough digits up to 24; beyond, the integer and the fraction of the quotient are
    computed apart: T / n = k + (T % n) / n.
    """
    total = _decimal_total(sums, quoted(argument), precision, scale)
    if total is None or (precision > 24 and scale > 22):
        return None
    kind = f"DECIMAL({min(38, precision + 4)}, {scale + 4})"
    rows = f"CAST({n} AS DECIMAL(20, 0))"
    total = f"CAST({total} AS DECIMAL({min(38, precision + 10)}, {scale}))"
    if precision <= 24:
        return f"CAST({total} / {rows} AS {kind})"
    rest = f"CAST({total} % {rows} AS DECIMAL({min(38, 12 + scale)}, {scale}))"
    fraction = f"{rest} / CAST({n} AS DECIMAL(12, 0))"
    integer = f"CAST({total} / {rows} - {fraction} AS DECIMAL({min(38, precision - scale + 1)}, 0))"
    wide = f"DECIMAL(37, {scale + 4})"
    return f"CAST(CAST({integer} AS {wide}) + CAST({fraction} AS {wide}) AS {kind})"


def _double_total(sums: Sums, x: str) -> str:
    """The sum of doubles (U3). Counts from a million on are multiplied with fewer digits than 16."""
    plain = f"{x} = 0 OR (ABS({x}) >= 1E-6 AND ABS({x}) < 1E15)"
    exact = f"CAST({C} AS DECIMAL(6, 0)) * CAST({x} AS DECIMAL(31, 16))"
    large = f"CAST({C} AS DECIMAL(12, 0)) * CAST({x} AS DECIMAL(31, 16))"
    decimals = sums.add(
        f"CASE WHEN NOT ({plain}) OR {x} IS NULL THEN CAST(0 AS DECIMAL(38, 16)) "
        f"WHEN ABS({C}) < 1000000 THEN CAST({exact} AS DECIMAL(38, 16)) "
        f"ELSE CAST({large} AS DECIMAL(38, 16)) END",
        "decimal(38,16)",
    )
    zero = "CAST(0 AS DOUBLE)"
    others = sums.add(
        f"CASE WHEN {plain} THEN {zero} WHEN ABS({x}) < {INFINITY} THEN CAST({C} AS DOUBLE) * {x} "
        f"ELSE {zero} END",
        "double",
    )
    nans, infinities, minus_infinities = (
        sums.add(f"CASE WHEN {x} = {value} THEN {C} ELSE CAST(0 AS BIGINT) END", "bigint")
        for value in (NAN, INFINITY, MINUS_INFINITY)
    )
    return (
        f"CASE WHEN {nans} > 0 OR ({infinities} > 0 AND {minus_infinities} > 0) THEN {NAN} "
        f"WHEN {infinities} > 0 THEN {INFINITY} WHEN {minus_infinities} > 0 THEN {MINUS_INFINITY} "
        f"ELSE CAST({decimals} AS DOUBLE) + {others} END"
    )
