"""The queries of one recursion on Spark: each is run when it is asked for, its rows kept for the later ones.

Rows are kept where Spark keeps cached data, in memory or on disk, with their size, so that small ones are broadcast;
but without their history: a plan that grew from level to level would take longer to make than to run. What comes to
the driver is one number a level. A context manager: at its end the rows go. Which queries these are:
calculus/fixpoint.py.

G4  In a small step (`Small`) the rows of a level come to the driver instead, at most MOST_CHANGED, and of a relation
    that a level is joined with, only rows that have a value of theirs: what is left out joins nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from sqlglot import exp

from rollview.calculus.fixpoint import Kept, Way
from rollview.calculus.terms import Factor
from rollview.changes import COUNT, STAMP
from rollview.sources.delta_lake.fetched import MOST_CHANGED
from rollview.sources.delta_lake.lookup import KINDS, Keys, keys_in, wide_type
from rollview.sources.frames import frame
from rollview.spark.evaluate import Leaves, bound, rows_of, without_history
from rollview.spark.fetched import MOST_ROWS, fetched
from rollview.spark.relations import Relations
from rollview.spark.written import plain_rows
from rollview.views.syntax import quoted


@dataclass(frozen=True, slots=True)
class Small:
    """A step that starts from few rows: what they are, by relation, and by which columns levels lead to relations."""

    made: Mapping[str, DataFrame]
    ways: Mapping[str, Way]


class SparkRecursion:
    """Runs the queries of one recursion over relations (calculus/fixpoint.py, Recursion)."""

    def __init__(self, relations: Relations) -> None:
        self.relations, self.leaves = relations, Leaves()
        self.small: Small | None = None
        self._read: dict[str, DataFrame] = {}
        self._kept: dict[str, DataFrame] = {}
        self._near: dict[str, pa.Table] = {}

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
            for name, kept in self._kept.items():
                if name not in self._near:
                    kept.unpersist()

    def keep(self, rows: exp.Query) -> Kept:
        """Run the query now."""
        name = f"{self.leaves.prefix}_round{len(self._kept)}"
        found = self.rows(rows)
        if self.small is not None and plain_rows(found):
            near = found.limit(MOST_CHANGED + 1).toArrow()
            if near.num_rows <= MOST_CHANGED:
                self._near[name] = near
                schema = ", ".join(
                    f"{quoted(f.name)} {f.dataType.simpleString()}" for f in found.schema
                )
                self._kept[name] = frame(self.relations.spark, near, schema)
                return Kept(name, near.num_rows)
        kept = without_history(found)
        self._kept[name] = kept
        return Kept(name, kept.count())

    @property
    def few(self) -> bool:
        """All that is kept is on the driver, and no more than a step there may have."""
        near = sum(rows.num_rows for rows in self._near.values())
        return len(self._near) == len(self._kept) and near <= MOST_ROWS

    def least(self, number: exp.Query) -> int | None:
        """The one number that the query gives, if it is not NULL."""
        (row,) = self.rows(number).collect()
        return None if row[0] is None else int(row[0])

    def rows(self, query: exp.Query) -> DataFrame:
        """The rows of a query over leaves and kept rows."""
        names = {table.name for table in query.find_all(exp.Table)}
        read: dict[str, DataFrame] = {}
        for (factor, relation, columns, _), name in self.leaves.wanted.items():
            if name in names:
                few = self._few(factor, relation, columns, names)
                if few is None and name not in self._read:
                    self._read[name] = rows_of(self.relations(relation), factor, columns)
                read[name] = self._read[name] if few is None else few
        # Behind a filter: Spark stops caching what a temporary view shows when the view is dropped.
        kept = {name: rows.where(F.lit(True)) for name, rows in self._kept.items() if name in names}
        return bound(self.relations.spark, query, {**read, **kept})

    def _few(
        self, factor: Factor, relation: str, columns: Sequence[str], names: Collection[str]
    ) -> DataFrame | None:
        """The rows of a leaf that join what the query reads of the levels; None if all are to be read (G4)."""
        if self.small is None:
            return None
        if relation in self.small.made:
            return self.small.made[relation]
        way = self.small.ways.get(relation)
        levels = [name for name in self._kept if name in names]
        if way is None or not all(name in self._near for name in levels):
            return None
        kind = dict(self.relations.columns(relation)).get(way.column, "")
        values = [self._near[n].column(way.of_level) for n in levels]
        if not values or kind not in KINDS or (way.nulls and any(v.null_count for v in values)):
            return None
        wide = [chunk.cast(wide_type(kind)) for v in values for chunk in v.chunks]
        keys = Keys(way.column, keys_in(pa.chunked_array(wide, wide_type(kind)), kind))
        rows = fetched(self.relations, relation, factor, columns, keys)
        if rows is None:
            return None
        kinds = {**dict(self.relations.columns(relation)), COUNT: "bigint", STAMP: "bigint"}
        schema = ", ".join(f"{quoted(n)} {kinds[n]}" for n in rows.column_names)
        return frame(self.relations.spark, rows, schema)
