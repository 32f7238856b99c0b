"""View definitions and queries: SQL text in, blocks or checked SQL out.

P1  Nothing of the user's text reaches an engine but through the allow-lists of limits.py, and as text that is
    generated from the tree.
P2  The visible columns have exactly the names and types that Spark gives to the user's query.
What is refused, and why: docs/sql.md. The steps: syntax, limits, plain, names, correlated_tops, ties, flatten,
aggregates, sums.
"""

from __future__ import annotations

from functools import cache

from rollview.views import limits
from rollview.views.blocks import Definition
from rollview.views.correlated_tops import number_first_rows
from rollview.views.draft import Derive, Describe, Draft, never
from rollview.views.flatten import block_of, outputs_of
from rollview.views.names import Schema, bind, relation_identifier, view_name
from rollview.views.plain import plain
from rollview.views.pruned import pruned
from rollview.views.syntax import parse_select, sql_of, tokens_of
from rollview.views.ties import settle

__all__ = ["Describe", "Schema", "parse_query", "parse_view", "relation_identifier"]


def parse_view(
    name: str,
    sql: str,
    schema: Schema,
    describe: Describe,
    derive: Derive = never,
    declared: frozenset[str] = frozenset(),
) -> Definition:
    """The definition of a view; ViewRefused if it cannot be maintained. `declared`: functions of the user's own."""
    text = tokens_of(f'view "{name}" cannot be maintained', sql)
    tree = parse_select(text)
    limits.check(text, tree, limits.VIEW.also(declared))
    plain(text, tree)
    if not bind(text, tree, schema):
        hint = "read at least one table"
        raise text.refused(text.place(tree, "SELECT"), "a view that reads no table", hint)
    draft = Draft(text, view_name(name), schema, cache(describe), derive)
    number_first_rows(draft, tree)
    settle(draft.scratch(), tree)  # what is asked before all ties are settled must not be kept
    generated = sql_of(tree)
    outputs = outputs_of(draft, tree)
    block, _ = block_of(draft, tree, outputs)
    return pruned(draft.name, generated, (*draft.blocks, block))


def parse_query(
    sql: str, schema: Schema, declared: frozenset[str] = frozenset()
) -> tuple[str, tuple[str, ...]]:
    """Spark SQL for an ad-hoc query, over relation identifiers, and the relations that it reads."""
    text = tokens_of("the query cannot be run", sql)
    tree = parse_select(text)
    limits.check(text, tree, limits.QUERY.also(declared))
    relations = bind(text, tree, schema)
    limits.check_words(text, tree, {c.lower() for r in relations for c, _ in schema[r]})
    return sql_of(tree), relations
