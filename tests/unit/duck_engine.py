"""An in-memory warehouse on DuckDB: the product's pure calculus run for real, without Spark.

D1  What is evaluated, and at which times, comes from rollview.calculus alone; this module binds leaves to rows,
    as spark/evaluate.py and spark/rolled.py do, and keeps what the ledger would: frontiers, steps, fold times.
The calculus is called through its modules, so that a sabotage of the product reaches the engine.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from duck import small_duck
from laterals import in_duck_words, nodes
from sqlglot import exp

from rollview.calculus import fixpoint, queries, rolled, rolling, steps
from rollview.calculus.terms import AsOf, Changes, Factor, Timed
from rollview.changes import BUCKET, COUNT, STAMP, Change, Csn, Row
from rollview.views.blocks import Block, Fixpoint, Reduce, inputs, joins

CONNECTION = small_duck()
"""One for all warehouses: opening one costs more than a whole history."""
CONNECTION.execute("CREATE MACRO raise_error(message) AS error(message)")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def listed(names: Iterable[str]) -> str:
    return ", ".join(map(quoted, names))


def literal(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case str() | dt.date():
            return "'" + str(value).replace("'", "''") + "'"
        case list():
            return f"[{', '.join(map(literal, value))}]"
        case _:
            return str(value)


def text(tree: exp.Expr) -> str:
    """A tree in DuckDB's words; calls of Spark's functions are put into its own."""
    for call in reversed(nodes(tree)):  # what is inside comes first
        if isinstance(call, exp.Anonymous):
            call.replace(exp.func(call.name, *call.expressions, dialect="spark", copy=False))
    return in_duck_words(tree).sql(dialect="duckdb", copy=False)


def values(rows: Iterable[Row]) -> str:
    return ", ".join("(" + ", ".join(map(literal, row)) + ")" for row in rows)


@cache
def duck_type(spark_type: str) -> str:
    return exp.DataType.build(spark_type, dialect="spark").sql(dialect="duckdb")


@dataclass
class SourceTable:
    """A relation known by its log of changes; readable at every time up to now."""

    warehouse: Warehouse
    name: str
    columns: tuple[str, ...]
    log: list[Change] = field(default_factory=list)

    @property
    def mark(self) -> Csn:
        return self.warehouse.now

    def changed(self, lo: Csn, hi: Csn) -> bool:
        return any(lo < change.stamp <= hi for change in self.log)

    def changes(self, lo: Csn, hi: Csn, columns: Sequence[str]) -> str:
        return (f"SELECT {listed((*columns, COUNT, STAMP))} FROM {self.table}"
                f" WHERE {STAMP} > {lo} AND {STAMP} <= {hi}")  # fmt: skip

    def at(self, time: Csn, columns: Sequence[str]) -> str:
        return f"SELECT {listed((*columns, COUNT))} FROM {self.table} WHERE {STAMP} <= {time}"

    def exact(self, time: Csn, columns: Sequence[str]) -> str:
        return (f"SELECT {listed((*columns, COUNT))} FROM (SELECT {listed(self.columns)}, 1 AS {COUNT},"
                f" UNNEST(RANGE(CAST(SUM({COUNT}) AS BIGINT))) FROM ({self.at(time, self.columns)})"
                f" GROUP BY {listed(self.columns)})")  # fmt: skip

    @property
    def table(self) -> str:
        return quoted(f"{self.warehouse.prefix}{self.name}")


class TimeSigns:
    """Signs for times, in their order, so that a text made once serves at all times."""

    FIRST = 7_000_000_000_000

    def __init__(self, details: object) -> None:
        times = sorted(set(self.times(details)))
        self.signs = {time: Csn(self.FIRST + n) for n, time in enumerate(times)}

    def times(self, detail: object) -> list[int]:
        """All times in a detail."""
        match detail:
            case bool():
                return []
            case int():
                return [detail]
            case tuple():
                return [time for part in detail for time in self.times(part)]
            case rolled.Window(parts):
                return [time for _, lo, hi, _ in parts for time in (lo, hi)]
        return []

    def sign(self, detail: object) -> object:
        """The detail with signs for its times."""
        match detail:
            case int() if not isinstance(detail, bool):
                return self.signs[detail]
            case rolled.Window(parts):
                return rolled.Window(tuple(
                    (b, self.signs[lo], self.signs[hi], sign) for b, lo, hi, sign in parts
                ))  # fmt: skip
        return detail

    def resolved(self, text: str) -> str:
        """The text with the times themselves."""
        for time, sign in self.signs.items():
            text = text.replace(str(sign), str(time))
        return text


@lru_cache(maxsize=4096)
def generated(verb: str, block: Block, *details: object) -> str:
    """The text of a tree of calculus/rolled.py; kept, since it takes longer to make than to run.

    Whoever changes the product under the tests (a sabotage) clears this cache.
    """
    match verb:
        case "visible":
            tree = rolled.visible(block, *details)
        case "state":
            tree = rolled.state(block, *details)
        case "signed_state":
            tree = rolled.signed_state(block, *details)
        case "shown_state":
            tree = rolled.shown(block, readable_state(block, *details))
        case "row_changes":
            tree = rolled.row_changes(block, *details)
    return text(tree)


def readable_state(block: Block, span: rolled.Window, any_taken: bool) -> exp.Query:
    """What another block reads: signed where only sums of counts matter."""
    if isinstance(block, Reduce):
        return rolled.state(block, span, any_taken)
    return rolled.signed_state(block, span)


@dataclass(frozen=True)
class Step:
    """What the ledger knows of a step: the stamps in it, and whether it takes rows away."""

    lo: Csn
    hi: Csn
    taken: bool


@dataclass
class RolledTable:
    """One block's folded rows and log. `cautious`: every step is said to take rows away."""

    warehouse: Warehouse
    name: str
    block: Block
    frontier: tuple[Csn, ...]
    oldest: Csn
    fold_times: list[Csn]
    cautious: bool
    steps: list[Step] = field(default_factory=list)

    @property
    def mark(self) -> Csn:
        return rolling.high_water_mark(self.frontier)

    @property
    def folded(self) -> str:
        return quoted(f"{self.warehouse.prefix}{self.name}_folded")

    @property
    def log(self) -> str:
        return quoted(f"{self.warehouse.prefix}{self.name}_log")

    @property
    def log_with_buckets(self) -> str:
        return quoted(f"{self.warehouse.prefix}{self.name}_log_with_buckets")

    @property
    def kept(self) -> tuple[str, ...]:
        """Keys and sums, as the log has them."""
        return tuple(
            c.name for c in (*queries.kept_keys(self.block), *queries.kept_sums(self.block))
        )

    @property
    def stored(self) -> tuple[str, ...]:
        """What the folded rows have: plain rows, or a Reduce's keys, sums and count."""
        return (*self.kept, COUNT) if isinstance(self.block, Reduce) else self.kept

    @property
    def bucket(self) -> str:
        keys = queries.kept_keys(self.block)
        count = len(self.fold_times)
        return f"CAST(HASH({listed(k.name for k in keys)}) % {count} AS INT)" if keys else "0"

    def create(self) -> None:
        columns = (*queries.kept_keys(self.block), *queries.kept_sums(self.block))
        kept = "".join(f"{quoted(c.name)} {duck_type(c.type)}, " for c in columns)
        count = f"{COUNT} BIGINT" if isinstance(self.block, Reduce) else ""
        run = self.warehouse.run
        run(f"CREATE TABLE {self.folded} ({(kept + count).rstrip(', ')})")
        run(f"CREATE TABLE {self.log} ({kept}{COUNT} BIGINT, {STAMP} BIGINT)")
        run(f"CREATE VIEW {self.log_with_buckets} AS"
            f" SELECT *, {self.bucket} AS {BUCKET} FROM {self.log}")  # fmt: skip

    # --- reading

    def pinned(self, time: Csn, hi: Csn | None = None) -> tuple[rolled.Window, bool]:
        """The window that leads to `time`, and whether steps in it (or up to `hi`) take rows away."""
        assert self.oldest <= time <= (time if hi is None else hi) <= self.mark, (
            "outside what is kept"
        )
        span = rolled.window(self.fold_times, time)
        steps = [] if span.empty else self.steps_in(*span.span)
        later = [] if hi is None else self.steps_in(time, hi)
        taken = any(s.taken or self.cautious for s in (*steps, *later))
        return (span if steps else rolled.Window(())), taken

    def steps_in(self, lo: Csn, hi: Csn) -> list[Step]:
        return [s for s in self.steps if s.hi > lo and s.lo <= hi]

    def sql(self, verb: str, *details: object) -> str:
        """The query that calculus/rolled.py gives for a verb, over this table's rows."""
        signs = TimeSigns(details)
        text = signs.resolved(generated(verb, self.block, *map(signs.sign, details)))
        folded, log = quoted(rolled.FOLDED), quoted(rolled.LOG)
        return text.replace(folded, self.folded).replace(log, self.log_with_buckets)

    def visible(self, time: Csn) -> str:
        return self.sql("visible", *self.pinned(time))

    def state(self, time: Csn) -> str:
        return self.sql("state", *self.pinned(time))

    def signed_state(self, time: Csn) -> str:
        return self.sql("signed_state", self.pinned(time)[0])

    def exact(self, time: Csn, columns: Sequence[str]) -> str:
        return f"SELECT {listed((*columns, COUNT))} FROM (SELECT *, 1 AS {COUNT} FROM ({self.visible(time)}))"

    def at(self, time: Csn, columns: Sequence[str]) -> str:
        span, taken = self.pinned(time)
        rows = self.sql("shown_state", span, taken)
        return f"SELECT {listed((*columns, COUNT))} FROM ({rows})"

    def changes(self, lo: Csn, hi: Csn, columns: Sequence[str]) -> str:
        rows = self.sql("row_changes", lo, hi, *self.pinned(lo, hi))
        return f"SELECT {listed((*columns, COUNT, STAMP))} FROM ({rows})"

    def changed(self, lo: Csn, hi: Csn) -> bool:
        return bool(self.steps_in(lo, hi))

    # --- writing

    def append(self, rows: str, leaves: str = "") -> None:
        """Add the rows of a query to the log, as one step."""
        columns = f"{listed((*self.kept, COUNT, STAMP))}"
        added = self.warehouse.run(
            f"INSERT INTO {self.log} ({columns}) {leaves} SELECT {columns} FROM ({rows})"
            f" RETURNING {STAMP}, {COUNT}"
        )
        if added:
            stamps = [Csn(stamp) for stamp, _ in added]
            self.steps.append(Step(min(stamps), max(stamps), any(count < 0 for _, count in added)))

    def fold(self, to: Csn, bucket: int | None = None) -> None:
        """Replace the folded rows (of one bucket) by those as of `to`."""
        buckets = range(len(self.fold_times)) if bucket is None else [bucket]
        which = f"{self.bucket} IN ({', '.join(map(str, buckets))})"
        rows = self.state(to) if isinstance(self.block, Reduce) else self.visible(to)
        fresh = quoted(f"{self.warehouse.prefix}fresh")
        run = self.warehouse.run
        run(f"CREATE TABLE {fresh} AS SELECT {listed(self.stored)} FROM ({rows}) WHERE {which}")
        run(f"DELETE FROM {self.folded} WHERE {which}")
        run(f"INSERT INTO {self.folded} ({listed(self.stored)}) FROM {fresh}")
        run(f"DROP TABLE {fresh}")
        for b in buckets:
            self.fold_times[b] = to


@dataclass
class Leaves:
    """The leaves that a tree asked for, each under a name of its own."""

    wanted: dict[tuple[Factor, str, tuple[str, ...]], str] = field(default_factory=dict)

    def name(self, factor: Factor, relation: str, columns: tuple[str, ...]) -> str:
        return self.wanted.setdefault((factor, relation, columns), f"leaf_{len(self.wanted)}")


class Warehouse:
    """Source tables and blocks on one clock; a context manager, since it drops its tables."""

    made = 0

    def __init__(self) -> None:
        Warehouse.made += 1
        self.prefix = f"w{Warehouse.made}_"
        self.now = Csn(0)
        self.relations: dict[str, SourceTable | RolledTable] = {}

    def __enter__(self) -> Warehouse:
        self.run("BEGIN")
        return self

    def __exit__(self, *_: object) -> None:
        CONNECTION.execute("ROLLBACK")

    def run(self, sql: str) -> list[Row]:
        return CONNECTION.execute(sql).fetchall()

    # --- sources

    def add_source(self, name: str, columns: Mapping[str, str]) -> None:
        table = SourceTable(self, name, tuple(columns))
        kinds = "".join(f"{quoted(c)} {duck_type(kind)}, " for c, kind in columns.items())
        self.run(f"CREATE TABLE {table.table} ({kinds}{COUNT} BIGINT, {STAMP} BIGINT)")
        self.relations[name] = table

    def commit(self, changes: Mapping[str, Sequence[tuple[int, Row]]]) -> Csn:
        """One source transaction: (count, row) by source table."""
        self.now = Csn(self.now + 1)
        for name, counted in changes.items():
            table = self.relations[name]
            assert isinstance(table, SourceTable), f"{name} is a source table"
            if counted:
                table.log += [Change(self.now, count, row) for count, row in counted]
                rows = values((*row, count, self.now) for count, row in counted)
                self.run(f"INSERT INTO {table.table} VALUES {rows}")
        return self.now

    # --- blocks

    def build(
        self, name: str, block: Block, at: Csn, buckets: int = 1, cautious: bool = False
    ) -> RolledTable:
        """A block whose folded rows are its inputs' rows as of `at`."""
        frontier = (at,) * len(inputs(block))
        table = RolledTable(self, name, block, frontier, at, [at] * buckets, cautious)
        self.relations[name] = table
        table.create()
        leaves = Leaves()
        if isinstance(block, Fixpoint):
            recursion = Recursion(self, leaves)
            tree = fixpoint.built_levels(block, name, at, leaves.name, recursion)
            leaves.wanted.clear()
        else:
            states = [queries.state_query(join, at, leaves.name) for join in joins(block)]
            tree = steps.built(block, queries.union_all(states))
        if rolled.signed(block):
            tree = rolled.whole(block, tree)
        bound = self.bound(leaves, exact=True)
        self.run(f"INSERT INTO {table.folded} ({listed(table.stored)}) {bound}"
                 f" SELECT {listed(table.stored)} FROM ({text(tree)})")  # fmt: skip
        return table

    def rolled(self, name: str) -> RolledTable:
        table = self.relations[name]
        assert isinstance(table, RolledTable), f"{name} is a block"
        return table

    def step(
        self, name: str, targets: Sequence[tuple[int, Csn]], cells: Sequence[Csn] = ()
    ) -> None:
        """Take inputs (by position among all inputs of the block) to their times, in one query."""
        table = self.rolled(name)
        leaves, lo = Leaves(), table.mark
        wanted = dict(targets)
        reached = [max(at, wanted.get(k, at)) for k, at in enumerate(table.frontier)]
        if (common := steps.together(table.block, table.frontier, reached)) != reached:
            targets = list(enumerate(common))
        changed = self.changed(table.frontier, inputs(table.block), targets)
        plan = steps.planned(table.block, name, table.frontier, targets, changed)
        terms = [(joins(table.block)[n], a.term) for n, a in plan if a.term is not None]
        if terms and isinstance(table.block, Fixpoint):
            recursion = Recursion(self, leaves)
            tree = fixpoint.stepped_levels(table.block, name, terms, lo, leaves.name, recursion)
            table.append(text(tree))
        elif terms:
            tree = steps.stepped(table.block, name, terms, lo, leaves.name, cells)
            table.append(text(tree), self.bound(leaves))
        for position, to in targets:
            table.frontier = rolling.advanced(
                table.frontier, position, max(to, table.frontier[position])
            )

    def changed(self, frontier, read, targets) -> list[bool]:
        """Per target: whether its input changed on the way there."""
        at, answers = list(frontier), []
        for k, to in targets:
            answers.append(to > at[k] and self.relations[read[k].relation].changed(at[k], to))
            at[k] = max(at[k], to)
        return answers

    def bound(self, leaves: Leaves, exact: bool = False, only: str | None = None) -> str:
        """The leaves (that occur in a text) as the WITH clause of the query that names them."""
        parts = []
        for (factor, name, columns), leaf in leaves.wanted.items():
            if only is not None and quoted(leaf) not in only:
                continue
            relation = self.relations[name]
            rows = (
                relation.exact(factor.at, columns) if exact else rows_of(relation, factor, columns)
            )
            parts.append(f"{quoted(leaf)} AS MATERIALIZED ({rows})")
        return f"WITH {', '.join(parts)}" if parts else ""

    # --- what users see

    def visible(self, name: str, time: Csn) -> Counter[Row]:
        columns = [c.name for c in self.rolled(name).block.columns]
        return Counter(
            self.run(f"SELECT {listed(columns)} FROM ({self.rolled(name).visible(time)})")
        )

    def changes(self, name: str, lo: Csn, hi: Csn) -> list[Change]:
        """The visible changes of a block in (lo, hi]."""
        columns = [c.name for c in self.rolled(name).block.columns]
        rows = self.run(self.rolled(name).changes(lo, hi, columns))
        return [Change(Csn(stamp), count, tuple(row)) for *row, count, stamp in rows]


@dataclass
class Recursion:
    """The queries of one recursion, their results kept in tables."""

    warehouse: Warehouse
    leaves: Leaves
    made = 0

    def keep(self, rows: exp.Query) -> fixpoint.Kept:
        Recursion.made += 1
        name = f"{self.warehouse.prefix}round_{Recursion.made}"
        sql = text(rows)
        leaves = self.warehouse.bound(self.leaves, only=sql)
        made = self.warehouse.run(f"CREATE TABLE {quoted(name)} AS {leaves} SELECT * FROM ({sql})")
        return fixpoint.Kept(name, made[0][0])

    def least(self, number: exp.Query) -> int | None:
        return self.warehouse.run(text(number))[0][0]


def rows_of(relation: SourceTable | RolledTable, factor: Factor, columns: Sequence[str]) -> str:
    """The rows of a factor: the columns, the count and, where the factor is timed, the stamp."""
    match factor:
        case Changes(_, lo, hi):
            return relation.changes(lo, hi, columns)
        case AsOf(_, at):
            return relation.at(at, columns)
        case Timed(_, lo, at):
            old = f"SELECT *, CAST(0 AS BIGINT) AS {STAMP} FROM ({relation.at(lo, columns)})"
            return f"{old} UNION ALL BY NAME {relation.changes(lo, at, columns)}"
