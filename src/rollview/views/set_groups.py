"""The groups of GROUPING SETS, ROLLUP and CUBE: a block for each set, their rows side by side.

Which sets there are, and what a tree means in one of them: grouping_sets.py. Words: docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.views.draft import Draft, Part, Rows
from rollview.views.grouping_sets import of_set
from rollview.views.groups import counted, group_values, grouped_item, over_groups
from rollview.views.items import Source, parts_of
from rollview.views.selects import Selected
from rollview.views.subqueries import Expansion
from rollview.views.syntax import column


def parts_of_sets(
    draft: Draft, found: Selected, growing: Expansion, outputs: Sequence[exp.Expr]
) -> tuple[Part, ...]:
    """The parts that compute the outputs, trees over keys and aggregates, for the groups of every set."""
    names = tuple(f"k{n}" for n in range(len(found.keys)))
    rows = Rows(names, parts_of(draft, growing.source, found.where, found.keys))
    keys = list(zip(found.keys, draft.meant(draft.sql(rows))[: len(names)], strict=True))
    asked = [*outputs, *([found.having] if found.having is not None else [])]
    parts: list[Part] = []
    for chosen in found.sets:
        trees = [of_set(draft.text, tree, keys, chosen) for tree in asked]
        values = group_values(trees, chosen)
        made = [growing.valued(value) for value in values]
        some = [] if chosen else [exp.GT(this=counted(), expression=exp.Literal.number(0))]
        item = grouped_item(draft, growing.source, found.where, chosen, [*made, *some])
        meant = list(zip([*chosen, *values], item.refs, strict=False))
        shown = [over_groups(tree, meant) for tree in trees]
        where = [*shown[len(outputs) :], *(column(*item.refs[-1]) for _ in some)]
        parts += parts_of(draft, Source((item,), ()), where, shown[: len(outputs)])
    return tuple(parts)
