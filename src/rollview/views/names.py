"""Names: which relation a table name means, which column of which FROM item a column name means.

A1  Tables are found by registered name only, one or two parts, ignoring case; a WITH name hides a table.
A2  Columns are found as Spark finds them: qualified by alias, else among the visible columns of FROM; a further
    part is a field of a struct. USING and NATURAL leave one visible column, the other is found only qualified.
A3  A relation's identifier in generated SQL is injective, needs no quotes and begins with `_rv`.
A4  A view name is `[a-z_][a-z0-9_]*`, at most 63 characters, in lower case, and does not begin with `_rv_`.
Knows trees and schemas; what a column is made of is flatten.py's matter. Words: docs/glossary.md.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rollview.errors import ConfigError, ViewRefused
from rollview.views.syntax import Text, call_name

Schema = Mapping[str, Sequence[tuple[str, str]]]
"""Relation name ("lake.sales", "daily_sales") -> its (column, Spark type) pairs."""

MOST_NODES = 20_000
"""Substitution doubles what is doubled at every level: a few lines could otherwise fill the memory."""

VIEW_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
PLAIN_NAME = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*(\.[a-z0-9]+(_[a-z0-9]+)*)?")


def view_name(name: str) -> str:
    """The name of a view in lower case (A4)."""
    lowered = name.lower()
    if not VIEW_NAME.fullmatch(lowered) or lowered.startswith("_rv_"):
        raise ConfigError(
            f'view name "{name}" cannot be used',
            hint="letters a-z, digits and _, not beginning with a digit or _rv_, at most 63 characters",
        )
    return lowered


def relation_identifier(name: str) -> str:
    """The table name that generated SQL uses for a relation, e.g. `_rv_lake__sales` (A3)."""
    if PLAIN_NAME.fullmatch(name):
        return "_rv_" + name.replace(".", "__")
    return "_rvx_" + "".join(
        c if c.isascii() and (c.islower() or c.isdigit()) else f"_{ord(c):x}_" for c in name
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """A column in scope: how it may be called, and the reference that stands for it."""

    qualifier: tuple[str, ...]
    name: str
    ref: exp.Column
    visible: bool = True
    level: int = 0  # of the query that it is from: this one, or so many around it


Scope = tuple[Entry, ...]


def bind(text: Text, tree: exp.Query, schema: Schema) -> tuple[str, ...]:
    """Replace every table name by its relation's identifier, in place; the relations, sorted (A1)."""
    keys = {name.lower(): name for name in schema}
    ctes = _ctes(text, tree)
    used = set()
    for table in list(tree.find_all(exp.Table)):
        cte = _cte_of(table, ctes)
        if cte is None:
            used.add(_bind_table(text, table, keys))
        elif _inside(table, cte):
            cte.meta["recursive"] = True
    for column in tree.find_all(exp.Column):
        if column.args.get("db") and f"{column.text('db')}.{column.text('table')}".lower() in keys:
            column.set("db", None)
    return tuple(sorted(used))


def _ctes(text: Text, tree: exp.Query) -> dict[str, exp.CTE]:
    found: dict[str, exp.CTE] = {}
    for cte in tree.find_all(exp.CTE):
        name = cte.alias.lower()
        if name in found:
            place = text.place(cte.args["alias"].this)
            hint = "give every WITH query a name of its own"
            raise text.refused(
                place, f'duplicate name "{cte.alias}" in WITH', hint, "DUPLICATED_CTE_NAMES"
            )
        found[name] = cte
    return found


def _cte_of(table: exp.Table, ctes: Mapping[str, exp.CTE]) -> exp.CTE | None:
    """The WITH query that the table name means: an earlier one, or one of an enclosing query."""
    cte = ctes.get(table.name.lower()) if len(table.parts) == 1 else None
    if cte is None or not isinstance(cte.parent, exp.With):
        return None
    siblings = cte.parent.expressions
    node: exp.Expr | None = table
    while node is not None and node is not cte.parent.parent:
        own = node is cte and cte.parent.args.get("recursive")
        if node.parent is cte.parent and _position(siblings, node) <= _position(siblings, cte):
            return cte if own else None
        node = node.parent
    return cte if node is not None else None


def _inside(node: exp.Expr | None, tree: exp.Expr) -> bool:
    while node is not None and node is not tree:
        node = node.parent
    return node is not None


def is_recursive(cte: exp.Expr | None) -> bool:
    """The WITH query reads itself."""
    return isinstance(cte, exp.CTE) and bool(cte.meta.get("recursive"))


def _position(nodes: Sequence[exp.Expr], node: exp.Expr) -> int:
    return next(i for i, n in enumerate(nodes) if n is node)


def cte_of(table: exp.Table) -> exp.CTE | None:
    """The WITH query that a bound tree's table means, if it is not a relation."""
    if "relation" in table.meta:
        return None
    root = table.root()
    return _cte_of(table, {c.alias.lower(): c for c in root.find_all(exp.CTE)})


def visible_ctes(query: exp.Expr) -> list[exp.CTE]:
    """All WITH queries that `query` may read, in an order in which each reads earlier ones (or itself) only."""
    groups: list[list[exp.CTE]] = []
    child = query
    while (node := child.parent) is not None:
        with_ = node.args.get("with_") if isinstance(node, exp.Query) else None
        if with_ is not None and with_ is not child:
            groups.append(list(with_.expressions))
        elif isinstance(node, exp.With):
            own = int(is_recursive(child))
            groups.append(node.expressions[: _position(node.expressions, child) + own])
        child = node
    return [cte for group in reversed(groups) for cte in group]


def _bind_table(text: Text, table: exp.Table, keys: Mapping[str, str]) -> str:
    parts = [part.name for part in table.parts]
    name = ".".join(parts)
    relation = None if any("." in part for part in parts) else keys.get(name.lower())
    if relation is None:
        alike = difflib.get_close_matches(name.lower(), sorted(keys), 1, 0.5)
        known = ", ".join(sorted(keys.values())[:10]) or "none yet"
        hint = f"did you mean {keys[alike[0]]}?" if alike else f"tables and views: {known}"
        place = text.place(exp.Tuple(expressions=[p.copy() for p in table.parts]))
        raise text.refused(place, f'there is no table "{name}"', hint, "TABLE_OR_VIEW_NOT_FOUND")
    if table.args.get("alias") is None:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(parts[-1], quoted=True)))
    elif not table.alias:
        table.args["alias"].set("this", exp.to_identifier(parts[-1], quoted=True))
    new = exp.to_identifier(relation_identifier(relation), quoted=True)
    table.set("this", new.update_positions(table.this))
    table.set("db", None)
    table.meta["relation"] = relation
    return relation


def resolved(
    text: Text, scope: Scope, tree: exp.Expr, aliases: Mapping[str, exp.Expr] | None = None
) -> exp.Expr:
    """A copy of the tree in which every column name is a reference; `aliases` are tried last (A2)."""
    holder = exp.Paren(this=tree.copy())
    for call in holder.find_all(exp.Anonymous):
        if call_name(call) == "STRUCT":
            _name_fields(call)
    grown = 0
    for node in list(holder.find_all(exp.Column)):
        if is_marked(node):
            continue
        if isinstance(node.this, exp.Star):
            raise text.refused(
                text.place(node), "star inside an expression", "name the columns", "STAR"
            )
        found = lookup(text, scope, node)
        parts = [p.name for p in node.parts]
        alias = aliases.get(parts[0].lower()) if aliases else None
        if alias is not None and found is None:
            grown = checked_size(text, grown, alias, node)
            found = _field(exp.Paren(this=alias.copy()), parts[1:])
        elif alias is not None:
            _check_alias(text, scope, node)
        if found is None:
            raise unknown_column(text, scope, node)
        node.replace(found)
    return holder.this.pop()  # type: ignore[no-any-return]  # sqlglot leaves `this` untyped


def _check_alias(text: Text, scope: Scope, node: exp.Column) -> None:
    """Refuse a name that is an alias of the select list and a column of the query around: engines differ."""
    if lookup(text, tuple(e for e in scope if not e.level), node) is None:
        label = f'"{node.name}" is an alias and a column of the query around'
        hint = "put the table before it, or choose another alias"
        raise text.refused(text.place(node), label, hint, "AMBIGUOUS_REFERENCE")


def _name_fields(call: exp.Anonymous) -> None:
    """STRUCT(a, b.c, 1) as NAMED_STRUCT('a', a, 'c', b.c, 'col3', 1): references have other names than columns."""
    fields: list[exp.Expr] = []
    for number, node in enumerate(call.expressions, 1):
        plain = isinstance(node, (exp.Column, exp.Identifier)) and not is_marked(node)
        written = node.alias if isinstance(node, exp.Alias) else node.name if plain else ""
        value = node.this if isinstance(node, exp.Alias) else node
        fields += [exp.Literal.string(written or f"col{number}"), value]
    call.set("this", "NAMED_STRUCT")
    call.set("expressions", fields)


def checked_size(text: Text, grown: int, tree: exp.Expr, place: exp.Expr) -> int:
    """The size of an expression that grew by a copy of `tree`; refused beyond `MOST_NODES`."""
    grown += sum(1 for _ in tree.walk())
    if grown > MOST_NODES:
        label, hint = "an expression that grows too large", "compute it in a view of its own"
        raise text.refused(text.place(place), label, hint, "EXCESSIVE_OPERATOR_NESTING")
    return grown


def marked(ref: exp.Column) -> exp.Column:
    """The reference, marked as one: it is no name that has to be found."""
    ref.meta["ref"] = True
    return ref


def is_marked(node: exp.Expr) -> bool:
    """The node is a reference already."""
    return bool(node.meta.get("ref"))


def lookup(text: Text, scope: Scope, node: exp.Column) -> exp.Expr | None:
    """What the column name means in the scope, in the nearest query that has it; None if nothing."""
    for level in sorted({e.level for e in scope}):
        found = _lookup(text, [e for e in scope if e.level == level], node)
        if found is not None:
            return found
    return None


def _lookup(text: Text, scope: Sequence[Entry], node: exp.Column) -> exp.Expr | None:
    parts = [p.name for p in node.parts]
    lowered = tuple(p.lower() for p in parts)
    for length in (2, 1, 0):
        if len(parts) <= length:
            continue
        found = [
            e for e in scope
            if e.name.lower() == lowered[length]
            and (e.qualifier[-length:] == lowered[:length] if length else e.visible)
        ]  # fmt: skip
        if len(found) > 1:
            owners = ", ".join(sorted({".".join(e.qualifier) for e in found}))
            label = f'column "{".".join(parts)}" is ambiguous'
            hint = f"put the table before it; it is in {owners}"
            raise text.refused(text.place(node), label, hint, "AMBIGUOUS_REFERENCE")
        if found:
            ref = found[0].ref.copy()
            ref.meta.update(_span(node))
            return _field(ref, parts[length + 1 :])
    return None


def _span(node: exp.Expr) -> dict[str, int]:
    metas = [n.meta for n in node.walk() if "start" in n.meta]
    if not metas:
        return {}
    return {"start": min(m["start"] for m in metas), "end": max(m["end"] for m in metas)}


def _field(node: exp.Expr, fields: Sequence[str]) -> exp.Expr:
    for name in fields:
        node = exp.Dot(this=node, expression=exp.to_identifier(name, quoted=True))
    return node


def unknown_column(text: Text, scope: Scope, node: exp.Column) -> ViewRefused:
    """The error for a column name that means nothing here."""
    names = sorted({e.name for e in scope})
    alike = difflib.get_close_matches(node.name, names, 1, 0.5)
    hint = f"did you mean {alike[0]}?" if alike else f"columns: {', '.join(names[:10])}"
    label = f'there is no column "{".".join(p.name for p in node.parts)}"'
    return text.refused(text.place(node), label, hint, "UNRESOLVED_COLUMN")


def starred(text: Text, scope: Scope, node: exp.Expr) -> Iterator[Entry]:
    """The columns that `*` or `t.*` stands for."""
    star = node.this if isinstance(node, exp.Column) else node
    qualifier = (
        tuple(p.name.lower() for p in node.parts[:-1]) if isinstance(node, exp.Column) else ()
    )
    size = len(qualifier)
    found = [e for e in scope if e.qualifier[-size:] == qualifier] if size else list(scope)
    if size and not found:
        label, hint = (
            f'there is no table "{".".join(qualifier)}" in FROM',
            "use a name or alias of FROM; name the fields of a struct one by one",
        )
        raise text.refused(text.place(node), label, hint, "CANNOT_RESOLVE_STAR_EXPAND")
    dropped = set()
    for column in star.args.get("except_") or ():
        name = column.name.lower()
        if name not in {e.name.lower() for e in found}:
            raise unknown_column(text, scope, exp.column(column.copy()))
        dropped.add(name)
    hidden = [e for e in found if not e.visible] if size else []
    for entry in [*hidden, *(e for e in found if e.visible)]:
        if entry.name.lower() not in dropped:
            yield entry


def merged(
    text: Text, left: Scope, right: Scope, keys: Sequence[exp.Identifier]
) -> tuple[Scope, list[tuple[Entry, Entry]]]:
    """The scope of a join USING the keys without the keys, and the keys of both sides (A2)."""
    pairs = [(_key(text, left, k), _key(text, right, k)) for k in keys]
    firsts = [a for a, _ in pairs]
    seconds = [b for _, b in pairs]
    rest = [e for e in left if e not in firsts] + [e for e in right if e not in seconds]
    return tuple(rest), pairs


def _key(text: Text, scope: Scope, key: exp.Identifier) -> Entry:
    found = [e for e in scope if e.visible and e.name.lower() == key.name.lower()]
    if len(found) != 1:
        node = exp.column(key.copy())
        if not found:
            raise unknown_column(text, scope, node)
        hint = "join with ON, naming the table"
        raise text.refused(
            text.place(key), f'column "{key.name}" is ambiguous', hint, "AMBIGUOUS_REFERENCE"
        )
    return found[0]


def shared_columns(left: Scope, right: Scope) -> list[exp.Identifier]:
    """The columns of a NATURAL join."""
    names = {e.name.lower() for e in right if e.visible}
    return [
        exp.to_identifier(e.name, quoted=True)
        for e in left
        if e.visible and e.name.lower() in names
    ]
