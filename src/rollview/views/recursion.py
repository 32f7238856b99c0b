"""Recursive WITH queries: an anchor, and a step that reads the query itself, as one Fixpoint block.

K1  Every part of the step reads the query once, as a relation among others: what it makes of two rows together is what
    it makes of each. So a row can be followed from level to level.
K2  The step has exactly the types of the anchor, as Spark demands; a cast is the user's to write.
K3  What cannot be followed (groups, windows, DISTINCT, subqueries about the query itself) is refused, where it stands.
UNION ALL ends where Spark's does, at a level without rows. Spark has no UNION here; it is standard SQL's, and ends with
cycles too. How it is maintained: calculus/fixpoint.py. Words: docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from rollview.errors import ViewRefused
from rollview.views.aggregates import normalised
from rollview.views.blocks import LEVEL, SHOWN, Fixpoint, Union, inputs
from rollview.views.draft import Draft, Part, Rows
from rollview.views.grouping import aggregated
from rollview.views.names import cte_of, is_recursive
from rollview.views.syntax import cast_to, column, unwrapped
from rollview.views.windows import limited, windowed

Read = Callable[[exp.Expr], Rows]


def recursive_cte(query: exp.Expr) -> exp.CTE | None:
    """The WITH query whose body this is, if it reads itself."""
    above = query.parent
    while isinstance(above, exp.Subquery):
        above = above.parent
    return above if isinstance(above, exp.CTE) and is_recursive(above) else None


def with_anchors(tree: exp.Expr) -> exp.Expr:
    """The tree, changed in place, in which recursive queries are their anchors: of the same names and types."""
    for cte in tree.find_all(exp.CTE):
        body = unwrapped(cte.this)
        if is_recursive(cte) and isinstance(body, exp.SetOperation):
            anchor = unwrapped(body.this).copy()
            if body.args.get("with_") is not None:
                anchor.set("with_", body.args["with_"].copy())
            cte.set("this", anchor)
    for queries in tree.find_all(exp.With):
        queries.set("recursive", None)
    return tree


def recursive_rows(draft: Draft, cte: exp.CTE, query: exp.Expr, read: Read) -> Rows:
    """The rows that a recursive query shows; in its own step, those of the level before."""
    key = ("recursive", id(query))
    if key not in draft.stored:
        _check_shape(draft, cte, query)
        making = _Making(draft, cte, query, read)
        anchor = making.anchor()
        draft.stored[key] = making.own
        draft.stored[key] = making.added(anchor)
    relation = draft.stored[key]
    alias = draft.alias(cte.alias)
    names = tuple(n for n, _ in draft.types(relation) if n not in (LEVEL, SHOWN))
    shown = (column(alias, SHOWN),) if _distinct(query) else ()
    outputs = tuple(column(alias, n) for n in names)
    return Rows(names, (Part(((alias, relation),), shown, outputs),))


def _distinct(union: exp.Expr) -> bool:
    return union.args.get("distinct") is not False


class _Making:
    """A Fixpoint in the making; until it has a name, its step reads it as `own`."""

    def __init__(self, draft: Draft, cte: exp.CTE, union: exp.Expr, read: Read) -> None:
        self.draft, self.cte, self.union, self.read = draft, cte, union, read
        self.own = f"{draft.name}#recursive{id(union)}"
        self.types: list[str] = []

    def anchor(self) -> Rows:
        """The rows of the anchor under the names of the query's columns."""
        rows = self.read(self.union.this)
        alias = self.cte.args["alias"].args.get("columns") or ()
        names = tuple(c.name for c in alias) if len(alias) == len(rows.names) else rows.names
        text, place = self.draft.text, self.draft.text.place(self.union.this)
        if len({n.lower() for n in names}) < len(names):
            hint = f"name the columns: {self.cte.alias}(a, b, …)"
            raise text.refused(place, "two columns of one name", hint, "DUPLICATE_COLUMN")
        unnamed = replace(rows, names=tuple(f"c{n}" for n in range(len(names))))
        self.types = self.draft.meant(self.draft.sql(unnamed))
        for name, kind in zip(names, self.types, strict=True):
            if kind == "void":
                hint = "name its type: CAST(NULL AS …)"
                raise text.refused(place, f'column "{name}" has no type', hint, "VOID_TYPE")
        return normalised(self.draft, replace(rows, names=names), self.types, len(names))

    def added(self, anchor: Rows) -> str:
        """The relation of the block."""
        draft, names = self.draft, anchor.names
        outputs = [*zip(names, self.types, strict=True), (LEVEL, "int")]
        more = f"CAST(0 AS INT) AS `{LEVEL}`"
        if _distinct(self.union):
            outputs.append((SHOWN, "boolean"))
            more += f", TRUE AS `{SHOWN}`"
        meaning = f"SELECT *, {more} FROM ({draft.sql(anchor)}) AS `_rv_anchor`"
        draft.queries[self.own], draft.columns[self.own] = meaning, tuple(outputs)
        step = self._step(names)
        del draft.queries[self.own], draft.columns[self.own]
        zero = cast_to(exp.Literal.number(0), "int")
        first = tuple(replace(p, outputs=(*p.outputs, zero.copy())) for p in anchor.parts)
        # The block's own columns are known from here on, also to itself.
        relation = f"{draft.name}#{len(draft.blocks)}"
        draft.columns[relation] = tuple(outputs)
        block = Fixpoint(
            self._union(Rows((*names, LEVEL), first)),
            self._union(_reading(step, self.own, relation)),
            _distinct(self.union),
        )
        return draft.add(block, meaning, outputs)

    def _union(self, rows: Rows) -> Union:
        return self.draft.union(rows, [*self.types, "int"])

    def _step(self, names: Sequence[str]) -> Rows:
        """The parts of the step, each with its level."""
        before = len(self.draft.blocks)
        rows = self.read(self.union.expression)
        if len(rows.names) != len(names):
            label = f"UNION of {len(names)} and {len(rows.names)} columns"
            place = self.draft.text.place(self.union.expression)
            hint = "select as many columns in each part"
            raise self.draft.text.refused(place, label, hint, "NUM_COLUMNS_MISMATCH")
        rows = replace(rows, names=tuple(names))
        if any(i.relation == self.own for b in self.draft.blocks[before:] for i in inputs(b)):
            raise self._refused("inside more than a join", _HINT)
        parts = []
        for part in rows.parts:
            own = [alias for alias, relation in part.inputs if relation == self.own]
            if not own:
                hint = "write what does not read it before the UNION"
                raise self._refused("is not read by every part of the step", hint)
            if len(own) > 1:
                raise self._refused("twice in one join", _HINT)
            self._check_types(names, part)
            level = exp.Add(this=column(own[0], LEVEL), expression=exp.Literal.number(1))
            parts.append(replace(part, outputs=(*part.outputs, level)))
        rows = Rows((*names, LEVEL), tuple(parts))
        return normalised(self.draft, rows, [*self.types, "int"], len(names))

    def _check_types(self, names: Sequence[str], part: Part) -> None:
        have = self.draft.meant(self.draft.sql(Rows(tuple(names), (part,))))
        for name, kind, wanted in zip(names, have, self.types, strict=True):
            if kind != wanted:
                label = f'column "{name}" is {wanted} before the UNION and {kind} after it'
                hint = f"write CAST(… AS {wanted.upper()}) in the part after the UNION"
                place = self.draft.text.place(self.union.expression)
                raise self.draft.text.refused(place, label, hint, "ANALYSIS_ERROR")

    def _refused(self, label: str, hint: str) -> ViewRefused:
        place = self.draft.text.place(self.union.expression)
        return self.draft.text.refused(place, f'"{self.cte.alias}" {label}', hint, _REASON)


_HINT = "read it once, in FROM, joined with other tables; group or filter it outside of the WITH"
_REASON = "INVALID_RECURSIVE_REFERENCE"


def _reading(rows: Rows, old: str, new: str) -> Rows:
    """The rows with another relation in the place of the old one."""
    return replace(rows, parts=tuple(
        replace(p, inputs=tuple((a, new if r == old else r) for a, r in p.inputs)) for p in rows.parts
    ))  # fmt: skip


def _check_shape(draft: Draft, cte: exp.CTE, query: exp.Expr) -> None:
    """Refuse what cannot be followed from level to level, where it is written (K3)."""
    text, name = draft.text, cte.alias
    if not isinstance(query, exp.Union) or limited(query):
        hint = f"write {name} AS (anchor UNION ALL step), in which only the step reads {name}"
        place = text.place(cte.args["alias"].this)
        raise text.refused(place, f'"{name}" reads itself without a UNION', hint, _REASON)
    for table in _own_reads(cte, query.this):
        hint = f"write what does not read {name} first; unite the rest in parentheses after it"
        label = f'"{name}" before the UNION'
        raise text.refused(text.place(table.this), label, hint, _REASON)
    for table in _own_reads(cte, query.expression):
        where = _around(table, query)
        if where:
            raise text.refused(text.place(table.this), f'"{name}" {where}', _HINT, _REASON)


def _own_reads(cte: exp.CTE, tree: exp.Expr) -> Iterator[exp.Table]:
    return (t for t in tree.find_all(exp.Table) if cte_of(t) is cte)


def _around(table: exp.Table, query: exp.Expr) -> str:
    """What stands between the query and the place where it is read, if that is more than joins."""
    node = table.parent
    sides = (exp.From, exp.Join, exp.SetOperation, exp.CTE, exp.Subquery)
    while node is not None and node is not query:
        if isinstance(node, exp.SetOperation) and (
            not isinstance(node, exp.Union) or node.args.get("distinct") is not False
        ):
            return f"inside {node.key.upper()}"
        if isinstance(node, exp.Query) and limited(node):
            return "inside LIMIT"
        if isinstance(node, exp.Select):
            if node.args.get("distinct"):
                return "inside SELECT DISTINCT"
            if aggregated(node):
                return "inside a group"
            if windowed(node):
                return "under a window function"
        inside = isinstance(node, (exp.Exists, exp.In)) or (
            isinstance(node, exp.Query) and not isinstance(node.parent, sides)
        )
        if inside and node.parent is not None:
            return "in a subquery of an expression"
        node = node.parent
    return ""
