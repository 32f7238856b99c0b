"""How slots and publications on a server are doing: which are nobody's, how far behind ours are, how long they have.

Only names that begin with the prefix are looked at: everything else on the server is somebody else's.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from rollview.sources.postgresql.checklist import BAD, FINE, LOOK, Point
from rollview.sources.postgresql.connect import Connection
from rollview.sources.postgresql.roles import quoted

PREFIX = "rollview_"
HALF = 0.5
"""The share of what the server keeps for a slot, from which on it is worth a look."""

SLOTS = """
SELECT slot_name, active_pid, coalesce(wal_status, 'lost'), safe_wal_size,
    (pg_current_wal_lsn() - restart_lsn)::bigint, (pg_current_wal_lsn() - confirmed_flush_lsn)::bigint,
    (SELECT setting::bigint FROM pg_settings WHERE name = 'max_slot_wal_keep_size'),
    (SELECT wal_bytes / greatest(extract(epoch FROM now() - greatest(stats_reset, pg_postmaster_start_time())), 1)
     FROM pg_stat_wal)::float8
FROM pg_replication_slots WHERE database = current_database() AND starts_with(slot_name, %s) ORDER BY 1"""


@dataclass(frozen=True, slots=True)
class SlotState:
    """A slot as the server has it; sizes in bytes, `safe` is None where nothing limits it."""

    name: str
    active_pid: int | None
    wal_status: str
    safe: int | None
    held: int | None
    behind: int | None
    limit_megabytes: int
    bytes_per_second: float


def slot_states(connection: Connection) -> list[SlotState]:
    """Every slot of this database with the prefix."""
    return [SlotState(*row) for row in connection.execute(SLOTS, [PREFIX]).fetchall()]


def health(
    connection: Connection, slots: Collection[str], publications: Collection[str]
) -> list[Point]:
    """What doctor says of a server, given the slots and publications that the ledger knows."""
    points = [
        _known(state) if state.name in slots else _orphan(state)
        for state in slot_states(connection)
    ]
    there = {state.name for state in slot_states(connection)}
    points += [
        Point(BAD, f"slot {name}", "it is gone: changes are lost", "-- rollview source resync")
        for name in sorted(set(slots) - there)
    ]
    rows = connection.execute(
        "SELECT pubname FROM pg_publication WHERE starts_with(pubname, %s) ORDER BY 1", [PREFIX]
    )
    points += [
        Point(
            LOOK,
            f"publication {name}",
            "this warehouse does not use it",
            f"DROP PUBLICATION {quoted(name)};  -- if no other warehouse does",
        )
        for (name,) in rows.fetchall()
        if name not in publications
    ]
    return points


def _orphan(state: SlotState) -> Point:
    mend = f"SELECT pg_drop_replication_slot('{state.name}');  -- if no other warehouse uses it"
    return Point(LOOK, f"slot {state.name}",
                 f"this warehouse does not use it; it holds {size(state.held)} of WAL", mend)  # fmt: skip


def _known(state: SlotState) -> Point:
    subject = f"slot {state.name}"
    if state.wal_status == "lost":
        return Point(BAD, subject, "the server has dropped the WAL that it needed: changes are lost",
                     "-- rollview source resync")  # fmt: skip
    text = f"{size(state.behind)} behind; it holds {size(state.held)} of WAL"
    if state.safe is None:
        return Point(FINE, subject, f"{text}; the server keeps as much as it takes")
    limit = max(state.limit_megabytes, 1) << 20
    left = f"the server drops it after {size(state.safe)} more"
    if state.bytes_per_second > 0:
        left += f" (about {duration(state.safe / state.bytes_per_second)} at its usual pace)"
    full = state.wal_status == "unreserved" or state.safe < limit * HALF
    mend = "-- capture now: rollview capture" if full else ""
    return Point(LOOK if full else FINE, subject, f"{text}; {left}", mend)


def size(count: int | None) -> str:
    """Bytes in words."""
    value, units = float(count or 0), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while abs(value) >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:,.0f} {units[0]}" if units[0] == "bytes" else f"{value:,.1f} {units[0]}"


def duration(seconds: float) -> str:
    """Seconds in words, roughly."""
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{max(seconds, 0):,.0f} seconds"
