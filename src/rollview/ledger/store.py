"""The ledger: everything small and durable. What it has not committed has not happened.

L16  The timeline has no gaps: a commit gets the CSN after the newest, once.
L17  A folder that a block or a step names is not in the trash; a folder that they cease to name is.
L18  Dropping what is not there does nothing; changing what is not there raises.
Each method is atomic by itself and can be grouped with others (ledger/transactions.py). Safe to use
from several threads. Knows nothing of Spark, and of rows only their number.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Engine, Select, Table, Update, delete, func, insert, select, union_all
from sqlalchemy.dialects import postgresql, sqlite

from rollview.changes import Csn
from rollview.errors import ConfigError, StepConflict
from rollview.ledger import tables
from rollview.ledger.opening import opened
from rollview.ledger.rows import (
    BaseRelation,
    BlockRow,
    CapturedChange,
    Commit,
    Intent,
    Json,
    Refresh,
    SchemaEpoch,
    Source,
    Step,
    Stream,
    ViewRow,
    values,
)
from rollview.ledger.statements import (
    BLOCK,
    BLOCKS,
    ENDED,
    FOLDED_BYTES,
    HISTORY,
    HISTORY_OF,
    INTENTS,
    INTENTS_OF,
    NEWEST,
    NOT_TRASH,
    OF,
    SET_BLOCK,
    SET_VIEW,
    STEPS_AFTER,
    STEPS_IN,
    VIEW,
)
from rollview.ledger.transactions import Transactions

__all__ = [
    "BaseRelation", "BlockRow", "CapturedChange", "Commit", "Intent", "Ledger", "Refresh",
    "SchemaEpoch", "Source", "Step", "Stream", "ViewRow",
]  # fmt: skip

R = TypeVar("R")


class Ledger:
    """The durable state of one warehouse."""

    def __init__(self, transactions: Transactions, warehouse_id: str) -> None:
        self._transactions = transactions
        self.warehouse_id = warehouse_id

    @classmethod
    def open(cls, warehouse: Path, url: str | None = None, *, create: bool = False) -> Ledger:
        """The ledger in `<warehouse>/ledger.db`, or in the PostgreSQL database at `url`.

        `create` makes folder and ledger if there are none, and brings an older one up to date.
        """
        return cls(*opened(Path(warehouse), url, create))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @property
    def engine(self) -> Engine:
        """The database, for the lock."""
        return self._transactions.engine

    @property
    def name(self) -> str:
        """The file or the URL without its password."""
        return self._transactions.name

    def atomic(self) -> AbstractContextManager[None]:
        """Everything inside is one write transaction; an inner one joins the outer."""
        return self._transactions.atomic()

    def snapshot(self) -> AbstractContextManager[None]:
        """Everything read inside is of one moment."""
        return self._transactions.snapshot()

    def add_source(self, source: Source) -> None:
        """Register a source."""
        with self.atomic():
            if self.source(source.name) is not None:
                raise ConfigError(f'source "{source.name}" exists already')
            self._insert(tables.sources, source)

    def put_source(self, source: Source) -> None:
        """Replace what is known of a source."""
        self._put(tables.sources, values(source))

    def sources(self) -> list[Source]:
        """All sources, by name."""
        return self._rows(Source, select(tables.sources).order_by(tables.sources.c.name))

    def source(self, name: str) -> Source | None:
        """The source of that name."""
        return self._row(Source, select(tables.sources).where(tables.sources.c.name == name))

    def drop_source(self, name: str) -> None:
        """Forget a source, its relations, their changes and copies; commits stay in the timeline."""
        with self.atomic():
            for relation in self.relations(name):
                self.drop_block(relation.name)
            self._write(delete(tables.sources).where(tables.sources.c.name == name))

    def put_stream(self, stream: Stream) -> None:
        """Insert the stream of a source, or replace what is known of it."""
        self._put(tables.streams, values(stream))

    def stream(self, source: str) -> Stream | None:
        """The stream of that source, if it has one."""
        return self._row(Stream, select(tables.streams).where(tables.streams.c.source == source))

    def put_relation(self, relation: BaseRelation) -> None:
        """Insert the relation, or replace what is known of it."""
        self._put(tables.relations, values(relation))

    def drop_relation(self, name: str) -> None:
        """Forget a relation, its changes and schemas; commits stay in the timeline."""
        self._write(delete(tables.relations).where(tables.relations.c.name == name))

    def relation(self, name: str) -> BaseRelation | None:
        """The base relation of that name."""
        return self._row(
            BaseRelation, select(tables.relations).where(tables.relations.c.name == name)
        )

    def relations(self, source: str | None = None) -> list[BaseRelation]:
        """The base relations, of one source if given, by name."""
        t = tables.relations
        query = select(t) if source is None else select(t).where(t.c.source == source)
        return self._rows(BaseRelation, query.order_by(t.c.name))

    def add_schema_epoch(self, epoch: SchemaEpoch) -> None:
        """Record the columns of a relation from a table version on."""
        self._insert(tables.epochs, epoch)

    def schema_epochs(self, relation: str) -> list[SchemaEpoch]:
        """The relation's schemas, in order of position."""
        t = tables.epochs
        return self._rows(
            SchemaEpoch, select(t).where(t.c.relation == relation).order_by(t.c.position)
        )

    def newest_csn(self) -> Csn:
        """The newest CSN; 0 if nothing was captured yet."""
        return Csn(self._scalar(NEWEST))

    def add_commit(self, commit: Commit, changes: Sequence[CapturedChange]) -> None:
        """Add one transaction to the timeline (L16), with what it did to each relation."""
        self.add_commits([commit], changes)

    def add_commits(self, commits: Sequence[Commit], changes: Sequence[CapturedChange]) -> None:
        """Add several transactions to the timeline, in order (L16), with what they did to each relation."""
        if not commits:
            return
        with self._transactions.writing() as connection:
            first = self.newest_csn() + 1
            wanted = range(first, first + len(commits))
            if [c.csn for c in commits] != list(wanted) or any(
                c.csn not in wanted for c in changes
            ):
                raise StepConflict(
                    f"commits {commits[0].csn} to {commits[-1].csn} cannot be added to the timeline",
                    f"the next CSN is {first}, one for each commit",
                )
            connection.execute(insert(tables.commits), [values(commit) for commit in commits])
            if changes:
                connection.execute(insert(tables.changes), [values(change) for change in changes])

    def commits(self, lo: Csn, hi: Csn, source: str | None = None) -> list[Commit]:
        """The timeline in (lo, hi], of one source if given."""
        t = tables.commits
        query = select(t).where(t.c.csn > lo, t.c.csn <= hi).order_by(t.c.csn)
        return self._rows(Commit, query if source is None else query.where(t.c.source == source))

    def commits_past(self, source: str, position: int) -> list[Commit]:
        """The source's commits past a position of its own, in order."""
        t = tables.commits
        query = select(t).where(t.c.source == source, t.c.position > position).order_by(t.c.csn)
        return self._rows(Commit, query)

    def transactions(self, source: str, at: Csn, hi: Csn, xmin: int) -> list[tuple[Csn, int]]:
        """CSN and id of the source's transactions in (at, hi], and of earlier ones whose id is not below `xmin`."""
        t = tables.commits
        later = select(t.c.csn, t.c.xid, t.c.source).where(t.c.csn > at, t.c.csn <= hi)
        earlier = select(t.c.csn, t.c.xid, t.c.source).where(
            t.c.source == source, t.c.xid >= xmin, t.c.csn <= at
        )
        # Each part is found by an index; the source of the later ones is looked at here, since SQLite would take
        # the index of the source for it and read its whole timeline.
        with self._transactions.reading() as connection:
            found = connection.execute(union_all(later, earlier))
            return [(Csn(csn), xid) for csn, xid, of in found if of == source and xid is not None]

    def changes_of(self, relation: str, lo: Csn, hi: Csn) -> list[CapturedChange]:
        """What happened to the relation in (lo, hi], ascending."""
        t = tables.changes
        query = select(t).where(t.c.relation == relation, t.c.csn > lo, t.c.csn <= hi)
        return self._rows(CapturedChange, query.order_by(t.c.csn))

    def changed_rows(self, relation: str, lo: Csn, hi: Csn) -> int:
        """How many rows of the relation changed in (lo, hi]."""
        t = tables.changes
        total = func.coalesce(func.sum(t.c.inserted + t.c.deleted), 0)
        query = select(total).where(t.c.relation == relation, t.c.csn > lo, t.c.csn <= hi)
        return int(self._scalar(query))

    def last_change(self, relation: str, at: Csn) -> CapturedChange | None:
        """The newest change of the relation that is not later than `at`."""
        t = tables.changes
        query = select(t).where(t.c.relation == relation, t.c.csn <= at)
        return self._row(CapturedChange, query.order_by(t.c.csn.desc()).limit(1))

    def csn_at(self, moment: datetime) -> Csn:
        """The largest CSN whose transaction committed at `moment` or earlier; 0 if there is none.

        Clocks of several sources disagree. So the state at this CSN shows every captured one that
        committed up to `moment`, and may also show one that committed later by its own clock.
        """
        t = tables.commits
        query = select(func.coalesce(func.max(t.c.csn), 0)).where(t.c.committed_at <= moment)
        return Csn(self._scalar(query))

    def committed_at(self, csn: Csn) -> datetime | None:
        """When the transaction committed, by the clock of its source."""
        t = tables.commits
        when: datetime | None = self._scalar(select(t.c.committed_at).where(t.c.csn == csn))
        return when

    def add_view(self, view: ViewRow, blocks: Sequence[BlockRow]) -> None:
        """Register a view with its blocks."""
        with self._transactions.writing() as connection:
            if self.view(view.name) is not None:
                raise ConfigError(f'view "{view.name}" exists already')
            connection.execute(insert(tables.views), values(view))
            for block in blocks:
                connection.execute(insert(tables.blocks), values(block))
                self.forget_trash(block.folder)

    def view(self, name: str) -> ViewRow | None:
        """The view of that name."""
        return self._row(ViewRow, VIEW, name=name)

    def views(self) -> list[ViewRow]:
        """All views, by name."""
        return self._rows(ViewRow, select(tables.views).order_by(tables.views.c.name))

    def set_view(
        self,
        name: str,
        *,
        state: str | None = None,
        reason: str | None = None,
        view_time: Csn | None = None,
        options: Json | None = None,
    ) -> None:
        """Change what is given."""
        given = {"state": state, "reason": reason, "view_time": view_time, "options": options}
        self._set(SET_VIEW, "view", name, given)

    def drop_view(self, name: str) -> None:
        """Forget a view with its blocks, steps and subscribers (L17); its history stays."""
        with self._transactions.writing() as connection:
            blocks = self.blocks(name)
            folders = [block.folder for block in blocks]
            folders += [step.folder for block in blocks for step in self.steps(block.name)]
            gone = tables.subscribers.c.view.in_([name, *(block.name for block in blocks)])
            connection.execute(delete(tables.subscribers).where(gone))
            connection.execute(delete(tables.views).where(tables.views.c.name == name))
            for folder in folders:
                self.put_trash(folder)

    def add_block(self, block: BlockRow) -> None:
        """Register a rolled table of no view: a captured table."""
        with self.atomic():
            self._insert(tables.blocks, block)
            self.forget_trash(block.folder)

    def drop_block(self, name: str) -> None:
        """Forget a rolled table and its steps (L17)."""
        with self._transactions.writing() as connection:
            row = self.block(name)
            folders = [step.folder for step in self.steps(name)] + ([row.folder] if row else [])
            connection.execute(delete(tables.blocks).where(tables.blocks.c.name == name))
            for folder in folders:
                self.put_trash(folder)

    def block(self, name: str) -> BlockRow | None:
        """The block of that name."""
        return self._row(BlockRow, BLOCK, name=name)

    def blocks(self, view: str) -> list[BlockRow]:
        """The blocks of the view, in order of number."""
        return self._rows(BlockRow, BLOCKS, name=view)

    def every_block(self) -> list[BlockRow]:
        """The blocks of all views, and those of no view."""
        return self._rows(BlockRow, select(tables.blocks))

    def set_block(
        self,
        name: str,
        *,
        frontier: tuple[Csn, ...] | None = None,
        oldest: Csn | None = None,
        folded_version: int | None = None,
        fold_times: tuple[Csn, ...] | None = None,
        rows: int | None = None,
        bytes: int | None = None,
        told_by: Json | None = None,
    ) -> None:
        """Change what is given."""
        given: dict[str, Any] = {"frontier": frontier, "oldest": oldest}
        given |= {"folded_version": folded_version}
        given |= {"fold_times": fold_times, "rows": rows, "bytes": bytes, "told_by": told_by}
        self._set(SET_BLOCK, "block", name, given)

    def add_step(self, step: Step) -> None:
        """Make a written step visible."""
        with self.atomic():
            self._insert(tables.steps, step)
            self.forget_trash(step.folder)

    def steps(self, block: str, lo: Csn | None = None, hi: Csn | None = None) -> list[Step]:
        """The steps of the block that may have a stamp in (lo, hi], in order of their stamps."""
        after = -1 if lo is None else lo
        if hi is None:
            return self._rows(Step, STEPS_AFTER, name=block, lo=after)
        return self._rows(Step, STEPS_IN, name=block, lo=after, hi=hi)

    def drop_steps(self, ids: Iterable[str]) -> None:
        """Forget steps; their folders go to the trash (L17)."""
        t = tables.steps
        with self._transactions.writing() as connection:
            for id in ids:
                folder = connection.execute(
                    delete(t).where(t.c.id == id).returning(t.c.folder)
                ).scalar()
                if folder is not None:
                    self.put_trash(folder)

    def trash(self) -> list[tuple[str, datetime]]:
        """Folders that nothing names any more, and since when, oldest first."""
        t = tables.trash
        with self._transactions.reading() as connection:
            rows = connection.execute(select(t.c.folder, t.c.since).order_by(t.c.since, t.c.folder))
            return [(folder, since) for folder, since in rows]

    def put_trash(self, folder: str) -> None:
        """Let a folder wait for its deletion; one that waits already keeps its time."""
        with self.atomic():
            for t in (tables.blocks, tables.steps):
                if self._scalar(select(t.c.folder).where(t.c.folder == folder)) is not None:
                    raise StepConflict(f'folder "{folder}" is in use and cannot be thrown away')
            row = {"folder": folder, "since": datetime.now(timezone.utc)}
            self._put(tables.trash, row, replace=False)

    def forget_trash(self, folder: str) -> None:
        """The folder is deleted, or in use again."""
        self._write(NOT_TRASH, {"name": folder})

    def begin(self, kind: str, subject: str, payload: Json) -> Intent:
        """Record what is about to be done, so that a restart finds it."""
        intent = Intent(uuid.uuid4().hex, kind, subject, payload, datetime.now(timezone.utc))
        self._insert(tables.intents, intent)
        return intent

    def end(self, intent_id: str) -> None:
        """It is done, or given up."""
        self._write(ENDED, {"name": intent_id})

    def intents(self, kind: str | None = None) -> list[Intent]:
        """What was begun and not ended, oldest first."""
        if kind is None:
            return self._rows(Intent, INTENTS)
        return self._rows(Intent, INTENTS_OF, name=kind)

    def being_built(self, view: str) -> bool:
        """Whether a build of the view was begun and not ended."""
        return any(intent.subject == view for intent in self.intents("build"))

    def set_subscriber(self, view: str, name: str, csn: Csn) -> None:
        """Keep the view's changes after `csn` for the subscriber."""
        self._put(tables.subscribers, {"view": view, "name": name, "csn": csn})

    def subscribers(self, view: str) -> dict[str, Csn]:
        """Who still needs the view's changes, each after which CSN."""
        t = tables.subscribers
        with self._transactions.reading() as connection:
            rows = connection.execute(select(t.c.name, t.c.csn).where(t.c.view == view))
            return {name: Csn(csn) for name, csn in rows}

    def drop_subscriber(self, view: str, name: str) -> None:
        """The subscriber needs nothing any more."""
        t = tables.subscribers
        self._write(delete(t).where(t.c.view == view, t.c.name == name))

    def add_refresh(self, r: Refresh) -> None:
        """Add a row to the history."""
        self._insert(tables.refreshes, r)

    def history(self, view: str | None = None, limit: int = 50) -> list[Refresh]:
        """The latest refreshes, of one view if given, newest first."""
        if view is None:
            return self._rows(Refresh, HISTORY, most=limit)
        return self._rows(Refresh, HISTORY_OF, name=view, most=limit)

    def bytes_of(self, view: str, technique: str, since: datetime) -> int:
        """How many bytes the view's refreshes of that technique had to do with since then."""
        given = {"name": view, "technique": technique, "since": since}
        return int(self._scalar(FOLDED_BYTES, **given))

    def _rows(self, kind: type[R], query: Select[Any], **given: object) -> list[R]:
        """The rows that the query finds: its columns are the fields of `kind`, in order (L1)."""
        with self._transactions.reading() as connection:
            return [kind(*row) for row in connection.execute(query, given)]

    def _row(self, kind: type[R], query: Select[Any], **given: object) -> R | None:
        return next(iter(self._rows(kind, query, **given)), None)

    def _scalar(self, query: Select[Any], **given: object) -> Any:
        with self._transactions.reading() as connection:
            return connection.execute(query, given).scalar()

    def _write(self, statement: Any, given: dict[str, Any] | None = None) -> int:
        with self._transactions.writing() as connection:
            return int(connection.execute(statement, given).rowcount)

    def _insert(self, table: Table, row: Any) -> None:
        self._write(insert(table), values(row))

    def _put(self, table: Table, row: dict[str, Any], replace: bool = True) -> None:
        """Insert by primary key; a row that is there is replaced in place, or left alone."""
        dialect = sqlite if self.engine.dialect.name == "sqlite" else postgresql
        statement = dialect.insert(table).values(row)
        key = [column.name for column in table.primary_key]
        if replace:
            rest = {name: value for name, value in row.items() if name not in key}
            statement = statement.on_conflict_do_update(index_elements=key, set_=rest)
        else:
            statement = statement.on_conflict_do_nothing(index_elements=key)
        self._write(statement)

    def _set(self, statement: Update, kind: str, name: str, given: dict[str, Any]) -> None:
        changed = {column: value for column, value in given.items() if value is not None}
        with self.atomic():
            if changed and not self._write(statement, {**changed, OF.key: name}):
                raise StepConflict(f'{kind} "{name}" is not there and cannot be changed')
