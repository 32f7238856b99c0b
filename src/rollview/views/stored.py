"""Definitions as JSON, the form in which the ledger keeps them.

S1  from_json(to_json(d)) == d, also after a trip through JSON text.
A dataclass becomes an object with its class under "kind", a tuple becomes a list; everything else
in a definition is text, a number, true, false or null. A class or field that this rollview does not
know is refused, never dropped.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from rollview.errors import LedgerDamaged
from rollview.views import blocks
from rollview.views.blocks import Definition

KINDS = {
    kind.__name__: kind
    for kind in vars(blocks).values()
    if isinstance(kind, type) and is_dataclass(kind)
}


def to_json(definition: Definition) -> dict[str, Any]:
    """The definition as a JSON object (S1)."""
    stored: dict[str, Any] = _stored(definition)
    return stored


def from_json(stored: dict[str, Any]) -> Definition:
    """The definition that `to_json` made the object of (S1)."""
    try:
        definition = _restored(stored)
    except (KeyError, TypeError) as error:
        raise _unreadable(str(error)) from error
    if not isinstance(definition, Definition):
        raise _unreadable("it is not a definition")
    return definition


def _stored(part: Any) -> Any:
    if isinstance(part, tuple):
        return [_stored(item) for item in part]
    if is_dataclass(part):
        named = {field.name: _stored(getattr(part, field.name)) for field in fields(part)}
        return {"kind": type(part).__name__, **named}
    return part


def _restored(part: Any) -> Any:
    if isinstance(part, list):
        return tuple(_restored(item) for item in part)
    if isinstance(part, dict):
        named = {name: _restored(value) for name, value in part.items() if name != "kind"}
        return KINDS[part["kind"]](**named)
    return part


def _unreadable(detail: str) -> LedgerDamaged:
    return LedgerDamaged(
        "a stored view definition cannot be read",
        detail,
        "use the rollview that made the view, or restore the ledger from a backup",
    )
