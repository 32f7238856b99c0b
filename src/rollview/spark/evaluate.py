"""Trees to rows: binds the leaves of a tree to DataFrames and lets Spark run the generated SQL.

E1  What runs is the text generated from the tree, never a user's text.
E2  Leaves are bound under names of their own, so that evaluations can go on side by side; where a query names relations
    themselves, one after the other.
E3  A broadcast is a Spark job of its own. Where a step would take many, of small tables, each table becomes one
    partition instead, and each term one task that joins its tables by hashing: one job, whatever the number.
E4  A union ends what Spark compiles into one piece: below it every row of a large table would be written out, only to
    be dropped by the join above. So a term over a table in parts becomes as many terms, each with one part.
Knows Spark and relations; not what a query is for. `jobs_of` counts the Spark jobs of a piece of work.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from threading import Lock
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame as Classic
from sqlglot import exp

from rollview.calculus.queries import LeafName, in_parts
from rollview.calculus.terms import AsOf, Changes, Factor, Timed
from rollview.changes import COUNT, STAMP, Csn
from rollview.sources.relation import Relation

Leaf = tuple[Factor, str, tuple[str, ...], int | None]
"""What a leaf is: factor, relation, columns; if a term asks for its own rows of a table, also the term."""

Place = tuple[int, int]
"""A term of a step, and an input of its join."""


_TURN = Lock()

MANY_LEAVES = 5
"""Above it, small tables are joined in one place (docs/decisions/017)."""


MOST_IN_PARTS = 2
"""Relations that are read in parts: each of them doubles the terms that read it."""

MOST_PARTITIONS = 1000
"""More than there are: a coalesce forgets the order of rows. Spark 4.2 cannot cache rows that were checkpointed in the
order of a column that they do not have any more; nor unite rows that were checkpointed and are not cached."""


@dataclass(slots=True)
class Leaves:
    """The leaves that a tree asked for, each under a name of its own; those at places `asked` are their term's own.

    `given`: by relation, the names of views that show their rows already.
    """

    asked: Collection[Place] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    prefix: str = field(default_factory=lambda: f"_rv_{uuid.uuid4().hex[:12]}")
    wanted: dict[Leaf, str] = field(default_factory=dict)

    def name(self, factor: Factor, relation: str, columns: tuple[str, ...]) -> str:
        """The name of a leaf; the same one for the same rows, whichever input reads them."""
        if relation in self.given:
            return self.given[relation]
        return self._named((_anywhere(factor), relation, columns, None))

    def of_term(self, number: int) -> LeafName:
        """The names of the leaves of one term."""

        def name(factor: Factor, relation: str, columns: tuple[str, ...]) -> str:
            if (number, factor.input) in self.asked:
                return self._named((factor, relation, columns, number))
            return self.name(factor, relation, columns)

        return name

    @property
    def read(self) -> list[tuple[Factor, str]]:
        """What is read of which relation."""
        return [(factor, relation) for factor, relation, *_ in self.wanted]

    def _named(self, key: Leaf) -> str:
        return self.wanted.setdefault(key, f"{self.prefix}_{len(self.wanted)}")


def _anywhere(factor: Factor) -> Factor:
    """The factor without its place in the join."""
    match factor:
        case Changes(_, lo, hi):
            return Changes(0, lo, hi)
        case AsOf(_, at):
            return AsOf(0, at)
        case Timed(_, lo, at):
            return Timed(0, lo, at)


def rows_of(relation: Relation, factor: Factor, columns: Sequence[str]) -> DataFrame:
    """The rows of a factor: the columns, the count and, where the factor is timed, the stamp."""
    match factor:
        case Changes(_, lo, hi):
            return relation.changes(lo, hi, columns)
        case AsOf(_, at):
            return relation.at(at, columns)
        case Timed(_, lo, at):
            return old(relation.at(lo, columns)).unionByName(relation.changes(lo, at, columns))


def parts_of(
    relation: Relation,
    factor: Factor,
    columns: Sequence[str],
    parts: Callable[[Csn, Sequence[str]], Sequence[DataFrame]] | None = None,
) -> list[DataFrame]:
    """The rows of a factor in at most two parts: one that may be large, and one that patches it (E4).

    `parts`: instead of the relation's own.
    """
    parts = parts or relation.parts
    match factor:
        case Changes():
            return [rows_of(relation, factor, columns)]
        case AsOf(_, at):
            first, *patches = parts(at, columns)
        case Timed(_, lo, at):
            first, *patches = map(old, parts(lo, columns))
            patches.append(relation.changes(lo, at, columns))
    return [first, reduce(DataFrame.unionByName, patches)] if patches else [first]


def old(rows: DataFrame) -> DataFrame:
    """Rows of before a step, with the stamp that says so."""
    return rows.withColumn(STAMP, F.lit(0).cast("bigint"))


def counted(rows: DataFrame) -> DataFrame:
    """Plain rows, each with the count 1."""
    return rows.withColumn(COUNT, F.lit(1).cast("bigint"))


def without_history(rows: DataFrame) -> DataFrame:
    """The rows, kept by Spark from their first use on, with their size but without what they were made of.

    Whoever asks for it unpersists it, and reads it behind a filter: Spark stops caching what a temporary view shows
    when the view is dropped.
    """
    return rows.coalesce(MOST_PARTITIONS).localCheckpoint(eager=False).persist()


def analysed(spark: SparkSession, text: str) -> DataFrame:
    """The DataFrame of a query without arguments: PySpark's `sql` makes four more calls into the JVM to say so."""
    return Classic(spark._jsparkSession.sql(text), spark)


def bound(
    spark: SparkSession, tree: exp.Expr, leaves: Mapping[str, DataFrame], copy: bool = True
) -> DataFrame:
    """The DataFrame of a tree whose leaves are given by name; without `copy`, of one that is not used again."""
    for name, rows in leaves.items():
        rows.createOrReplaceTempView(name)
    try:
        return analysed(spark, tree.sql(dialect="spark", copy=copy))
    finally:
        for name in leaves:
            spark.catalog.dropTempView(name)


def bound_in_turn(
    spark: SparkSession, tree: exp.Expr, leaves: Mapping[str, DataFrame]
) -> DataFrame:
    """The same for a query whose leaves are named after relations: another thread may mean another time (E2)."""
    with _TURN:
        return bound(spark, tree, leaves)


def evaluated(
    spark: SparkSession,
    tree: exp.Query,
    leaves: Leaves,
    relation: Callable[[str], Relation],
    asked: Mapping[Place, Sequence[DataFrame]],
    large: Sequence[str] = (),
    made: Mapping[str, DataFrame] = MappingProxyType({}),
) -> DataFrame:
    """The DataFrame of a tree over factors of relations; `asked`: in parts, what terms asked for already.

    `made`: by name, what is there already.
    `large`: the relations that are, the largest first. If none is, many are joined in one place (E3); else the largest
    are read in parts (E4).
    """
    frames: dict[str, DataFrame] = {}
    together = len(leaves.wanted) > MANY_LEAVES and not large
    for (factor, relation_name, columns, term), name in leaves.wanted.items():
        if term is not None:
            parts = list(asked[term, factor.input])
        elif relation_name in made:
            parts = [made[relation_name]]
        elif relation_name in large[:MOST_IN_PARTS]:
            parts = parts_of(relation(relation_name), factor, columns)
        else:
            parts = [rows_of(relation(relation_name), factor, columns)]
        if len(parts) > 1:
            names = [f"{name}_{n}" for n in range(len(parts))]
            tree = in_parts(tree, name, names)
            frames |= zip(names, parts, strict=True)
            continue
        (rows,) = parts
        if together:
            rows = rows.coalesce(1)
            rows = rows if isinstance(factor, Changes) else rows.hint("shuffle_hash")
        frames[name] = rows
    return bound(spark, tree, frames, copy=False)


@contextmanager
def jobs_of(spark: SparkSession) -> Iterator[Callable[[], int]]:
    """Counts the Spark jobs that are started inside; call the result for the number."""
    context = spark.sparkContext
    group = f"rollview-{uuid.uuid4().hex}"
    context.setJobGroup(group, "rollview")
    try:
        # PySpark's own way makes a list of them, at a call into the JVM for each.
        tracker = context.statusTracker()._jtracker
        yield lambda: len(tracker.getJobIdsForGroup(group))
    finally:
        context.setLocalProperty("spark.jobGroup.id", "")
