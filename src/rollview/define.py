"""Define: views come, change their options, and go.

V1  A definition is checked as a whole before anything is written; a refused one leaves nothing behind.
V2  A new view is registered with the CSN it is built at; if the build is interrupted, the next refresh goes on with
    it; if it fails, the view is taken back.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from rollview.apply import KEEP
from rollview.build import Progress
from rollview.calculus.cost import derived_pays
from rollview.changes import Csn
from rollview.config import seconds_of
from rollview.errors import ConfigError, RollviewError, ViewRefused
from rollview.failpoints import Failpoint, failpoint
from rollview.ledger.resolution import resolution_of
from rollview.ledger.store import BlockRow, Ledger, ViewRow
from rollview.refresh import POLICIES, RefreshReport, check_reach, refresh_view
from rollview.sources.frames import empty_rows
from rollview.spark.evaluate import bound_in_turn
from rollview.spark.failures import refusals
from rollview.spark.relations import Relations
from rollview.views.blocks import Definition, inputs
from rollview.views.names import view_name
from rollview.views.parse import parse_view, relation_identifier
from rollview.views.syntax import expression, quoted

OPTIONS = {
    "policy": f"how it is refreshed: {', '.join(POLICIES)}",
    "fold": "auto, or always: keep the stored Delta Lake table plain after every refresh",
    "keep": f'how long it can be rolled back, e.g. "{KEEP}"',
    "target_lag": 'how far `rollview run` may let it fall behind, e.g. "5 minutes"',
    "step_rows": "changed rows that one step takes from one input",
    "step_seconds": "how long a step should take",
    "piece_rows": "rows of the largest input per piece of a build",
    "resolution": 'at which times it is exact, e.g. "1 minute"; other times are refused',
    "memory": "auto, stored or derived: where bags over joins are remembered",
    "buckets": "pieces in which the stored rows are folded",
    "comment": "for people",
}
FOLDS = ("auto", "always")
MEMORIES = ("auto", "stored", "derived")
MOST_BUCKETS = 1024


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, or an error that names the one that is wrong."""
    for name, value in options.items():
        if name not in OPTIONS:
            raise ConfigError(f'unknown option "{name}"', hint=f"options: {', '.join(OPTIONS)}")
        if name == "policy":
            _one_of(name, value, POLICIES)
        elif name == "fold":
            _one_of(name, value, FOLDS)
        elif name == "memory":
            _one_of(name, value, MEMORIES)
        elif name in ("keep", "step_seconds", "resolution", "target_lag"):
            seconds_of(value, name)
        elif name != "comment":
            most = MOST_BUCKETS if name == "buckets" else 2**62
            if not (str(value).isdecimal() and 0 < int(str(value)) <= most):
                hint = f"a whole number from 1 to {most}"
                raise ConfigError(f'option "{name}" cannot be "{value}"', hint=hint)
    return dict(options)


def _one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ConfigError(
            f'option "{name}" cannot be "{value}"', hint=f"one of: {', '.join(allowed)}"
        )


def schemas(ledger: Ledger) -> dict[str, tuple[tuple[str, str], ...]]:
    """Every relation that a view may read, with its columns."""
    tables = {r.name: r.columns for r in ledger.relations()}
    views = {v.name: tuple((c.name, c.type) for c in v.definition.columns) for v in ledger.views()}
    return {**tables, **views}


def parsed(relations: Relations, name: str, sql: str, memory: str = "auto") -> Definition:
    """The definition of a view, checked and with Spark's own types (V1)."""
    known = schemas(relations.ledger)

    def describe(query: str) -> list[tuple[str, str]]:
        leaves = {
            relation_identifier(n): empty_rows(
                relations.spark, ", ".join(f"{quoted(c)} {kind}" for c, kind in columns)
            )
            for n, columns in known.items()
            if relation_identifier(n) in query
        }
        with refusals(f'view "{name}" cannot be maintained'):
            frame = bound_in_turn(relations.spark, expression(query), leaves)
        return [(f.name, f.dataType.simpleString()) for f in frame.schema.fields]

    def derive(read: Sequence[str]) -> bool:
        if memory != "auto":
            return memory == "derived"
        own = any(n not in known for n in read)  # a block that is only being made
        return not own and derived_pays(sum(relations.rows(n) for n in read))

    definition = parse_view(name, sql, known, describe, derive, relations.declared)
    for column in definition.columns:
        if "map<" in column.type or column.type == "variant":
            raise ViewRefused(
                f'view "{name}" cannot be maintained: column "{column.name}" is of type {column.type}',
                "rows with such a column cannot be compared",
                "show map_entries(…) sorted, or the single values that are needed",
                reason="OPERATOR_NOT_SUPPORTED",
            )
    return definition


def create(
    relations: Relations,
    name: str,
    sql: str,
    options: Mapping[str, Any],
    at: Csn,
    progress: Progress,
) -> RefreshReport:
    """Register a view and build it as of `at` (V2)."""
    ledger, name = relations.ledger, view_name(name)
    if ledger.view(name) is not None:
        raise ConfigError(f'view "{name}" exists already',
                          hint="CREATE OR REPLACE, IF NOT EXISTS, or another name")  # fmt: skip
    wanted = checked_options(options)
    definition = parsed(relations, name, sql, str(wanted.get("memory", "auto")))
    folder = f"{name}-{uuid.uuid4().hex[:8]}"  # a name that is used again gets a folder of its own
    view = ViewRow(name, sql, definition, wanted, "building", "", datetime.now(timezone.utc), None)
    blocks = [
        BlockRow(definition.block_name(k), name, k, f"views/{folder}/{k}", (at,) * len(inputs(block)),
                 at, None, (at,), 0, 0)
        for k, block in enumerate(definition.blocks)
    ]  # fmt: skip
    check_reach(relations, definition, at)
    failpoint(Failpoint.CREATE_BEFORE_REGISTER)
    with ledger.atomic():
        ledger.add_view(view, blocks)
        ledger.begin("build", name, {"at": at})
    failpoint(Failpoint.CREATE_AFTER_REGISTER)
    try:
        return refresh_view(relations, view, at, False, progress)
    except RollviewError:
        drop(ledger, name)
        raise


def drop(ledger: Ledger, name: str) -> None:
    """Forget a view; its files are swept up after the grace time."""
    if ledger.view(name) is None:
        raise ConfigError(f'there is no view "{name}"', hint="rollview status lists the views")
    readers = [
        v.name for v in ledger.views()
        if v.name != name and any(i.relation == name for b in v.definition.blocks for i in inputs(b))
    ]  # fmt: skip
    if readers:
        raise ConfigError(f'view "{name}" cannot be dropped', f'view "{readers[0]}" reads it',
                          f'drop "{readers[0]}" first')  # fmt: skip
    failpoint(Failpoint.DROP_BEFORE_COMMIT)
    with ledger.atomic():
        for intent in ledger.intents():
            if intent.subject == name or intent.subject.startswith(f"{name}#"):
                ledger.end(intent.id)
        ledger.drop_view(name)
    failpoint(Failpoint.DROP_AFTER_COMMIT)


def alter(ledger: Ledger, name: str, options: Mapping[str, Any]) -> None:
    """Change options of a view; those not named stay."""
    view = ledger.view(name)
    if view is None:
        raise ConfigError(f'there is no view "{name}"', hint="rollview status lists the views")
    wanted = checked_options(options)
    if resolution_of({**view.options, **wanted}) != resolution_of(view.options):
        raise ConfigError(f'the resolution of view "{name}" cannot be changed',
                          "its view delta is rounded to the one it has",
                          "CREATE OR REPLACE the view with the resolution")  # fmt: skip
    failpoint(Failpoint.ALTER_BEFORE_COMMIT)
    ledger.set_view(name, options={**view.options, **wanted})
    failpoint(Failpoint.ALTER_AFTER_COMMIT)
