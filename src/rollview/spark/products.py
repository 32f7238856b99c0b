"""Products: what the terms of a step have in common before filters and columns, made once and read like changes.

B6  The product of a small step is made on the driver (fetched.py), all terms of a join in one. Else the views of a
    round that have a core in common share one product for each term, which Spark makes and keeps.
B7  A product is made by the first view of a round that needs it, from the terms of its own step; a view whose terms are
    of other times makes another one. It is kept until the round is over; only small ones are: SHARED_ROWS changed rows.
What a product is, and why a view over it is right: calculus/sharing.py.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sqlglot import exp

from rollview.calculus.queries import term_query
from rollview.calculus.sharing import (
    Columns,
    Core,
    carried,
    columns_of,
    core_join,
    core_of,
    over_core,
)
from rollview.calculus.steps import BlockTerm, stepped_text
from rollview.calculus.terms import Changes, Factor, Term
from rollview.changes import COUNT, STAMP, Csn
from rollview.sources.frames import frame
from rollview.spark.evaluate import Leaves, analysed
from rollview.spark.fetched import Answers, joined
from rollview.spark.relations import Relations
from rollview.views.blocks import Block, Join
from rollview.views.syntax import quoted

SHARED_ROWS = 200_000
"""Changed rows of a product that is kept: a few hundred bytes each."""

Evaluate = Callable[[exp.Query, Leaves], DataFrame]
Key = tuple[Core, Columns, tuple[Term, ...]]


@dataclass(frozen=True, slots=True)
class Product:
    """The rows of a core at some terms: the one thing that is asked of it are its changes.

    `fetched`: the same rows on the driver, where they are few; else Spark keeps them.
    """

    name: str
    rows: DataFrame
    read: tuple[tuple[Factor, str], ...]
    fetched: pa.Table | None
    view: str | None = None  # a temporary view of its rows, while a round goes on

    def changes(self, grouped: bool) -> DataFrame:
        """Its rows, with all columns that somebody reads; for one that groups them, in one place."""
        if self.fetched is not None:
            return self.rows.coalesce(1) if grouped else self.rows
        # A plan of its own: Spark stops caching what a temporary view shows when the view is dropped.
        return self.rows.where(F.lit(True))


@dataclass(frozen=True, slots=True)
class Step:
    """The terms of a step, each over its product where there is one; `own`: the others' numbers in the step."""

    terms: list[BlockTerm]
    own: list[int | None]
    products: list[Product]

    @property
    def fetched(self) -> bool:
        """Everything that the step reads is on the driver."""
        return all(n is None for n in self.own) and all(
            p.fetched is not None for p in self.products
        )

    @property
    def rows(self) -> int:
        """How many rows on the driver it reads."""
        return sum(p.fetched.num_rows for p in self.products if p.fetched is not None)


class Products:
    """The products of one round; `wanted`: the cores that several of its views have, with their columns.

    Without `wanted`: of one step.
    """

    def __init__(self, wanted: Mapping[Core, Columns] | None = None) -> None:
        self._round, self._wanted = wanted is not None, dict(wanted or {})
        self._made: dict[Key, Product | None] = {}
        self._lock = Lock()

    def over(
        self,
        relations: Relations,
        terms: Sequence[BlockTerm],
        answers: Mapping[int, Answers],
        evaluate: Evaluate | None,
    ) -> Step:
        """The step over its products (B6); `answers`: by term, what live databases said; `evaluate`: if Spark may."""
        step = Step([], [], [])
        for join, numbers in _by_join(terms).items():
            own = [terms[n][1] for n in numbers]
            core = core_of(join)
            # What a live database answered are the columns of this view alone.
            asked = any(n in answers for n in numbers)
            shared = core is not None and core in self._wanted and not asked
            columns = self._wanted[core] if core is not None and shared else columns_of(join)
            made: list[Product] = []
            if core is not None:
                said = [answers.get(n, {}) for n in numbers]
                made = self._made_of(relations, core, columns, own, said, evaluate if shared else None)  # fmt: skip
            for product in made:
                mine = over_core(join, product.name, columns)
                step.terms.append((mine, (Changes(0, *_span(own)),)))
                step.own.append(None)
                step.products.append(product)
            if not made:
                step.terms.extend((join, term) for term in own)
                step.own.extend(numbers)
        return step

    def _made_of(
        self,
        relations: Relations,
        core: Core,
        columns: Columns,
        terms: Sequence[Term],
        answers: Sequence[Answers],
        evaluate: Evaluate | None,
    ) -> list[Product]:
        """The product of all the terms, or one for each, or none."""
        with self._lock:
            key = (core, columns, tuple(terms))
            if key not in self._made:
                self._made[key] = self._fetched(relations, core, columns, terms, answers)
            one = self._made[key]
            if one is not None:
                return [one]
            if evaluate is None:
                return []
            return [self._evaluated(core, columns, term, evaluate) for term in terms]

    def _fetched(
        self,
        relations: Relations,
        core: Core,
        columns: Columns,
        terms: Sequence[Term],
        answers: Sequence[Answers],
    ) -> Product | None:
        parts: list[pa.Table] = []
        for term, said in zip(terms, answers, strict=True):
            try:
                rows = joined(relations, core, columns, term, said)
            except pa.ArrowException:
                rows = None  # a value that Arrow cannot take: Spark can, or says what is wrong
            if rows is None:
                return None
            parts.append(rows)
        typed = [
            (carried(k, name), dict(relations.columns(core.relations[k]))[name])
            for k, names in enumerate(columns)
            for name in names
        ]
        typed += [(STAMP, "bigint"), (COUNT, "bigint")]
        schema = ", ".join(f"{quoted(name)} {kind}" for name, kind in typed)
        rows = pa.concat_tables([part.select([name for name, _ in typed]) for part in parts])
        name = self._name()
        made = frame(relations.spark, rows, schema)
        view = f"_rv_{uuid.uuid4().hex}" if self._round else None
        if view is not None:
            made.createOrReplaceTempView(view)
        return Product(name, made, _read(core, terms), rows, view)

    def _name(self) -> str:
        """A name that nothing else in a query has: names of columns do not begin like this."""
        return f"_rv_product_{len(self._made)}"

    def _evaluated(self, core: Core, columns: Columns, term: Term, evaluate: Evaluate) -> Product:
        key = (core, columns, (term,))
        made = self._made.get(key)
        if made is None:
            leaves = Leaves()
            tree = term_query(core_join(core, columns), term, leaves.name)
            rows = evaluate(tree, leaves).coalesce(1).persist()
            made = Product(self._name(), rows, _read(core, [term]), None)
            self._made[key] = made
        return made

    def clear(self) -> None:
        """Let all products go, and their memory."""
        with (
            self._lock,
            suppress(Py4JError, OSError),
        ):  # a session that died took its memory with it
            for product in self._made.values():
                if product is not None and product.view is not None:
                    product.rows.sparkSession.catalog.dropTempView(product.view)
                if product is not None and product.fetched is None:
                    product.rows.unpersist()
            self._made.clear()


def over_views(
    spark: SparkSession, block: Block, step: Step, views: Mapping[str, str], apart: bool
) -> DataFrame:
    """What a step adds whose terms read nothing but products that temporary views show: by product, their names."""
    text = stepped_text(block, tuple(join for join, _ in step.terms), apart)
    for product, view in views.items():
        text = text.replace(quoted(product), quoted(view))
    return analysed(spark, text)


def _by_join(terms: Iterable[BlockTerm]) -> dict[Join, list[int]]:
    """The numbers of the terms, by the join that they belong to."""
    found: dict[Join, list[int]] = {}
    for number, (join, _) in enumerate(terms):
        found.setdefault(join, []).append(number)
    return found


def _read(core: Core, terms: Iterable[Term]) -> tuple[tuple[Factor, str], ...]:
    return tuple((factor, core.relations[factor.input]) for term in terms for factor in term)


def _span(terms: Iterable[Term]) -> tuple[Csn, Csn]:
    led = [factor for term in terms for factor in term if isinstance(factor, Changes)]
    return Csn(min(f.lo for f in led)), Csn(max(f.hi for f in led))
