"""spark/failures.py: what is told of errors that no Spark query of ours can make on purpose."""

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from rollview.spark.failures import _has_ended


@pytest.mark.parametrize(
    ("error", "ended"),
    [
        (Py4JNetworkError("Answer from Java side is empty"), True),
        (ConnectionRefusedError(111, "Connection refused"), True),
        (Py4JError("An error occurred while calling o70.read"), True),
        (
            Py4JError("An error occurred while calling o7.x. Trace:\npy4j.Py4JException: no x"),
            False,
        ),
        (FileNotFoundError(2, "no such file"), False),
    ],
)
def test_a_jvm_that_is_gone_is_told_from_a_call_that_fails(error, ended):
    assert _has_ended(error) is ended
