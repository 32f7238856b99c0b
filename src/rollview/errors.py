"""Everything that rollview raises on purpose.

    RollviewError
    ├── ViewRefused          a definition that cannot be maintained, with the place in the SQL
    ├── ConfigError          rollview.toml, options, names, the machine
    ├── WarehouseError       WarehouseLocked, LedgerDamaged, WarehouseTooNew
    ├── SourceError          Unreachable, ChangesLost, SchemaChanged
    └── RefreshError         TimeNotReached, StepConflict, QueryFailed > TotalOverflows

Each error has three parts: what failed (kind of object and its quoted name), detail, and a hint one can act
on. The command line prints the three parts and no traceback. Knows nothing else of the product.
"""

from __future__ import annotations


class RollviewError(Exception):
    """What failed, the detail, and what to do about it."""

    def __init__(self, what: str, detail: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what, self.detail, self.hint = what, detail, hint

    def __str__(self) -> str:
        parts = [self.what]
        if self.detail:
            parts.append(self.detail)
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)


class ViewRefused(RollviewError):
    """A view definition that rollview will not maintain; `line` and `column` count from 1."""

    def __init__(
        self,
        what: str,
        detail: str = "",
        hint: str = "",
        reason: str = "PLAN_NOT_INCREMENTALIZABLE",
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(what, detail, hint)
        self.reason, self.line, self.column = reason, line, column


class ConfigError(RollviewError):
    """Something the user configured, named or typed cannot be used."""


class WarehouseError(RollviewError):
    """The warehouse itself cannot be used."""


class WarehouseLocked(WarehouseError):
    """Another process writes to this warehouse."""


class LedgerDamaged(WarehouseError):
    """The ledger cannot be read as a ledger."""


class WarehouseTooNew(WarehouseError):
    """The warehouse was written by a newer rollview."""


class SourceError(RollviewError):
    """A source cannot deliver what is needed; the views over it stop at their last good time."""


class Unreachable(SourceError):
    """The source, or a table of it, is not there."""


class ChangesLost(SourceError):
    """Changes that were not captured yet are gone, or no longer mean what they meant."""


class SchemaChanged(SourceError):
    """A column that a view reads was dropped, renamed or retyped."""


class RefreshError(RollviewError):
    """A view cannot be moved as asked."""


class TimeNotReached(RefreshError):
    """A time past the high-water mark, or older than what is kept."""


class StepConflict(RefreshError):
    """A step does not continue what the ledger has."""


class QueryFailed(RefreshError):
    """The view's query fails on some row, such as by a division by zero."""


class TotalOverflows(QueryFailed):
    """A total of the view exceeds its type, or cannot be shown; `until`: the last time of which that is known."""

    def __init__(self, what: str, detail: str = "", hint: str = "", until: int = 0) -> None:
        super().__init__(what, detail, hint)
        self.until = until
