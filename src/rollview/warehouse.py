"""The warehouse: the one public class. Opens the ledger and calls the three processes.

O1  Reading needs no lock; the first writing call takes the warehouse's write lock, settles what a writer that died
    had begun, and keeps the lock until close.
O2  Nothing is decided here: capture, propagate, apply, build, define, refresh and verify do the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rollview.calculus.rolling import high_water_mark
from rollview.changes import COUNT, STAMP, Csn
from rollview.errors import ConfigError, RollviewError
from rollview.ledger.lock import WriteLock
from rollview.ledger.store import Ledger, Refresh, Source, ViewRow
from rollview.reports import ApplyReport, SourceReport, ViewStatus
from rollview.times import Time, csn_of
from rollview.views.blocks import inputs
from rollview.views.functions import declared_functions
from rollview.views.statements import (
    AlterView,
    CreateView,
    DropView,
    ExplainView,
    RefreshViews,
    Select,
    parse_statement,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rollview.apply import FoldReport
    from rollview.build import Progress
    from rollview.capture import CaptureReport
    from rollview.explain import Explanation
    from rollview.propagate import PropagateReport
    from rollview.refresh import RefreshReport
    from rollview.spark.kept import Kept
    from rollview.spark.relations import Relations
    from rollview.spark.verify import VerifyReport


def silent(done: int, total: int, what: str) -> None:
    """Progress that nobody watches."""


class Warehouse:
    """Sources, views and their times in one folder; see docs/python.md."""

    def __init__(
        self,
        path: str | Path,
        spark: SparkSession | None = None,
        *,
        ledger_url: str | None = None,
        master: str | None = None,
        settings: Mapping[str, str] | None = None,
        deterministic_functions: Sequence[str] = (),
        create: bool = True,
        progress: Progress | None = None,
    ) -> None:
        self.path = Path(path).expanduser().resolve()
        self.ledger = Ledger.open(self.path, ledger_url, create=create)
        self._spark, self._master, self._settings = spark, master, settings
        self._declared = declared_functions(deterministic_functions)
        self._lock: WriteLock | None = None
        self._kept: Kept | None = None
        self.progress: Progress = progress or silent
        self.recovered: list[str] = []

    def __enter__(self) -> Warehouse:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the lock, the ledger and what is kept in memory go; the Spark session stays."""
        if self._kept is not None:
            self._kept.clear()
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        self.ledger.close()

    @property
    def spark(self) -> SparkSession:
        """The Spark session; made at the first use unless one was given."""
        from rollview.spark.session import adopt_session, make_session

        if self._spark is None:
            self._spark = make_session(self._settings, self._master)
        else:
            adopt_session(self._spark)
        return self._spark

    @property
    def relations(self) -> Relations:
        """Every table and view by its name."""
        from rollview.spark.kept import Kept
        from rollview.spark.relations import Relations

        if self._kept is None:
            self._kept = Kept()
        return Relations(self.spark, self.ledger, self.path, self._kept, declared=self._declared)

    def write(self) -> None:
        """Become the one writer (O1)."""
        from rollview.apply import recover

        if self._lock is None:
            lock = WriteLock(self.path, self.ledger)
            lock.acquire()
            try:
                self.recovered = recover(self.ledger, self.path)
            except Exception:
                lock.release()
                raise
            self._lock = lock

    def add_source(
        self,
        name: str,
        *,
        delta: str | Path | Mapping[str, str] | None = None,
        postgres: str | None = None,
        tables: Sequence[str] | Mapping[str, str] | None = None,
        mode: str | None = None,
        hold: float | str | None = None,
    ) -> SourceReport:
        """Register a source and its tables as of now; calling it again adds tables that are new.

        For PostgreSQL: `mode` "replica" (unless said otherwise) keeps an exact copy of each table that is added, "live"
        asks the server; `hold` is how long a question may hold a snapshot there ("30 seconds").
        """
        from rollview.replicas import add_postgresql
        from rollview.sources.registration import add_delta_lake

        if (postgres is None) == (delta is None):
            raise ConfigError(f'source "{name}" cannot be added',
                              "it is either Delta Lake or PostgreSQL",
                              "add_source(name, delta=folder), or postgres=url")  # fmt: skip
        self.write()
        self.capture()
        source = self.ledger.source(name)
        if postgres is not None and source is not None:
            return self._add_tables(source, postgres, tables, mode, hold)
        if postgres is not None:
            return add_postgresql(
                lambda: self.spark,
                self.ledger,
                self.path,
                name,
                postgres,
                tables,
                mode or "replica",
                hold,
            )
        assert delta is not None, "one of the two was given"
        return add_delta_lake(
            self.spark, self.ledger, name, delta, list(tables) if tables else None
        )

    def _add_tables(
        self,
        source: Source,
        postgres: str,
        tables: Sequence[str] | Mapping[str, str] | None,
        mode: str | None,
        hold: float | str | None,
    ) -> SourceReport:
        from rollview.capture import capture
        from rollview.replicas import add_tables

        if source.config.get("postgres") != postgres:
            raise ConfigError(f'source "{source.name}" is another database',
                              hint="give it another name, or drop the source first")  # fmt: skip

        def captured(position: int) -> Csn:
            report = capture(self.ledger, self.path, {source.name: position})
            for relation in self.ledger.relations(source.name):
                if relation.stopped is not None:
                    raise report.problems[0]
            return report.csn

        return add_tables(
            lambda: self.spark, self.ledger, self.path, source, tables, mode, hold, captured
        )

    def sources(self) -> list[Source]:
        """All sources."""
        return self.ledger.sources()

    def resync(self, name: str) -> SourceReport:
        """Mend a source that stopped: by difference where there is a copy, else registered anew."""
        from rollview.resync import resync_postgresql
        from rollview.sources.registration import resync

        self.write()
        self.capture()
        source = self.ledger.source(name.partition(".")[0])
        if source is not None and source.kind == "postgresql":
            return resync_postgresql(lambda: self.spark, self.ledger, self.path, source)
        return resync(self.spark, self.ledger, name)

    def subscribe(self, view: str, subscriber: str, after: Time) -> None:
        """Keep the view's changes after `after` until the subscriber moves on or unsubscribes."""
        self.write()
        self.ledger.set_subscriber(self.view(view).name, subscriber, csn_of(self.ledger, after))

    def unsubscribe(self, view: str, subscriber: str) -> None:
        """The subscriber needs the view's changes no more."""
        self.write()
        self.ledger.drop_subscriber(self.view(view).name, subscriber)

    def drop_source(self, name: str) -> None:
        """Forget a source that no view reads."""
        from rollview.replicas import drop_on_server
        from rollview.sources.registration import check_unread, drop_source

        self.write()
        check_unread(self.ledger, name)
        source = self.ledger.source(name)
        assert source is not None, "it was just found"
        drop_on_server(source, self.ledger)
        drop_source(self.ledger, name)

    def sql(self, text: str) -> Any:
        """Run one statement: CREATE, REFRESH, DROP, ALTER MATERIALIZED VIEW, EXPLAIN CREATE, or SELECT."""
        match parse_statement(text):
            case CreateView() as statement:
                return self._create(statement)
            case RefreshViews(names, full, to):
                done = self.refresh(list(names), to=to, full=full)
                return done[0] if isinstance(done, list) and len(done) == 1 else done
            case DropView(name, if_exists):
                if not (if_exists and self.ledger.view(name) is None):
                    self.drop(name)
                return None
            case AlterView(name, properties):
                return self.alter(name, dict(properties))
            case ExplainView(create):
                return self.explain_sql(create.name, create.query)
            case Select(query):
                return self.query(query)

    def create(self, name: str, sql: str, **options: Any) -> RefreshReport:
        """Create a view from a SELECT and build it as of now."""
        from rollview.define import create

        self.write()
        at = self.capture().csn
        return create(self.relations, name, sql, options, at, self.progress)

    def _create(self, statement: CreateView) -> RefreshReport | None:
        from rollview.define import create, parsed

        if self.ledger.view(statement.name) is not None:
            if statement.if_not_exists:
                return None
            if statement.or_replace:
                parsed(self.relations, statement.name, statement.query)
                self.drop(statement.name)
        self.write()
        at = self.capture().csn
        return create(self.relations, statement.name, statement.query, dict(statement.properties), at,
                      self.progress)  # fmt: skip

    def alter(self, view: str, options: Mapping[str, Any]) -> None:
        """Change options of a view."""
        from rollview.define import alter

        self.write()
        alter(self.ledger, view, options)

    def drop(self, view: str) -> None:
        """Forget a view and its contents."""
        from rollview.define import drop

        self.write()
        drop(self.ledger, view)

    def capture(self) -> CaptureReport:
        """One round of capture: what the sources committed since the last one."""
        from rollview.capture import capture

        self.write()
        return capture(self.ledger, self.path)

    def propagate(self, view: str, to: Time = None) -> PropagateReport:
        """Extend the view delta up to `to`; the view time stays."""
        from rollview.propagate import propagate

        self.write()
        row = self.view(view)
        done = propagate(self.relations, row.definition, csn_of(self.ledger, to), row.options)
        if done.problem is not None:
            raise done.problem
        return done

    def apply(self, view: str, to: Time = None) -> ApplyReport:
        """Roll the view to `to`, forward or back; None is its high-water mark."""
        from rollview.apply import apply, face

        self.write()
        mark = high_water_mark(face(self.ledger, view).frontier)
        before = self.view(view).view_time
        return ApplyReport(
            view,
            before,
            apply(self.ledger, view, csn_of(self.ledger, to) if to is not None else mark),
        )

    def fold(self, view: str, to: Time = None) -> FoldReport:
        """Work the log of a view or copied table into the stored rows, then clean up what is past its `keep`."""
        from rollview.apply import fold, sweep_folded

        self.write()
        if self.ledger.block(view) is not None and self.ledger.relation(view) is not None:
            return self._fold_table(view, csn_of(self.ledger, to))
        row = self.view(view)
        limit = row.view_time if to is None else csn_of(self.ledger, to)
        report = fold(self.relations, row, Csn(limit or 0))
        self.tidy(view)
        for block in self.ledger.blocks(view):
            sweep_folded(self.path / block.folder / "folded", block.folded_version or 0)
        return report

    def tidy(self, view: str) -> None:
        """Forget what is past the view's `keep`, gather small steps of the rest, sweep up what waited long enough."""
        from rollview.apply import forget, sweep
        from rollview.gather import gather

        self.write()
        forget(self.relations, self.view(view))
        for block in self.ledger.blocks(view):
            gather(self.relations, block.name)
        sweep(self.ledger, self.path)

    def _fold_table(self, name: str, to: Csn) -> FoldReport:
        from rollview.apply import sweep, sweep_folded
        from rollview.tables import fold_table, forget_table

        report = fold_table(self.relations, name, to)
        relation, block = self.ledger.relation(name), self.ledger.block(name)
        assert relation is not None and block is not None, "it was just folded"
        forget_table(self.ledger, relation)
        sweep(self.ledger, self.path)
        sweep_folded(self.path / block.folder / "folded", block.folded_version or 0)
        return report

    def refresh(
        self, view: str | Sequence[str] | None = None, to: Time = None, full: bool = False
    ) -> Any:
        """Capture, propagate and apply; a list of views (or None: all) comes to one common time, side by side.

        Of several, those that can go on do so before the error of the first that cannot is raised.
        """
        from rollview.rounds import refresh_views

        self.write()
        self.capture()
        names = [view] if isinstance(view, str) else view
        rows = self.ledger.views() if names is None else [self.view(name) for name in names]
        at = csn_of(self.ledger, to)
        done = refresh_views(self.relations, rows, at, full, self.progress)
        reports: list[RefreshReport] = []
        for row in rows:
            outcome = done[row.name]
            if isinstance(outcome, RollviewError):
                raise outcome
            reports.append(outcome)
        return reports[0] if isinstance(view, str) else reports

    def view(self, name: str) -> ViewRow:
        """The ledger's row of a view."""
        row = self.ledger.view(name)
        if row is None:
            known = ", ".join(v.name for v in self.ledger.views()) or "none yet"
            raise ConfigError(f'there is no view "{name}"', f"views: {known}",
                              "rollview status lists them")  # fmt: skip
        return row

    def status(self, view: str | None = None) -> ViewStatus | list[ViewStatus]:
        """Where a view (or every view) stands; needs neither Spark nor the lock."""
        with self.ledger.snapshot():
            if view is not None:
                return self._status(self.view(view))
            return [self._status(row) for row in self.ledger.views()]

    def _status(self, row: ViewRow) -> ViewStatus:
        face = self.ledger.block(row.name)
        assert face is not None, "a view has a face"
        newest = self.ledger.newest_csn()
        block = row.definition.blocks[-1]
        frontier = {f"{k}:{i.relation}": at for k, (i, at) in
                    enumerate(zip(inputs(block), face.frontier, strict=True))}  # fmt: skip
        behind = self.ledger.commits(row.view_time or Csn(0), newest)
        since = behind[0].committed_at if behind else None
        lag = (datetime.now(timezone.utc) - since).total_seconds() if since else 0.0
        steps = self.ledger.steps(row.name, min(face.fold_times, default=Csn(0)), None)
        return ViewStatus(
            name=row.name, state=row.state, reason=row.reason, view_time=row.view_time,
            view_time_at=self.ledger.committed_at(row.view_time) if row.view_time else None,
            high_water_mark=high_water_mark(face.frontier), oldest=face.oldest, newest=newest,
            frontier=frontier, policy=str(row.options.get("policy", "auto")),
            lag=newest - (row.view_time or 0), lag_seconds=lag, rows=face.rows,
            pending_steps=len(steps), pending_rows=sum(s.rows for s in steps),
            fold_time=min(face.fold_times, default=Csn(0)),
            resolution=str(row.options.get("resolution", "")),
        )  # fmt: skip

    def table(self, view: str, as_of: Time = None) -> DataFrame:
        """The visible rows, at the view time or as of another; the view does not move."""
        return self.relations.rolled(view).table(self._reading_time(view, as_of))

    def _reading_time(self, view: str, as_of: Time) -> Csn:
        from rollview.spark.rolled import still_being_built

        row = self.view(view)
        if as_of is not None:
            return csn_of(self.ledger, as_of)
        if row.view_time is None:
            raise still_being_built(view)
        return row.view_time

    def changes(self, view: str, lo: Time, hi: Time = None) -> DataFrame:
        """The view's changes in (lo, hi]: its columns, `_stamp` and `_count`."""
        row, table = self.view(view), self.relations.rolled(view)
        names = [c.name for c in row.definition.columns]
        start = csn_of(self.ledger, lo)
        end = csn_of(self.ledger, hi) if hi is not None else table.mark
        if start > end:
            raise ConfigError(
                f"({start}, {end}] is not an interval", hint="name the earlier time first"
            )
        rows = table.changes(start, end, names)
        return rows.withColumnRenamed(STAMP, "_stamp").withColumnRenamed(COUNT, "_count")

    def verify(self, view: str) -> VerifyReport:
        """Compare the view with a recompute at its view time, as bags."""
        from rollview.spark.verify import verify

        return verify(self.relations, self.view(view), self._reading_time(view, None))

    def query(self, sql: str, as_of: Time = None) -> DataFrame:
        """Answer a SELECT over views and tables, all read as of one time."""
        from rollview.query import answered

        return answered(self.relations, sql, None if as_of is None else csn_of(self.ledger, as_of))

    def explain(self, view: str) -> Explanation:
        """What the next refresh would run: technique, terms, SQL, cost, and the time plane."""
        from rollview.explain import explain

        return explain(self.relations, self.view(view))

    def explain_sql(self, name: str, sql: str) -> Explanation:
        """What a view would come down to, without creating it."""
        from rollview.explain import explain_definition

        return explain_definition(self.relations, name, sql)

    def history(self, view: str | None = None, limit: int = 50) -> list[Refresh]:
        """The latest refreshes, newest first; needs neither Spark nor the lock."""
        return self.ledger.history(view, limit)
