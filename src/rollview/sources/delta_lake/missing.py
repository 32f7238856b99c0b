"""Changes that can no longer be read: Spark's exceptions for it, in the words of the source.

VACUUM and log cleaning leave no trace that a reader could find beforehand; what is missing shows
when it is read, as an exception of Spark or of Delta Lake. Likewise a change feed that refuses the
versions before a change of the schema.
"""

from __future__ import annotations

import re

from rollview.errors import ChangesLost
from rollview.ledger.rows import BaseRelation

_CONDITIONS = (
    "FAILED_READ_FILE.FILE_NOT_EXIST",
    "PATH_NOT_FOUND",
    "DELTA_FILE_NOT_FOUND",
    "DELTA_VERSION_NOT_FOUND",
    "DELTA_VERSIONS_NOT_CONTIGUOUS",
    "DELTA_LOG_FILE_NOT_FOUND",
    "DELTA_MISSING_CHANGE_DATA",
    "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION",
    "DELTA_TRUNCATED_TRANSACTION_LOG",
    "DELTA_TXN_LOG_FAILED_INTEGRITY",
    "DELTA_CDC_START_VERSION_AFTER_LATEST",
)
_NAMED = re.compile("|".join(re.escape(f"[{condition}") for condition in _CONDITIONS))
_NO_SUCH_FILE = re.compile(r"java\.io\.FileNotFoundException|SparkFileNotFoundException")
_INCOMPATIBLE = re.compile(r"\[DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_\w+\] ([^\n]*)")
_FILE = re.compile(r"file:/*(/.*?(?:\.(?:parquet|json|bin)|/_delta_log))")


def explain_missing(error: BaseException, relation: BaseRelation) -> ChangesLost | None:
    """ChangesLost if the error says that the table's changes cannot be read any more, else None."""
    text = str(error)
    refused = _INCOMPATIBLE.search(text)
    if refused:
        return _lost(
            relation, f"its change feed does not reach behind a schema change: {refused[1]}"
        )
    said = _NAMED.search(text) or _NO_SUCH_FILE.search(text)
    if said is None:
        return None
    file = _FILE.search(text)
    if file and not file[1].startswith(relation.location.rstrip("/") + "/"):
        return None  # a file of somebody else
    return _lost(
        relation,
        (f"{file[1]} is gone" if file else text[said.start() :].splitlines()[0])
        + ": VACUUM or log cleaning removed what was not propagated yet",
        "; keep delta.deletedFileRetentionDuration and delta.logRetentionDuration above the"
        " longest pause between refreshes",
    )


def _lost(relation: BaseRelation, detail: str, advice: str = "") -> ChangesLost:
    return ChangesLost(
        f'changes of Delta Lake table "{relation.name}" are lost',
        detail,
        f"rollview source resync {relation.name}{advice}",
    )
