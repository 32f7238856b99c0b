"""What Spark says when a query fails, in rollview's words.

A file that a source's own clean-up removed is ChangesLost; a full disk and a JVM that died are said as such; everything
else names the view and gives Spark's first sentence. The original exception stays attached as the cause.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from rollview.errors import QueryFailed, RefreshError, RollviewError, ViewRefused
from rollview.sources.delta_lake.read import explain_missing
from rollview.sources.postgresql.table import MODES
from rollview.spark.relations import Relations, stopped_problem

NO_FUNCTION = (
    "register it in the session first, such as by spark.udf.register; declaring it makes none"
)


@contextmanager
def spark_errors(relations: Relations, view: str, names: Sequence[str]) -> Iterator[None]:
    """Errors of Spark and of files inside become rollview's, about `view` reading the relations `names`."""
    try:
        yield
    except (PySparkException, Py4JError, OSError, OverflowError) as error:
        relations.kept.clear()
        raise in_our_words(relations, view, names, error) from error


def in_our_words(
    relations: Relations, view: str, names: Sequence[str], error: Exception
) -> RollviewError:
    """What happened to the view."""
    if _has_ended(error):
        return RefreshError(
            f'view "{view}" cannot be refreshed: the Spark session has ended',
            str(error),
            "nothing was half done; start rollview again, with more memory if Spark ran out of it",
        )
    causes = _causes(error)
    found = [row for row in map(relations.ledger.relation, names) if row is not None]
    rows = [row for row in found if row.properties.get("mode") not in MODES]  # Delta Lake tables
    # Where the error names no path it is about the table that is known to be ill, if there is one.
    rows.sort(key=lambda row: row.stopped is None)
    for row, cause in product(rows, causes):
        missing = explain_missing(cause, row)
        if missing is not None:
            return missing if row.stopped is None else stopped_problem(row)
    text = "\n".join(map(str, causes))
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
    if "[UNRESOLVED_ROUTINE]" in text:
        return RefreshError(
            f'view "{view}" cannot be refreshed: the Spark session does not have a function it calls',
            first_sentence(error),
            NO_FUNCTION,
        )
    return QueryFailed(
        f'view "{view}" cannot be refreshed: its query failed in Spark',
        first_sentence(error),
        "the view stays at its last good time; mend the rows named above, then refresh again",
    )


def _has_ended(error: Exception) -> bool:
    """The JVM is gone: no connection, or one that broke in a call, which Py4J reports as an error without a trace."""
    if isinstance(error, (Py4JNetworkError, ConnectionError)):
        return True
    return type(error) is Py4JError and "Trace" not in str(error)


@contextmanager
def refusals(what: str) -> Iterator[None]:
    """What Spark's analyser does not accept inside is refused; `what` says what cannot be done for it."""
    try:
        yield
    except PySparkException as error:
        sentence = first_sentence(error)
        if "[UNRESOLVED_ROUTINE]" in sentence:
            label = "the Spark session does not have a function it calls"
            raise ViewRefused(
                f"{what}: {label}", sentence, NO_FUNCTION, reason="USER_DEFINED_FUNCTION"
            ) from error
        raise ViewRefused(
            f"{what}: Spark does not accept its query",
            sentence,
            "mend the expression that is named above",
            reason="ANALYSIS_ERROR",
        ) from error


def first_sentence(error: BaseException) -> str:
    """The error condition and sentence that Spark gives for the innermost cause, without the Java stack."""
    text = "\n".join(map(str, _causes(error)))
    found = re.findall(r"^(?:.*: )?(\[[A-Z][A-Z0-9_.]+\] .*)", text, re.MULTILINE)
    if found:
        return str(found[-1])[:500]
    return str(error).strip().split("\n")[0][:500]


def _causes(error: BaseException) -> list[BaseException]:
    """The error and what caused it in the JVM, outermost first: a task that failed says why only there."""
    found = [error]
    while (cause := getattr(found[-1], "_cause", None)) is not None:
        found.append(cause)
    return found
