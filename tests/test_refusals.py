"""A refusal in words is told from an accident."""

import pytest

from queue_conformance.engine.refusals import is_accident


def lacks_a_key():
    return {}["key"]


def lacks_an_attribute():
    return None.attribute


def converts():
    return int("word")


def refuses():
    raise KeyError("no such record")


def refuses_in_one_line():
    if True: raise TypeError("not a request")  # fmt: skip  # noqa: E701


def refuses_at_length():
    raise LookupError(
        "no such record"
    )  # fmt: skip


def refuses_after_an_accident():
    try:
        lacks_a_key()
    except KeyError as error:
        raise IndexError("no such record") from error


@pytest.mark.parametrize(
    ("operation", "accident"),
    [
        (lacks_a_key, True),
        (lacks_an_attribute, True),
        (converts, False),
        (refuses, False),
        (refuses_in_one_line, False),
        (refuses_at_length, False),
        (refuses_after_an_accident, False),
    ],
)
def test_what_a_raise_statement_says_is_no_accident(operation, accident):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        operation()
    assert is_accident(caught.value) is accident


def test_what_was_never_raised_is_no_accident():
    assert not is_accident(KeyError("key"))
