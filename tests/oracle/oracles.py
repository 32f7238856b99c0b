"""Two recomputes of a view at any CSN, independent of the product and of each other.

A  plain Spark SQL over the versions that the lake recorded for that CSN, by Delta Lake's own time travel.
B  DuckDB running the same SQL over the rows that the lake recorded itself.
Views are written so that both dialects agree; one that is not, says so (`spark_only`). A view may read another one
of the set, which is then recomputed too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import duckdb
from oracle.compare import Bag, bag_of, collected, difference
from oracle.lake import Lake, Recorded
from pyspark.sql import DataFrame

PREFIX = "oracle_"


@dataclass(frozen=True)
class Mismatch:
    """A view that is not what an oracle says it should be."""

    view: str
    csn: int
    oracle: str
    what: str

    def __str__(self) -> str:
        return f"view {self.view} at {self.csn} is not what oracle {self.oracle} says: {self.what}"


@dataclass
class Oracles:
    """Both recomputes of the given views (name -> SELECT over lake.<table> and earlier views)."""

    lake: Lake
    views: dict[str, str]
    spark_only: frozenset[str] = frozenset()
    checked: int = 0
    _frames: dict[tuple[str, int], DataFrame] = field(default_factory=dict)
    _answers: dict[tuple[str, str, int], Bag] = field(default_factory=dict)

    def mismatches(self, warehouse: Any, wanted: Iterable[tuple[str, int]]) -> list[Mismatch]:
        """The views of a warehouse, each at a CSN, against both recomputes; one Spark action in all."""
        pairs = sorted(set(wanted))
        frames = {("view", v, t): warehouse.table(v, as_of=t) for v, t in pairs}
        frames |= {("A", v, t): self.by_spark(v, t) for v, t in pairs
                   if ("A", v, t) not in self._answers}  # fmt: skip
        bags = collected(frames)
        self._answers |= {key: bag for key, bag in bags.items() if key[0] == "A"}
        found = []
        for view, csn in pairs:
            want = {"A": self._answers["A", view, csn]}
            if view not in self.spark_only:
                want["B"] = self.by_duckdb(view, csn)
            self.checked += 1
            for oracle, bag in want.items():
                what = difference(bags["view", view, csn], bag)
                found += [Mismatch(view, csn, oracle, what)] if what else []
        return found

    def hold(self, warehouse: Any, wanted: Iterable[tuple[str, int]]) -> None:
        """Fail unless every view is what both recomputes say."""
        found = self.mismatches(warehouse, wanted)
        assert not found, "\n".join(map(str, found))

    def by_spark(self, view: str, csn: int) -> DataFrame:
        """Oracle A."""
        spark = self.lake.spark
        for name, recorded in self.lake.at(csn).items():
            self._version(recorded).createOrReplaceTempView(PREFIX + name)
        for name, sql in self.views.items():
            answer = spark.sql(self._over_own_names(sql))
            if name == view:
                return answer
            answer.createOrReplaceTempView(PREFIX + name)
        raise KeyError(view)

    def by_duckdb(self, view: str, csn: int) -> Bag:
        """Oracle B."""
        if ("B", view, csn) not in self._answers:
            with duckdb.connect() as connection:
                for name, recorded in self.lake.at(csn).items():
                    connection.register(PREFIX + name, self.lake.arrow(name, recorded.rows))
                for name, sql in self.views.items():
                    if name == view:
                        break
                    if name not in self.spark_only:
                        connection.execute(
                            f"CREATE TEMP VIEW {PREFIX}{name} AS {self._over_own_names(sql)}"
                        )
                answer = connection.sql(self._over_own_names(self.views[view]))
                self._answers["B", view, csn] = bag_of(answer.to_arrow_table())
        return self._answers["B", view, csn]

    def _version(self, recorded: Recorded) -> DataFrame:
        key = (recorded.table, recorded.version)
        if key not in self._frames:
            self._frames[key] = self.lake.version(recorded)
        return self._frames[key]

    def _over_own_names(self, sql: str) -> str:
        """The SQL over lake.<table> and views, with the oracles' names for both."""
        for name in self.views:
            sql = sql.replace(f"FROM {name} ", f"FROM {PREFIX}{name} ")
        return sql.replace(" lake.", f" {PREFIX}")
