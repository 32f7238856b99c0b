"""Recursive WITH queries for a recompute: run level by level as they are written, since Spark has no UNION there.

Spark's own recursion also stops at a number of rows. The parts that run are those of the user's query, as generated
from its tree; nothing is shared with how a view is maintained (calculus/fixpoint.py).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sqlglot import exp

from rollview.calculus.queries import table
from rollview.spark.evaluate import bound_in_turn, without_history
from rollview.views.names import visible_ctes
from rollview.views.syntax import unwrapped


class Unrolled:
    """Queries over leaves, their recursive queries run first; a context manager: at its end what it kept goes."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._kept: list[DataFrame] = []

    def __enter__(self) -> Unrolled:
        """Nothing is kept yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let the rows go."""
        with suppress(Py4JError, OSError):  # a session that died took its memory with it
            for frame in self._kept:
                frame.unpersist()

    def rows(self, tree: exp.Expr, leaves: Mapping[str, DataFrame]) -> DataFrame:
        """The rows of a query."""
        known = dict(leaves)
        while (cte := _next(tree)) is not None:
            name = f"_rv_{uuid.uuid4().hex[:12]}"
            known[name] = self._settled(cte, known)
            cte.set("this", exp.select("*").from_(table(name, "_rv_r")))
        for queries in tree.find_all(exp.With):
            queries.set("recursive", None)
        return self._bound(tree, known)

    def _bound(self, query: exp.Expr, leaves: Mapping[str, DataFrame]) -> DataFrame:
        read = {leaf.name for leaf in query.find_all(exp.Table)}
        return bound_in_turn(
            self.spark, query, {name: rows for name, rows in leaves.items() if name in read}
        )

    def _keep(self, rows: DataFrame) -> DataFrame:
        self._kept.append(without_history(rows))
        return self._kept[-1].where(F.lit(True))

    def _settled(self, cte: exp.CTE, leaves: Mapping[str, DataFrame]) -> DataFrame:
        """All rows of one recursive query, level by level."""
        union, previous = unwrapped(cte.this), f"_rv_{uuid.uuid4().hex[:12]}"
        distinct = union.args.get("distinct") is not False
        for read in _own_reads(cte, union.expression):
            if not read.alias:
                read.set("alias", exp.TableAlias(this=exp.to_identifier(cte.alias, quoted=True)))
            read.set("this", exp.to_identifier(previous, quoted=True))
        anchor, step = _alone(union.this), _alone(union.expression)
        first = self._bound(anchor, leaves)
        names = [c.name for c in cte.args["alias"].args.get("columns") or ()] or first.columns
        first = first.toDF(*names)
        every = level = self._keep(first.distinct() if distinct else first)
        while not level.isEmpty():
            level = self._bound(step, {**leaves, previous: level}).toDF(*names)
            level = self._keep(level.distinct().subtract(every) if distinct else level)
            every = self._keep(every.unionAll(level))
        return every


def _next(tree: exp.Expr) -> exp.CTE | None:
    """A recursive query that neither holds nor may read another one that is still to be run."""
    waiting = [cte for cte in tree.find_all(exp.CTE) if any(_own_reads(cte, cte.this))]
    for cte in waiting:
        others = {id(c) for c in (*visible_ctes(cte.this), *cte.this.find_all(exp.CTE))}
        if not any(id(other) in others for other in waiting if other is not cte):
            return cte
    return None


def _own_reads(cte: exp.CTE, tree: exp.Expr) -> Iterator[exp.Table]:
    recursive = cte.parent is not None and cte.parent.args.get("recursive")
    for read in tree.find_all(exp.Table) if recursive else ():
        if read.name.lower() == cte.alias.lower() and not read.db:
            yield read


def _alone(part: exp.Expr) -> exp.Expr:
    """A part of a recursive query by itself, with the WITH queries that it may read."""
    query = unwrapped(part).copy()
    own = query.args.get("with_")
    readable = [c.copy() for c in visible_ctes(unwrapped(part))]
    readable += own.expressions if own is not None else []
    if readable:
        query.set("with_", exp.With(expressions=readable))
    return query
