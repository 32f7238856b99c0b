"""The ledger's tables, the same in SQLite and PostgreSQL.

L1  The columns of a table are the fields of its row in ledger/rows.py (L0); only rv_refreshes adds
    a number of its own.
L2  Times are UTC with microseconds. A naive datetime is refused: its zone would have to be guessed.
L3  A child goes with its parent (ON DELETE CASCADE); that it has one is checked at the end of the
    transaction, so the order of writes inside one does not matter.
The prefix rv_ keeps the names apart from those of others in a shared PostgreSQL database.
"""

from __future__ import annotations

import json
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

from rollview.changes import Csn
from rollview.views.blocks import Definition
from rollview.views.stored import from_json, to_json

# SQLite's INTEGER has 64 bits, and only under that name is a primary key the row's own number.
Whole = BigInteger().with_variant(Integer(), "sqlite")


class Utc(TypeDecorator[datetime]):
    """An aware datetime, kept in UTC (L2)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To UTC; SQLite keeps text without a zone, which then sorts as time does."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"naive datetime {value}: the ledger keeps aware ones")
        moment = value.astimezone(timezone.utc)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Back to an aware datetime in UTC, whatever the session's zone is."""
        if value is None:
            return None
        if value.tzinfo is None:
            return value.replace(tzinfo=timezone.utc)
        return value.astimezone(timezone.utc)


class JsonText(TypeDecorator[Any]):
    """A JSON value as text, so that both databases keep exactly the same."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """To JSON; NaN and infinities are refused, being no JSON."""
        return None if value is None else json.dumps(value, allow_nan=False)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """From JSON."""
        return None if value is None else json.loads(value)


class Times(JsonText):
    """A tuple of CSNs."""

    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> tuple[Csn, ...] | None:
        """From a JSON list."""
        return None if value is None else tuple(json.loads(value))


class ColumnList(JsonText):
    """A tuple of (name, type) pairs."""

    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """From a JSON list of lists."""
        return None if value is None else tuple((name, kind) for name, kind in json.loads(value))


class DefinitionText(JsonText):
    """A view definition."""

    cache_ok = True

    def process_bind_param(self, value: Definition | None, dialect: Dialect) -> str | None:
        """To JSON (views/stored.py)."""
        return None if value is None else json.dumps(to_json(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Definition | None:
        """From JSON (views/stored.py)."""
        return None if value is None else _definition(value)


@lru_cache(maxsize=1024)
def _definition(text: str) -> Definition:
    """Read once in a process: every refresh and every reader asks for it, and a definition never changes."""
    return from_json(json.loads(text))


metadata = MetaData()


def _name(*more: Any) -> Column[str]:
    return Column("name", Text, *more, primary_key=True)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _whole(name: str, nullable: bool = False) -> Column[int]:
    return Column(name, Whole, nullable=nullable)


def _key(name: str) -> Column[int]:
    return Column(name, Whole, primary_key=True, autoincrement=False)


def _at(name: str) -> Column[datetime]:
    return Column(name, Utc, nullable=False)


def _json(name: str) -> Column[Any]:
    return Column(name, JsonText, nullable=False)


def _parent(name: str, target: str, key: bool = False, nullable: bool = False) -> Column[Any]:
    reference = ForeignKey(target, ondelete="CASCADE", deferrable=True, initially="DEFERRED")
    return Column(name, reference, primary_key=key, nullable=nullable)


warehouse = Table(
    "rv_warehouse", metadata,
    Column("id", Text, primary_key=True), _whole("schema_version"), _at("created_at"),
)  # fmt: skip

sources = Table(
    "rv_sources", metadata, _name(), _text("kind"), _json("config"), _at("added_at")
)  # fmt: skip

streams = Table(
    "rv_streams", metadata,
    _parent("source", "rv_sources.name", key=True), _text("slot"), _text("publication"),
    _whole("publication_oid"), _text("system_id"), _whole("timeline"), _whole("position"),
    _json("fingerprint"),
)  # fmt: skip

relations = Table(
    "rv_relations", metadata,
    _name(), _parent("source", "rv_sources.name"), _text("location"), _text("table_id"),
    _whole("position"), Column("columns", ColumnList, nullable=False),
    _whole("base_csn"), _whole("base_position"), _whole("rows"), _whole("bytes"),
    Column("stopped", Text), _json("properties"),
    Index("rv_relations_source", "source"),
)  # fmt: skip

epochs = Table(
    "rv_schema_epochs", metadata,
    _parent("relation", "rv_relations.name", key=True), _key("position"), _whole("csn"),
    Column("columns", ColumnList, nullable=False),
)  # fmt: skip

commits = Table(
    "rv_commits", metadata,
    _key("csn"), _text("source"), _whole("position"), _whole("xid", nullable=True),
    _at("committed_at"), _text("operation"),
    Index("rv_commits_time", "committed_at", "csn"),
    # A live table's question looks up the transactions that its snapshot does not show; capture, those that a
    # server delivers again.
    Index("rv_commits_xid", "source", "xid"),
    Index("rv_commits_position", "source", "position"),
)  # fmt: skip

changes = Table(
    "rv_changes", metadata,
    _parent("csn", "rv_commits.csn", key=True), _parent("relation", "rv_relations.name", key=True),
    _whole("position"), _at("committed_at"), _text("operation"),
    _whole("inserted"), _whole("deleted"), _json("files"),
    # Covers changed_rows(), which is asked of every input before every step.
    Index("rv_changes_relation", "relation", "csn", "inserted", "deleted"),
)  # fmt: skip

views = Table(
    "rv_views", metadata,
    _name(), _text("sql"), Column("definition", DefinitionText, nullable=False), _json("options"),
    _text("state"), _text("reason"), _at("created_at"), _whole("view_time", nullable=True),
)  # fmt: skip

blocks = Table(
    "rv_blocks", metadata,
    _name(), _parent("view", "rv_views.name", nullable=True), _whole("number"),
    Column("folder", Text, nullable=False, unique=True),
    Column("frontier", Times, nullable=False), _whole("oldest"),
    _whole("folded_version", nullable=True), Column("fold_times", Times, nullable=False),
    _whole("rows"), _whole("bytes"), Column("told_by", JsonText),
    UniqueConstraint("view", "number"),
)  # fmt: skip

steps = Table(
    "rv_steps", metadata,
    Column("id", Text, primary_key=True), _parent("block", "rv_blocks.name"),
    Column("folder", Text, nullable=False, unique=True),
    _whole("lo"), _whole("hi"), _whole("rows"), _whole("taken"), _whole("bytes"),
    _at("committed_at"),
    Index("rv_steps_block", "block", "hi"),
)  # fmt: skip

trash = Table("rv_trash", metadata, Column("folder", Text, primary_key=True), _at("since"))

intents = Table(
    "rv_intents", metadata,
    Column("id", Text, primary_key=True), _text("kind"), _text("subject"), _json("payload"),
    _at("started_at"),
)  # fmt: skip

subscribers = Table(
    "rv_subscribers", metadata,
    Column("view", Text, primary_key=True), Column("name", Text, primary_key=True), _whole("csn"),
)  # fmt: skip

refreshes = Table(
    "rv_refreshes", metadata,
    Column("number", Whole, primary_key=True),
    _text("view"), _at("started_at"), Column("seconds", Double, nullable=False),
    _text("technique"), _text("reason"), _text("state"), _text("error"),
    _whole("from_csn", nullable=True), _whole("to_csn", nullable=True),
    _whole("rows"), _whole("bytes"), _whole("jobs"), _json("details"),
    Index("rv_refreshes_view", "view", "number"),
)  # fmt: skip

writers = Table(
    "rv_writers", metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    _whole("pid"), _text("host"), _text("command"), _at("started_at"),
)  # fmt: skip
