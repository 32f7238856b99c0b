"""The times that users name: a CSN, a datetime, an ISO string, or None for now.

A time of day means: every transaction committed up to then. Without a zone it is UTC. A moment that has not come
yet is refused, since transactions may still come before it.
"""

from __future__ import annotations

from datetime import datetime, timezone

from rollview.changes import Csn
from rollview.errors import ConfigError, TimeNotReached
from rollview.ledger.store import Ledger

Time = int | str | datetime | None


def csn_of(ledger: Ledger, time: Time) -> Csn:
    """The CSN that a time means."""
    newest = ledger.newest_csn()
    if time is None:
        return newest
    if isinstance(time, str):
        time = _read(time)
    if isinstance(time, datetime):
        moment = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
        if moment > datetime.now(timezone.utc):
            raise TimeNotReached(
                f"{moment.isoformat()} is in the future",
                f"the newest captured transaction is {newest}",
                "name a moment that has passed, or leave the time out for now",
            )
        first = min((source.added_at for source in ledger.sources()), default=None)
        if first is not None and moment < first:
            raise TimeNotReached(
                f"{moment.isoformat()} is before anything was captured",
                f"the first source was added at {first.isoformat()}",
                "name a moment after that",
            )
        return ledger.csn_at(moment)
    if isinstance(time, bool) or not isinstance(time, int):
        raise _no_time(time)
    if time < 0 or time > newest:
        raise TimeNotReached(
            f"there is no transaction {time} yet" if time > 0 else f"{time} is not a time",
            f"captured so far: 1 to {newest}",
            "rollview capture, or name an earlier time",
        )
    return Csn(time)


def _read(text: str) -> int | datetime:
    if text.strip().isdigit():
        return int(text)
    try:
        return datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise _no_time(text) from None


def _no_time(value: object) -> ConfigError:
    return ConfigError(
        f'"{value}" is not a time',
        hint='a CSN such as 42, or a moment such as "2026-11-15 17:00" (UTC if no zone is given)',
    )
