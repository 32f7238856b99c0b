"""What Spark says when a query fails, in rollview's words.

A file that a source's own clean-up removed is ChangesLost; a full disk is said as such, whoever met it; everything
else names the view and gives Spark's first sentence. The original exception stays attached as the cause.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from rollview.errors import QueryFailed, RefreshError, RollviewError
from rollview.sources.delta_lake.read import explain_missing

if TYPE_CHECKING:
    from rollview.spark.relations import Relations


@contextmanager
def spark_errors(relations: Relations, view: str, names: Sequence[str]) -> Iterator[None]:
    """Errors of Spark and of files inside become rollview's, about `view` reading the relations `names`."""
    try:
        yield
    except (PySparkException, Py4JError, OSError) as error:
        raise in_our_words(relations, view, names, error) from error


def in_our_words(
    relations: Relations, view: str, names: Sequence[str], error: Exception
) -> RollviewError:
    """What happened to the view."""
    for name in names:
        row = relations.ledger.relation(name)
        missing = explain_missing(error, row) if row else None
        if missing is not None:
            return missing
    text = str(error)
    if "No space left on device" in text or getattr(error, "errno", None) == errno.EDQUOT:
        return RefreshError(
            f'view "{view}" cannot be refreshed: the disk is full',
            "nothing of the step was kept; the view stays at its last good time",
            "free some space in the warehouse folder and refresh again",
        )
    if isinstance(error, OSError):
        return RefreshError(
            f'view "{view}" cannot be refreshed: its files cannot be read or written',
            text,
            "check that the warehouse folder and its files are yours and that the disk works",
        )
    return QueryFailed(
        f'view "{view}" cannot be refreshed: its query failed in Spark',
        first_sentence(text),
        "the view stays at its last good time; mend the rows named above, then refresh again",
    )


def first_sentence(text: str) -> str:
    """Spark's own error condition and sentence, without the Java stack."""
    found = re.search(r"\[[A-Z][A-Z0-9_.]+\][^\n]*", text)
    return (found.group(0) if found else text.strip().split("\n")[0])[:500]
