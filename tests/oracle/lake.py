"""A small lake on disk: Delta Lake tables changed by plain writes, and a record of every state they had.

The record is kept in Python by what each change means, not by reading the tables, so that it can be recomputed
from at any CSN without Spark. Which commit gets which CSN is counted here too: every commit that changes rows,
in the order of the commits. Shares no code with the product.
"""

from __future__ import annotations

import copy
import datetime as dt
import json
import math
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

Row = tuple[Any, ...]
Rows = tuple[Row, ...]


@dataclass(frozen=True)
class Recorded:
    """A table after one of its commits: the version, and every row."""

    table: str
    version: int
    rows: Rows


@dataclass
class Table:
    """A table: where it is, its columns, its newest version and rows."""

    path: Path
    schema: StructType
    version: int
    rows: Rows

    def position(self, column: str) -> int:
        """Where the column stands in a row."""
        return int(self.schema.fieldNames().index(column))


@dataclass
class Lake:
    """The tables, and since `base` every commit: commit n has the CSN n + 1."""

    spark: SparkSession
    folder: Path
    tables: dict[str, Table] = field(default_factory=dict)
    base: dict[str, Recorded] = field(default_factory=dict)
    commits: list[Recorded] = field(default_factory=list)

    # --- writing

    def create(
        self,
        name: str,
        columns: str,
        rows: Iterable[Row] = (),
        *,
        vectors: bool = False,
        partitioned: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """A new table with its first rows, before the lake is registered."""
        schema = StructType.fromDDL(columns)
        assert isinstance(schema, StructType)
        table = Table(self.folder / name, schema, -1, ())
        self.tables[name] = table
        options = {
            "delta.enableChangeDataFeed": "true",
            "delta.enableDeletionVectors": str(vectors).lower(),
            **(properties or {}),
        }
        if properties:  # what changes the names of columns cannot be set while rows are written
            empty = DeltaTable.create(self.spark).tableName(f"{name}_{uuid.uuid4().hex}")
            empty = empty.location(self._path(name)).addColumns(schema)
            for key, value in options.items():
                empty = empty.property(key, value)
            empty.execute()
        put = tuple(rows)
        writer = self.frame(name, put).write.format("delta").partitionBy(*partitioned)
        writer = writer.mode("append") if properties else writer.options(**options)
        writer.save(self._path(name))
        self._record(name, put)

    def registered(self) -> None:
        """From here on commits have CSNs; the lake is a source of a warehouse now."""
        assert not self.commits
        self.base = {n: Recorded(n, t.version, t.rows) for n, t in self.tables.items()}

    def insert(self, name: str, rows: Iterable[Row]) -> None:
        """Append rows."""
        added = tuple(rows)
        self.frame(name, added).write.format("delta").mode("append").save(self._path(name))
        self._record(name, self.tables[name].rows + added)

    def overwrite(self, name: str, rows: Iterable[Row]) -> None:
        """Replace all rows."""
        put = tuple(rows)
        self.frame(name, put).write.format("delta").mode("overwrite").save(self._path(name))
        self._record(name, put)

    def delete(self, name: str, /, **where: Any) -> None:
        """Delete the rows whose columns have these values (None is a value); all rows if none is named."""
        self._delta(name).delete(self._condition(name, where) if where else None)
        self._record(
            name, tuple(r for r in self.tables[name].rows if not self._fits(name, r, where))
        )

    def update(self, name: str, put: Mapping[str, Any], /, **where: Any) -> None:
        """Set columns of the rows whose columns have these values."""
        table = self.tables[name]
        values = {quoted(c): self._literal(name, c, v) for c, v in put.items()}
        self._delta(name).update(self._condition(name, where) if where else None, values)
        names = table.schema.fieldNames()
        self._record(
            name,
            tuple(
                tuple(put.get(c, old) for c, old in zip(names, r, strict=True))
                if self._fits(name, r, where)
                else r
                for r in table.rows
            ),
        )

    def merge(self, name: str, key: str, rows: Iterable[Row], gone: Iterable[Any] = ()) -> None:
        """MERGE by one key column: `rows` replace what has their key or come new, keys in `gone` go."""
        table = self.tables[name]
        k = table.position(key)
        put = {r[k]: r for r in rows if r[k] is not None}
        loose = [r for r in rows if r[k] is None]
        taken = set(gone) - set(put) - {None}
        width = len(table.schema)
        blank = [tuple(g if i == k else None for i in range(width)) for g in sorted(taken)]
        source = self.frame(name, [*put.values(), *loose]).withColumn("_gone", F.lit(False))
        source = source.unionAll(self.frame(name, blank).withColumn("_gone", F.lit(True)))
        names = [quoted(c) for c in table.schema.fieldNames()]
        values: dict[str, str | Column] = {c: F.col(f"s.{c}") for c in names}
        (
            self._delta(name).alias("t")
            .merge(source.alias("s"), f"t.{quoted(key)} = s.{quoted(key)}")
            .whenMatchedDelete("s._gone")
            .whenMatchedUpdate(set=values)
            .whenNotMatchedInsert("NOT s._gone", values)
            .execute()
        )  # fmt: skip
        kept = tuple(put.get(r[k], r) for r in table.rows if r[k] not in taken or r[k] is None)
        known = {r[k] for r in table.rows}
        new = tuple(r for r in put.values() if r[k] not in known)
        self._record(name, (*kept, *new, *loose))

    def optimize(self, name: str) -> None:
        """Rewrite the files; no row changes, so no CSN."""
        self._delta(name).optimize().executeCompaction()
        self._record(name, self.tables[name].rows)

    def rewrite(self, name: str) -> None:
        """A commit that replaces every file and changes no row; it has a CSN nevertheless."""
        self.overwrite(name, self.tables[name].rows)

    # --- reading

    @property
    def csn(self) -> int:
        """The newest CSN."""
        return len(self.commits)

    def at(self, csn: int) -> dict[str, Recorded]:
        """Every table as of `csn`."""
        return {**self.base, **{c.table: c for c in self.commits[:csn]}}

    def frame(self, name: str, rows: Iterable[Row]) -> DataFrame:
        """Rows of the table as a DataFrame of one partition."""
        arrow = self.arrow(name, tuple(rows))
        return self.spark.createDataFrame(arrow, self.tables[name].schema).coalesce(1)

    def version(self, recorded: Recorded) -> DataFrame:
        """The table as Delta Lake itself shows the recorded version."""
        reader = self.spark.read.format("delta").option("versionAsOf", recorded.version)
        return reader.load(self._path(recorded.table))

    def arrow(self, name: str, rows: Rows) -> pa.Table:
        """Rows of the table as Arrow."""
        schema = to_arrow_schema(self.tables[name].schema, timezone="UTC")
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
        arrays = [
            pa.array([_value(v, f.type) for v in c], type=f.type)
            for c, f in zip(columns, schema, strict=True)
        ]  # a list per column: the only way that keeps a struct given as a dict
        return pa.Table.from_arrays(arrays, schema=schema)

    # --- to go back to an earlier moment, when the files are brought back too

    def moment(self) -> dict[str, Any]:
        """What this object remembers, as a copy."""
        return copy.deepcopy({"tables": self.tables, "base": self.base, "commits": self.commits})

    def back_to(self, moment: dict[str, Any]) -> None:
        """Remember what was remembered then."""
        for name, value in copy.deepcopy(moment).items():
            setattr(self, name, value)

    # ---

    def _record(self, name: str, rows: Rows) -> None:
        """Account for every version that the last write made; all but the last change nothing."""
        table = self.tables[name]
        log = table.path / "_delta_log"
        newest = max(int(p.stem) for p in log.glob("*.json") if p.stem.isdigit())
        changed = [v for v in range(table.version + 1, newest + 1) if _changes_rows(log, v)]
        assert changed or sorted(map(str, rows)) == sorted(map(str, table.rows)), "no commit"
        if self.base:
            self.commits += [Recorded(name, v, rows) for v in changed]
        assert len(changed) <= 1, "one write is one commit"
        table.version, table.rows = newest, rows

    def _path(self, name: str) -> str:
        return str(self.tables[name].path)

    def _delta(self, name: str) -> DeltaTable:
        return DeltaTable.forPath(self.spark, self._path(name))

    def _literal(self, name: str, column: str, value: Any) -> Column:
        plain = value.isoformat() if isinstance(value, dt.date) else value
        return F.lit(plain).cast(self.tables[name].schema[column].dataType)

    def _condition(self, name: str, where: Mapping[str, Any]) -> Column:
        condition = F.lit(True)
        for column, value in where.items():
            equal = F.col(quoted(column)).eqNullSafe(self._literal(name, column, value))
            condition = condition & equal
        return condition

    def _fits(self, name: str, row: Row, where: Mapping[str, Any]) -> bool:
        table = self.tables[name]
        return all(same(row[table.position(c)], value) for c, value in where.items())


def same(left: Any, right: Any) -> bool:
    """Equal as Spark's <=> has it: NULL is NULL, NaN is NaN."""
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return bool(left == right)


def quoted(name: str) -> str:
    """The name as Spark SQL writes it."""
    return "`" + name.replace("`", "``") + "`"


def _changes_rows(log: Path, version: int) -> bool:
    """Whether the commit adds or removes a file with rows that count (the protocol's dataChange)."""
    lines = (log / f"{version:020d}.json").read_text(encoding="utf-8").splitlines()
    actions = [json.loads(line) for line in lines if line]
    return any((a.get("add") or a.get("remove") or {}).get("dataChange") for a in actions)


def _value(value: Any, kind: pa.DataType) -> Any:
    """The value as Arrow takes it: files of cases write fractions as decimals."""
    return float(value) if isinstance(value, Decimal) and pa.types.is_floating(kind) else value
