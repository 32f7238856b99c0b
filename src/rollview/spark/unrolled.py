"""Recursive WITH queries for a recompute: run level by level as they are written, since Spark has no UNION there.

Spark's own recursion also stops at a number of rows. The parts that run are those of the user's query, as generated
from its tree; nothing is shared with how a view is maintained (calculus/fixpoint.py).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping

from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from rollview.spark.evaluate import bound
from rollview.views.names import visible_ctes
from rollview.views.syntax import unwrapped


def unrolled(spark: SparkSession, tree: exp.Expr, leaves: Mapping[str, DataFrame]) -> DataFrame:
    """The rows of a query over leaves, its recursive queries run first, one after the other."""
    known = dict(leaves)
    while (cte := _next(tree)) is not None:
        name = f"_rv_{uuid.uuid4().hex[:12]}"
        known[name] = _settled(spark, cte, known)
        cte.set("this", exp.select("*").from_(exp.to_identifier(name, quoted=True)))
    for queries in tree.find_all(exp.With):
        queries.set("recursive", None)
    return _rows(spark, tree, known)


def _rows(spark: SparkSession, query: exp.Expr, leaves: Mapping[str, DataFrame]) -> DataFrame:
    read = {table.name for table in query.find_all(exp.Table)}
    return bound(spark, query, {name: rows for name, rows in leaves.items() if name in read})


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
    for table in tree.find_all(exp.Table) if recursive else ():
        if table.name.lower() == cte.alias.lower() and not table.db:
            yield table


def _settled(spark: SparkSession, cte: exp.CTE, leaves: Mapping[str, DataFrame]) -> DataFrame:
    """All rows of one recursive query, level by level."""
    union, previous = unwrapped(cte.this), f"_rv_{uuid.uuid4().hex[:12]}"
    distinct = union.args.get("distinct") is not False
    for table in _own_reads(cte, union.expression):
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(cte.alias, quoted=True)))
        table.set("this", exp.to_identifier(previous, quoted=True))
    anchor, step = _alone(union.this), _alone(union.expression)
    first = _rows(spark, anchor, leaves)
    names = [c.name for c in cte.args["alias"].args.get("columns") or ()] or first.columns
    first = first.toDF(*names)
    every = level = (first.distinct() if distinct else first).localCheckpoint()
    while not level.isEmpty():
        level = _rows(spark, step, {**leaves, previous: level}).toDF(*names)
        level = (level.distinct().subtract(every) if distinct else level).localCheckpoint()
        every = every.unionAll(level).localCheckpoint()
    return every


def _alone(part: exp.Expr) -> exp.Expr:
    """A part of a recursive query by itself, with the WITH queries that it may read."""
    query = unwrapped(part).copy()
    own = query.args.get("with_")
    readable = [c.copy() for c in visible_ctes(unwrapped(part))]
    readable += own.expressions if own is not None else []
    if readable:
        query.set("with_", exp.With(expressions=readable))
    return query
