"""The columns that a query gives, as Spark says: each with a name and a type of its own, in rollview's order.

N1  What Spark calls a column is what rollview means by it: a star never shows one column under the name of another.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.views.draft import Draft, Outputs
from rollview.views.limits import RESERVED
from rollview.views.syntax import unwrapped


def check_width(draft: Draft, pair: exp.SetOperation, left: int, right: int) -> None:
    """Refuse two sides of different widths."""
    if left != right:
        every = " ALL" if pair.args.get("distinct") is False else ""
        label = f"{pair.key.upper()}{every} of {left} and {right} columns"
        hint = "select as many columns in each part"
        place = draft.text.place(pair.expression)
        raise draft.text.refused(place, label, hint, "NUM_COLUMNS_MISMATCH")


def check_outputs(draft: Draft, query: exp.Expr, outputs: Outputs) -> None:
    """Refuse columns that cannot be told apart, have no type, or have a name of rollview's own."""
    seen: set[str] = set()
    for position, (name, kind) in enumerate(outputs):
        place = draft.text.place(_select_item(query, len(outputs), position))
        if name.lower() in seen:
            hint = "give each column a name of its own with AS"
            raise draft.text.refused(place, f'two columns named "{name}"', hint, "DUPLICATE_COLUMN")
        if name.lower().startswith(RESERVED):
            hint = "choose another name"
            raise draft.text.refused(place, f'reserved name "{name}"', hint, "RESERVED_NAME")
        if kind == "void":
            hint = "name its type: CAST(NULL AS …)"
            raise draft.text.refused(place, f'column "{name}" has no type', hint, "VOID_TYPE")
        seen.add(name.lower())


def check_names(
    draft: Draft, query: exp.Expr, names: Sequence[str | None], outputs: Outputs
) -> None:
    """Refuse columns that are not where Spark has them (N1)."""
    for position, (name, (meant, _)) in enumerate(zip(names, outputs, strict=False)):
        if name is not None and name.lower() != meant.lower():
            label = f'column {position + 1} is "{name}", and "{meant}" for Spark'
            hint = "name the columns instead of the star"
            place = draft.text.place(_select_item(query, len(outputs), position))
            raise draft.text.refused(place, label, hint)


def _select_item(query: exp.Expr, columns: int, position: int) -> exp.Expr:
    """The select item that makes the column, or the whole SELECT if stars are in it."""
    select = unwrapped(query)
    while isinstance(select, exp.SetOperation):
        select = unwrapped(select.this)
    items = select.expressions if isinstance(select, exp.Select) else []
    return items[position] if len(items) == columns else select
