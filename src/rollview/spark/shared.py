"""The products that the views of one round share, each computed once.

B6  A product is made by the first view that needs it, from the terms of its own step; a view whose terms are of other
    times makes another one. It is kept until the round is over.
B7  Only small ones: as many changed rows as SHARED_ROWS, of tables that Spark reads (not of live databases).
What a product is, and why a view over it is right: calculus/sharing.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from sqlglot import exp

from rollview.calculus.queries import term_query
from rollview.calculus.sharing import Columns, Core, core_join, core_of, over_core
from rollview.calculus.steps import BlockTerm
from rollview.calculus.terms import Changes, Factor, Term
from rollview.changes import Csn
from rollview.spark.evaluate import Leaves

SHARED_ROWS = 200_000
"""Changed rows of a product that is kept: a few hundred bytes each."""

Evaluate = Callable[[exp.Query, Leaves], DataFrame]
Key = tuple[Core, Term]


@dataclass(frozen=True, slots=True)
class Product:
    """The rows of a core at one term: the one thing that is asked of it are its changes."""

    name: str
    rows: DataFrame
    read: tuple[tuple[Factor, str], ...]

    def changes(self) -> DataFrame:
        """Its rows, with all columns that somebody reads."""
        # A plan of its own: Spark stops caching what a temporary view shows when the view is dropped.
        return self.rows.where(F.lit(True))


class Shared:
    """The products of one round, for the cores that several of its views have."""

    def __init__(self, wanted: Mapping[Core, Columns]) -> None:
        self._wanted = dict(wanted)
        self._made: dict[Key, Product] = {}
        self._lock = Lock()

    def over(
        self, terms: Sequence[BlockTerm], evaluate: Evaluate
    ) -> tuple[list[BlockTerm], dict[str, Product]]:
        """The terms, each over its product where there is one, and those products by name (B6)."""
        found: list[BlockTerm] = []
        products: dict[str, Product] = {}
        for join, term in terms:
            core = core_of(join)
            if core is None or core not in self._wanted:
                found.append((join, term))
                continue
            product = self._product(core, term, evaluate)
            products[product.name] = product
            lo, hi = _span(term)
            own = over_core(join, product.name, self._wanted[core])
            found.append((own, (Changes(0, lo, hi),)))
        return found, products

    def _product(self, core: Core, term: Term, evaluate: Evaluate) -> Product:
        with self._lock:
            if (core, term) not in self._made:
                leaves = Leaves()
                tree = term_query(core_join(core, self._wanted[core]), term, leaves.name)
                rows = evaluate(tree, leaves).coalesce(1).persist()
                name = f"product {len(self._made)}"
                self._made[core, term] = Product(name, rows, tuple(leaves.read))
            return self._made[core, term]

    def clear(self) -> None:
        """Let all products go, and their memory."""
        with (
            self._lock,
            suppress(Py4JError, OSError),
        ):  # a session that died took its memory with it
            for product in self._made.values():
                product.rows.unpersist()
            self._made.clear()


def _span(term: Term) -> tuple[Csn, Csn]:
    (changes,) = (factor for factor in term if isinstance(factor, Changes))
    return changes.lo, changes.hi
