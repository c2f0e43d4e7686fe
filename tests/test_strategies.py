"""Requests are drawn as sources, over all attributes, and every source makes a request."""

import ast
import collections
import importlib

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from kit import FIFO_DISK, context
from scrapy import Request

from queue_conformance.compat.hypothesis import repeatable
from queue_conformance.engine.values import our_settings
from queue_conformance.environments.strategies import CALLBACKS, ODD_VALUES, request_sources
from queue_conformance.environments.unserializable import COMMON, FOREIGN_CALLBACKS, NOT_REBUILDABLE, UNUSUAL
from queue_conformance.kinds.queue.equality import difference
from queue_conformance.script_support.example import Point, same

DRAWN = settings(max_examples=200, database=None, deadline=None, suppress_health_check=list(HealthCheck))


def test_drawn_requests_use_every_class_and_attribute():
    seen = collections.Counter()
    made = 0

    with context(FIFO_DISK) as found:

        @seed(0)
        @DRAWN
        @given(request_sources())
        def draw(source):
            nonlocal made
            call = ast.parse(source, mode="eval").body
            seen.update([call.func.id, *(keyword.arg for keyword in call.keywords)])
            try:
                item = found.driver.evaluate(source)
            except (ValueError, LookupError):
                return  # a text that its encoding cannot hold
            made += isinstance(item.value, Request)

        draw()
    assert made > 150
    assert {"Request", "FormRequest", "JsonRequest", "XmlRpcRequest", "CustomRequest"} <= seen.keys()
    assert set(Request.attributes) <= seen.keys()


@pytest.mark.parametrize("source", [*ODD_VALUES, *CALLBACKS])
def test_every_value_is_equal_to_itself_made_again(source):
    with context(FIFO_DISK) as found:
        assert same(found.driver.evaluate(source).value, found.driver.evaluate(source).value)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # open files are among them
@pytest.mark.parametrize("cause", [*COMMON, *UNUSUAL, *NOT_REBUILDABLE], ids=lambda cause: cause.name)
def test_what_scripts_write_of_a_cause_is_what_it_makes(cause):
    with context(FIFO_DISK) as found:
        assert type(found.driver.evaluate(cause.source).value).__name__ == type(cause.make()).__name__


@pytest.mark.parametrize("cause", FOREIGN_CALLBACKS, ids=lambda cause: cause.name)
def test_every_foreign_callback_is_callable(cause):
    with context(FIFO_DISK) as found:
        assert callable(cause.make(found.driver.names["spider"]))
        assert callable(found.driver.evaluate(cause.source).value)


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, True, False),
        (1, 1.0, False),
        ("a", b"a", False),
        ([1, (2,)], [1, (2,)], True),
        ([1, (2,)], [1, [2]], False),
        ({1: "a"}, {True: "a"}, False),
        ({"a": {1}}, {"a": {1}}, True),
        ({1}, {True}, False),
        (float("nan"), float("nan"), True),
        (bytearray(b"a"), b"a", False),
        (Point(1), Point(1), True),
        (Point(1), Point(2), False),
    ],
)
def test_values_are_the_same_if_their_types_are(left, right, equal):
    assert same(left, right) is equal


def test_the_first_difference_of_two_requests_is_named():
    one = Request("https://example.com/1", meta={"a": (1,)}, priority=3)
    assert difference(one, one.copy()) is None
    assert difference(one, None).name == "__class__"
    assert difference(one, one.replace(meta={"a": [1]})).name == "meta"
    assert difference(one, one.replace(priority=4)).name == "priority"


def test_a_seed_draws_the_same_whatever_else_is_imported(tmp_path, monkeypatch):
    def drawn():
        numbers = []

        @seed(0)
        @our_settings(100)
        @given(st.integers())
        def draw(number):
            numbers.append(number)

        with repeatable():
            draw()
        return numbers

    before = drawn()
    (tmp_path / "of_an_author.py").write_text("".join(f"NUMBER_{number} = {number}\n" for number in range(1000, 1040)))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("of_an_author")
    assert drawn() == before
