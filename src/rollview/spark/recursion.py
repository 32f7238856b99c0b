"""The queries of one recursion on Spark: each is run when it is asked for, its rows kept for the later ones.

Rows are kept where Spark keeps cached data, in memory or on disk, with their size, so that small ones are broadcast;
but without their history: a plan that grew from level to level would take longer to make than to run. What comes to
the driver is one number a level. A context manager: at its end the rows go. Which queries these are:
calculus/fixpoint.py.
"""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from sqlglot import exp

from rollview.calculus.fixpoint import Kept
from rollview.spark.evaluate import Leaves, bound, rows_of, without_history
from rollview.spark.relations import Relations


class SparkRecursion:
    """Runs the queries of one recursion over relations (calculus/fixpoint.py, Recursion)."""

    def __init__(self, relations: Relations) -> None:
        self.relations, self.leaves = relations, Leaves()
        self._read: dict[str, DataFrame] = {}
        self._kept: dict[str, DataFrame] = {}

    def __enter__(self) -> SparkRecursion:
        """Nothing is kept yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the rows go."""
        with suppress(Py4JError, OSError):  # a session that died took its memory with it
            for frame in self._kept.values():
                frame.unpersist()

    def keep(self, rows: exp.Query) -> Kept:
        """Run the query now."""
        name = f"{self.leaves.prefix}_round{len(self._kept)}"
        frame = without_history(self.rows(rows))
        self._kept[name] = frame
        return Kept(name, frame.count())

    def least(self, number: exp.Query) -> int | None:
        """The one number that the query gives, if it is not NULL."""
        (row,) = self.rows(number).collect()
        return None if row[0] is None else int(row[0])

    def rows(self, query: exp.Query) -> DataFrame:
        """The rows of a query over leaves and kept rows."""
        names = {table.name for table in query.find_all(exp.Table)}
        for (factor, relation, columns, _), name in self.leaves.wanted.items():
            if name in names and name not in self._read:
                self._read[name] = rows_of(self.relations(relation), factor, columns)
        # Behind a filter: Spark stops caching what a temporary view shows when the view is dropped.
        kept = {
            name: frame.where(F.lit(True)) for name, frame in self._kept.items() if name in names
        }
        read = {name: frame for name, frame in self._read.items() if name in names}
        return bound(self.relations.spark, query, {**read, **kept})
