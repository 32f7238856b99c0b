"""Whether the table at a place is still the one that was registered.

I1  A table that was re-created at the same place counts its versions anew: none of them may be taken for the old one's.
    Asked by capture, before a version is read, and once more when it was read.
"""

from __future__ import annotations

from rollview.errors import ChangesLost
from rollview.ledger.rows import BaseRelation
from rollview.sources.delta_lake import log
from rollview.sources.delta_lake.log import Metadata


def is_registered(relation: BaseRelation, there: list[int]) -> bool:
    """Whether the log is that of the registered table, as far as it can tell at small cost.

    The first commit is asked, then the newest state: a table that was replaced before it was
    registered still has its first commit, of another id. Commits to be captured that set metadata
    are checked one by one besides.
    """
    if there[0] == 0:
        first = log.first_metadata(relation.location, 0)
        if first is None or first.id == relation.table_id:
            return True
    state = log.state_at(relation.location, there[-1])
    return state is None or state[0].id == relation.table_id


def check_registered(relation: BaseRelation) -> None:
    """ChangesLost if another table has come to the place: its versions have other rows (I1)."""
    there = log.versions(relation.location)
    if not there or there[-1] < relation.position or not is_registered(relation, there):
        raise recreated(relation, "its id or its newest version is another one")


def check_metadata(relation: BaseRelation, metadata: Metadata | None, version: int) -> None:
    """The same for one commit that sets metadata."""
    if metadata and metadata.id != relation.table_id:
        raise recreated(relation, f"version {version} gives it another id")


def recreated(relation: BaseRelation, detail: str) -> ChangesLost:
    """The error that says so."""
    return ChangesLost(
        f'Delta Lake table "{relation.name}" is no longer the one that was registered',
        f"{relation.location} was re-created or replaced after version {relation.position}:"
        f" {detail}",
        f"rollview source resync {relation.name}",
    )
