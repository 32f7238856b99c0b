"""A SELECT over references: what FROM, WHERE, the select list, GROUP BY and HAVING say.

Z1  A subquery in an expression stands there as a placeholder, a reference of its own; subqueries.py says what it is.
Z2  A name that FROM does not have may be one of the query around it: such an entry of the scope has a level above 0.
How queries inside FROM are read is given as functions (flatten.py's recursion). Words: docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.views.draft import Draft
from rollview.views.from_clause import Read, from_source, row_condition
from rollview.views.grouping import aggregated, group_key, group_keys, having_of
from rollview.views.grouping_sets import Keys, has_sets, key_sets
from rollview.views.items import Source, generated
from rollview.views.names import Scope, marked, resolved, starred
from rollview.views.syntax import call_name, column
from rollview.views.tables import generator_names, is_generator

PLACEHOLDER = "_rv_query"

Projection = tuple[str | None, exp.Expr]
"""The name, if the expression has one of its own, and the expression over references."""


@dataclass(frozen=True, slots=True)
class Selected:
    """A SELECT over references; `scope` includes the names of the queries around it, `queries` are by placeholder."""

    source: Source
    scope: Scope
    projections: tuple[Projection, ...]
    where: tuple[exp.Expr, ...]
    keys: tuple[exp.Expr, ...]
    having: exp.Expr | None
    queries: Mapping[str, exp.Expr]
    sets: tuple[Keys, ...] = ()

    @property
    def outputs(self) -> tuple[exp.Expr, ...]:
        """The select list without its names."""
        return tuple(tree for _, tree in self.projections)

    @property
    def names(self) -> tuple[str | None, ...]:
        """The names of the select list."""
        return tuple(name for name, _ in self.projections)


def selected(draft: Draft, select: exp.Select, read: Read, around: Scope = ()) -> Selected:
    """The SELECT over references; `around` is the scope of the query around it (Z2)."""
    source = from_source(draft, select, read)
    source, made = _made_rows(draft, source, select)
    scope = (*source.scope, *(replace(e, level=e.level + 1) for e in around))
    shadow, queries = _shadow(select)
    projections = _projections(draft, scope, shadow, made)
    sets: list[Keys] = []
    if has_sets(shadow):
        sets = key_sets(
            draft.text,
            shadow.args["group"],
            lambda node: group_key(draft.text, scope, node, projections),
        )
        found = [key for chosen in sets for key in chosen]
        keys = [key for position, key in enumerate(found) if key not in found[:position]]
    else:
        _check_no_grouping(draft, shadow)
        keys = group_keys(draft.text, scope, shadow, projections)
    having = having_of(draft.text, scope, shadow, projections, keys)
    where = shadow.args.get("where")
    conditions = (row_condition(draft, scope, where.this),) if where is not None else ()
    return Selected(
        source, scope, tuple(projections), conditions, tuple(keys), having, queries, tuple(sets)
    )


def _check_no_grouping(draft: Draft, select: exp.Select) -> None:
    for call in select.find_all(exp.Anonymous):
        if call_name(call) in ("GROUPING", "GROUPING_ID"):
            label = f"{call_name(call)} without grouping sets"
            hint = "write GROUP BY ROLLUP, CUBE or GROUPING SETS"
            place = draft.text.place(call)
            raise draft.text.refused(place, label, hint, "GROUPING_COLUMN_MISMATCH")


def _shadow(select: exp.Select) -> tuple[exp.Select, dict[str, exp.Expr]]:
    """The select without FROM, its subqueries as placeholders, equal ones as the same (Z1)."""
    parts = ("expressions", "where", "group", "having")
    shadow = exp.Select(**{part: _copy(select.args.get(part)) for part in parts})
    written = [node for part in parts for node in _inner_queries(select.args.get(part))]
    copies = [node for part in parts for node in _inner_queries(shadow.args.get(part))]
    queries: dict[str, exp.Expr] = {}
    for query, copied in zip(written, copies, strict=True):
        name = next((n for n, known in queries.items() if known == query), str(len(queries)))
        queries[name] = query
        place = marked(column(PLACEHOLDER, name))
        above = copied.parent
        if isinstance(above, exp.In):
            above.set("query", None)
            above.set("expressions", [place])
        else:
            copied.replace(place)
    return shadow, queries


def _copy(part: object) -> object:
    if isinstance(part, list):
        return [_copy(node) for node in part]
    return part.copy() if isinstance(part, exp.Expr) else part


def _inner_queries(part: object) -> Iterator[exp.Expr]:
    """The queries in expressions, not those inside others."""
    nodes = part if isinstance(part, list) else [part]
    for node in nodes:
        if isinstance(node, (exp.Query, exp.Subquery)):
            yield node
        elif isinstance(node, exp.Expr):
            for child in node.iter_expressions():
                yield from _inner_queries(child)


def placeholder(tree: exp.Expr) -> str | None:
    """The placeholder that the tree is, if it is one."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    plain = isinstance(tree, exp.Column) and tree.table == PLACEHOLDER
    return tree.name if plain else None


def holds_placeholder(tree: exp.Expr) -> bool:
    """A subquery stands somewhere in the tree."""
    return any(c.table == PLACEHOLDER for c in tree.find_all(exp.Column))


def _made_rows(draft: Draft, source: Source, select: exp.Select) -> tuple[Source, list[Projection]]:
    """The source with the columns of a call in the select list that makes rows, such as EXPLODE."""
    calls = [n for n in select.expressions if is_generator(_call(n))]
    if not calls:
        return source, []
    if len(calls) > 1 or aggregated(select):
        label = "EXPLODE and the like twice, or beside aggregates, in one SELECT"
        hint = "write LATERAL VIEW, or a subquery in FROM"
        place = draft.text.place(calls[-1])
        raise draft.text.refused(place, label, hint, "UNSUPPORTED_GENERATOR")
    call = resolved(draft.text, source.scope, _call(calls[0]))
    names: list[str | None] = [calls[0].alias] if isinstance(calls[0], exp.Alias) else []
    if isinstance(calls[0], exp.Aliases):
        names = [c.name for c in calls[0].expressions]
    names = names or [None for _ in generator_names(draft, source, call)]
    plain = call_name(call).removesuffix("_OUTER")
    outer = call_name(call) != plain
    call.set("this", plain)
    source, refs = generated(draft, source, call, [n or "" for n in names], outer)
    return source, [(n, column(*ref)) for n, ref in zip(names, refs, strict=True)]


def _call(item: exp.Expr) -> exp.Expr:
    return item.this if isinstance(item, (exp.Alias, exp.Aliases)) else item


def _projections(
    draft: Draft, scope: Scope, select: exp.Select, made: Sequence[Projection]
) -> list[Projection]:
    """The select list over references; stars are expanded, earlier aliases may be used later on."""
    found: list[Projection] = []
    aliases: dict[str, exp.Expr] = {}
    for node in select.expressions:
        if isinstance(node, exp.Star) or (
            isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
        ):
            own = tuple(e for e in scope if not e.level)
            found += [(e.name, e.ref.copy()) for e in starred(draft.text, own, node)]
        elif is_generator(_call(node)):
            found += made
        elif isinstance(node, exp.Alias):
            tree = resolved(draft.text, scope, node.this, aliases)
            found.append((node.alias, tree))
            aliases[node.alias.lower()] = tree
        else:
            plain = isinstance(node, exp.Column) and placeholder(node) is None
            tree = resolved(draft.text, scope, node, aliases)
            found.append((node.name if plain else None, tree))
    return found
