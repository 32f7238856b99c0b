"""errors.py: every error has three parts, and the parts are data."""

import inspect

import pytest

from rollview import errors
from rollview.errors import RollviewError, ViewRefused

EVERY = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, RollviewError)]


@pytest.mark.parametrize("error", EVERY)
def test_three_parts_print_one_below_the_other(error):
    raised = error('view "v" cannot be rolled to 9', "readable times: 2 to 7", "refresh it first")
    assert (raised.what, raised.detail, raised.hint) == (
        'view "v" cannot be rolled to 9',
        "readable times: 2 to 7",
        "refresh it first",
    )
    assert str(raised) == (
        'view "v" cannot be rolled to 9\nreadable times: 2 to 7\nhint: refresh it first'
    )


@pytest.mark.parametrize("error", EVERY)
def test_missing_parts_leave_no_empty_lines(error):
    assert str(error("what")) == "what"
    assert str(error("what", hint="do this")) == "what\nhint: do this"
    assert str(error("what", "detail")) == "what\ndetail"


def test_a_refusal_keeps_its_reason_and_place():
    refused = ViewRefused("v: LIMIT", reason="LIMIT", line=4, column=2)
    assert (refused.reason, refused.line, refused.column) == ("LIMIT", 4, 2)


def test_the_docstring_draws_the_hierarchy():
    for error in EVERY:
        assert error.__name__ in errors.__doc__
