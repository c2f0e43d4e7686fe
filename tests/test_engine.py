"""What a check did, said again as a script: literals for what it computed, variables for what came of the subject."""

import gc
from collections import deque
from types import FunctionType, SimpleNamespace
from weakref import WeakSet

import pytest
from kit import FIFO_MEMORY, context
from scrapy import Request

from queue_conformance.engine import registry
from queue_conformance.engine.blocks import may_raise, may_refuse, raises, under_test
from queue_conformance.engine.case import fixture
from queue_conformance.engine.cases import run_cases
from queue_conformance.engine.check import check, run_case
from queue_conformance.engine.instrument import REGISTERED, fixture_of, instrument
from queue_conformance.engine.outcomes import NotCovered, RuleFailed
from queue_conformance.engine.record import Failed, Record
from queue_conformance.engine.recording import OperationRaised, Recorder, Step
from queue_conformance.engine.sources import Sources
from queue_conformance.engine.subject import Subject
from queue_conformance.engine.syntax import body_of
from queue_conformance.engine.violations import violation_of
from queue_conformance.faults.fault import Fault, Missed, NoFault
from queue_conformance.kinds.queue.fixtures import drain
from queue_conformance.processes.isolation import Watchdog
from queue_reference.memory import FifoMemoryQueue

SIZES = (1, 70)
STACKS = WeakSet()


class Stack:
    """What the checks below test: last in, first out."""

    def __init__(self):
        STACKS.add(self)
        self.items, self.limit = deque(), 9
        self.full = False

    def push(self, item, priority=0):
        if item is None or (self.full and self.items):
            raise TypeError("no item")
        self.items.append(item)

    def pop(self):
        return self.items.pop() if self.items else None

    def __len__(self):
        return len(self.items)


class Item:
    """An item that equals nothing but itself, as requests do."""

    def __init__(self, key):
        self.key = key


def files(directory):
    return ["0"]


class Within:
    """A context manager of the kind that scripts show as it is."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class OneAtATime(Fault):
    """The stack takes one item at a time."""

    name, place = "one at a time", "stack"

    def __init__(self, stack):
        super().__init__(1)
        self.stack = stack

    def begin(self):
        self.stack.full = True

    def end(self):
        self.stack.full = False


def ran(check):
    """Run a check; return how it failed, the lines of its script and the operations."""
    recorder = Recorder(Watchdog())
    sources = Sources("/scratch")
    record = Record(recorder, sources, lambda value: (value.key, "{}.key") if isinstance(value, Item) else None)
    record.case = SimpleNamespace(held=lambda rule: None, record=record, context=SimpleNamespace(excuse=lambda error: None))
    function, source = instrument(check)
    stack = Stack()
    fixtures = {
        "queue": Subject(stack, "queue", record, {"push": "rule.push"}),
        "fault": sources.give(OneAtATime(stack), "OneAtATime(stack, 1)"),
        "item": lambda number: sources.give(b"item %d" % number, f"b'item {number}'"),
        "open_queue": lambda key: record.construct(f"Stack(directory + '/{key}')", "rule.ctor", Stack, {}),
        "directory": "/scratch",
    }
    given = {name: fixtures[name] for name in check.__code__.co_varnames[: check.__code__.co_argcount]}
    record.silent.update(map(id, given.values()))
    failure = None
    try:
        function(**given, __record__=record, __source__=source)
    except (Failed, OperationRaised) as error:
        failure = error
    return failure, record.lines(), [step.source for step in recorder.steps]


def loops_and_constants(queue):
    for size in SIZES:
        value = b"x" * size
        queue.push(value)
        assert queue.pop() == value
    assert len(queue) == 1


def results(queue, item):
    for number in range(3):
        queue.push(item(number))
    popped = [queue.pop() for _ in range(2)]
    unused = queue.limit
    first = popped[0]
    assert first == item(1)
    return unused


def a_comprehension_over_what_fixtures_made(queue, item):
    queue.push(item(0))
    popped = queue.pop()
    lost = [one for one in (item(0), item(1)) if one != popped]
    assert lost == []


def another_queue(open_queue, item):
    other = open_queue("1")
    other.push(item(2), priority=-1)
    assert other.pop() in (item(1), item(3))


def what_is_opened_in_passing(open_queue, item):
    open_queue("1").push(item(2))
    assert len(open_queue("1")) == 1


def named_by_a_case(queue):
    for name, method in [("priority", "append"), ("other", "popleft")]:
        queue.push(**{"item": 1, name: getattr(deque(), method).__name__})


def placed_by_a_case(queue):
    for place in [(), (7,)]:
        queue.push("item", *place)


def chosen_by_a_case(queue):
    for last in (False, True):
        queue.push(1) if not last else queue.pop()
    assert len(queue) == 1


def items_without_equality(queue):
    item = Item(7)
    queue.push(item)
    assert queue.pop() == item
    queue.push(Item(8))
    assert queue.pop() == item


def a_list_of_what_a_fixture_made(queue, item):
    queue.push(item(0))
    assert [queue.pop()] == list(backwards([item(number) for number in range(2)]))


def backwards(values):
    return values[::-1]


def many_turns(queue, item):
    for number in range(4):
        queue.push(item(0))
        if number != 4:
            queue.pop()
    assert len(queue) == 1


def the_world_around(queue, directory):
    before = files(directory)
    queue.push(b"")
    kept = files(directory)
    assert len(kept) > len(before)


def a_context(queue):
    with Within("name") as within, Within("other"):
        queue.push(within.name)
    assert len(queue) == 2


def nothing_else(queue):
    numbers = []
    for number in range(2):
        numbers.append(number)
    queue.push(numbers[-1])
    assert len(queue) == 2, "two"


def raises_in_an_assertion(queue):
    assert len(queue) == 0
    assert queue.push(None) == queue.pop()


def a_fault(queue, fault):
    queue.push(b"0")
    with may_refuse() as refused, fault:
        queue.push(b"1")
    fault.must_hit()
    assert len(queue) == (2 if refused else 1)


def either(queue):
    with may_refuse():
        queue.push(None)
    assert len(queue) == 1


def one_error(queue):
    with may_refuse(only=["KeyError"]):
        queue.push(None)


def names_of_what_failed(queue, fault):
    popped = None
    queue.push(b"0")
    with may_refuse() as _, fault:
        popped = queue.push(b"1")
    assert popped == b"1"


def names_below_a_block(queue, directory):
    with Within("name"):
        length = len(queue)
    with may_refuse():
        popped = queue.pop()
    assert (length, popped) == (0, b"")


def adds(queue):
    queue.push(b"0")
    lengths, unread, total = [], 0, 1
    lengths += [len(queue)]
    unread += len(queue)
    total += 2
    total += len(queue)
    total += 5
    assert (lengths, total) == ([1], 8)


def deletes(open_queue):
    other = open_queue("1")
    other.push(b"0")
    del other
    assert len(STACKS) == 1


def pushes_nothing(queue):
    queue.push(b"1")
    queue.push(None)
    queue.push(b"2")


@pytest.mark.parametrize(
    ("check", "failure", "lines"),
    [
        (
            loops_and_constants,
            "expected 1, got 0 from len(queue)",
            [
                "queue.push(b'x')",
                "queue.pop()",
                "queue.push(b'x' * 70)",
                "queue.pop()",
                "length = len(queue)",
                "assert length == 1, f'got {length!r}'",
            ],
        ),
        (
            results,
            "expected b'item 1', got first: b'item 2'",
            [
                "queue.push(b'item 0')",
                "queue.push(b'item 1')",
                "queue.push(b'item 2')",
                "popped = [queue.pop() for _ in range(2)]",
                "unused = queue.limit",
                "first = popped[0]",
                "assert first == b'item 1', f'got {first!r}'",
            ],
        ),
        (
            a_comprehension_over_what_fixtures_made,
            "expected nothing, got lost: [b'item 1']",
            [
                "queue.push(b'item 0')",
                "popped = queue.pop()",
                "lost = [one for one in (b'item 0', b'item 1') if one != popped]",
                "assert lost == [], f'got {lost!r}'",
            ],
        ),
        (
            chosen_by_a_case,
            "expected 1, got 0 from len(queue)",
            ["queue.push(1)", "queue.pop()", "length = len(queue)", "assert length == 1, f'got {length!r}'"],
        ),
        (
            another_queue,
            "expected b'item 1' or b'item 3', got b'item 2' from other.pop()",
            [
                "other = Stack(directory + '/1')",
                "other.push(b'item 2', priority=-1)",
                "popped = other.pop()",
                "assert popped in (b'item 1', b'item 3'), f'got {popped!r}'",
            ],
        ),
        (
            what_is_opened_in_passing,
            "expected 1, got 0 from len(Stack(directory + '/1'))",
            [
                "Stack(directory + '/1').push(b'item 2')",
                "length = len(Stack(directory + '/1'))",
                "assert length == 1, f'got {length!r}'",
            ],
        ),
        (
            named_by_a_case,
            None,
            [
                "queue.push(item=1, priority=deque().append.__name__)",
                "queue.push(item=1, other=deque().popleft.__name__)",
            ],
        ),
        (placed_by_a_case, None, ["queue.push('item')", "queue.push('item', 7)"]),
        (
            items_without_equality,
            None,
            [
                "item = Item(7)",
                "queue.push(item)",
                "queue.pop()",
                "queue.push(Item(8))",
                "popped = queue.pop()",
                "assert popped is not None and popped.key == 7, f'got {popped!r}'",
            ],
        ),
        (
            a_list_of_what_a_fixture_made,
            None,
            [
                "queue.push(b'item 0')",
                "popped = queue.pop()",
                "assert [popped] == list(backwards([b'item 0', b'item 1']))",
            ],
        ),
        (
            many_turns,
            "expected 1, got 0 from len(queue)",
            [
                "for _ in range(4):",
                "    queue.push(b'item 0')",
                "    queue.pop()",
                "length = len(queue)",
                "assert length == 1, f'got {length!r}'",
            ],
        ),
        (
            the_world_around,
            "expected more than 1, got 1 from len(kept)",
            [
                "before = files(directory)",
                "queue.push(b'')",
                "kept = files(directory)",
                "assert len(kept) > len(before)",
            ],
        ),
        (
            a_context,
            "expected 2, got 1 from len(queue)",
            [
                "with Within('name') as within:\n    with Within('other'):\n        queue.push(within.name)",
                "length = len(queue)",
                "assert length == 2, f'got {length!r}'",
            ],
        ),
        (
            a_fault,
            "expected 2, got 1 from len(queue)",
            [
                "queue.push(b'0')",
                "try:\n    with OneAtATime(stack, 1):\n        queue.push(b'1')\n"
                "except Exception:\n    pass\nelse:\n    sys.exit()  # it was done, which is right too",
                "length = len(queue)",
                "assert length == 2, f'got {length!r}'",
            ],
        ),
        (
            either,
            "expected 1, got 0 from len(queue)",
            [
                "with suppress(Exception):\n    queue.push(None)",
                "length = len(queue)",
                "assert length == 1, f'got {length!r}'",
            ],
        ),
        (
            one_error,
            "expected KeyError, got TypeError('no item') raised by queue.push(None)",
            [
                "try:\n    queue.push(None)\nexcept Exception as error:\n"
                "    names = {cls.__name__ for cls in type(error).__mro__}\n    assert names & {'KeyError'}, repr(error)",
            ],
        ),
        (
            raises_in_an_assertion,
            "TypeError('no item') raised by queue.push(None)",
            ["len(queue)", "queue.push(None)"],
        ),
        (
            nothing_else,
            "expected two, got 1 from len(queue)",
            ["queue.push(1)", "length = len(queue)", "assert length == 2, f'got {length!r}'"],
        ),
        (
            names_below_a_block,
            None,
            [
                "with Within('name'):\n    length = len(queue)",
                "with suppress(Exception):\n    popped = queue.pop()",
                "assert (length, popped) == (0, b'')",
            ],
        ),
        (
            adds,
            "expected ([1], 8), got ([1], 9)",
            [
                "queue.push(b'0')",
                "lengths = []",
                "lengths += [len(queue)]",
                "unread = 0",
                "unread += len(queue)",
                "total = 3",
                "total += len(queue)",
                "total += 5",
                "assert (lengths, total) == ([1], 8)",
            ],
        ),
        (pushes_nothing, "TypeError('no item') raised by queue.push(None)", ["queue.push(b'1')", "queue.push(None)"]),
    ],
)
def test_a_check_becomes_a_script(check, failure, lines):
    failed, written, _ = ran(check)
    assert written == lines
    assert failure is None or str(failed) == failure


def test_a_name_that_nothing_was_assigned_to_is_what_it_was_before():
    _, written, _ = ran(names_of_what_failed)
    assert "popped = None" in "\n".join(written)
    assert written[-1] == "assert popped == b'1', f'got {popped!r}'"


def test_what_is_deleted_is_held_by_nothing():
    gc.collect()  # the stacks of other tests
    failed, written, _ = ran(deletes)
    assert failed is None
    assert written == ["other = Stack(directory + '/1')", "other.push(b'0')", "del other"]


def test_what_is_done_under_a_fault_is_shown_below_it():
    _, _, operations = ran(a_fault)
    assert operations == ["queue.push(b'0')", "with OneAtATime(stack, 1):", "    queue.push(b'1')", "len(queue)"]


def test_each_call_is_an_operation():
    _, _, operations = ran(results)
    assert operations == [
        *(f"queue.push(b'item {number}')" for number in range(3)),
        "queue.pop()",
        "queue.pop()",
        "queue.limit",
    ]


def test_an_operation_names_what_has_no_literal():
    _, _, operations = ran(items_without_equality)
    assert operations == ["queue.push(item)", "queue.pop()", "queue.push(Item(8))", "queue.pop()"]


def test_an_operation_that_raises_has_the_rule_of_its_method():
    failed, _, _ = ran(pushes_nothing)
    assert failed.rule == "rule.push"


class Hostile:
    """A value whose comparison fails."""

    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None


def comes_back(queue):
    queue.push(Hostile())
    assert queue.pop() == b"1"


def test_the_code_of_a_value_that_fails_is_no_mistake_of_the_check():
    failed, _, _ = ran(comes_back)
    assert failed.actual.endswith("RuntimeError('no') raised")


@pytest.mark.parametrize(
    ("value", "source"),
    [
        ("text", "'text'"),
        (b"x" * 60, "b'x' * 60"),
        ("/scratch/0", "directory + '/0'"),
        ((1,), "(1,)"),
        ({"a": [None, 2.5]}, "{'a': [None, 2.5]}"),
        (set(), "set()"),
        (TypeError, "TypeError"),
        (float("nan"), None),
        (bytearray(b"a"), "bytearray(b'a')"),
        (range(3, 7), "range(3, 7)"),
        (10**100, "10**100"),
        (-(10**100), "-10**100"),
        (-250 * 10**99, "-25 * 10**100"),
        ([object()], None),
    ],
)
def test_values_are_written_as_literals(value, source):
    assert Sources("/scratch").of(value) == source


@pytest.mark.parametrize(("covered", "count"), [([1], 1), ([1, 2], 2), ([], 0)])
def test_a_check_is_covered_if_one_of_its_cases_is(covered, count):
    @check("queue.push.accept", kinds=(), name="cases", number=(1, 2), covered=[covered])
    def some_case(queue, item, number, covered):
        if number not in covered:
            raise NotCovered("not in this case")
        assert queue.push(item(number)) is None

    found = registry._registered.pop(("cases", frozenset()))
    with context(FIFO_MEMORY) as made:
        if covered:
            found.function(made)
        else:
            with pytest.raises(NotCovered, match="not in this case"):
                found.function(made)
        assert made.covered["queue.push.accept"] == count


def lets_happen_what_may(queue, item):
    with may_raise():
        queue.push(item(1))
    queue.pop()


def lets_nothing_raise(queue, item):
    with under_test():
        queue.pop()


def compares(queue):
    assert queue.pop() is None


@pytest.mark.parametrize(("check", "covered"), [(lets_happen_what_may, False), (lets_nothing_raise, True), (compares, True)])
def test_only_what_can_fail_a_rule_covers_it(check, covered):
    with context(FIFO_MEMORY) as made:
        run_case(made, "queue.push.accept", check)
    assert bool(made.covered["queue.push.accept"]) is covered


def imports(queue, item):
    queue.push(item(1))
    assert drain(queue) == []


def asks(queue, item, drain):
    queue.push(item(1))
    assert drain(queue) == []


@pytest.mark.parametrize("check", [imports, asks])
def test_a_check_imports_a_fixture_or_has_it_as_a_parameter(check):
    with context(FIFO_MEMORY) as made, pytest.raises(RuleFailed) as failed:
        run_case(made, "queue.push.accept", check)
    assert failed.value.body[2].startswith("left = drain(queue)")


def numbers(context):
    yield from range(3)


def covers_the_last(queue, number):
    if number < 2:
        raise NotCovered("not with this number")
    assert queue.pop() is None


def test_a_generated_case_that_is_not_covered_ends_itself_alone():
    with context(FIFO_MEMORY) as made:
        run_all_cases(made, covers_the_last, number=[numbers])
    assert made.covered["queue.push.accept"] == 1
    assert made.notes == ["a check: not covered in some cases: not with this number"]


def tolerates(queue, arguments):
    with may_raise():
        queue.push(*arguments)
    assert len(queue) == 9


OR_EXIT = "try:\n    queue.push('1')\nexcept Exception:\n    sys.exit()  # refused, which is right too"
SUPPRESSED = "with suppress(Exception):\n    queue.push(1, 2)"


@pytest.mark.parametrize(("arguments", "written"), [(("1",), OR_EXIT), ((1, 2), SUPPRESSED)])
def test_a_script_ends_well_where_another_class_refuses_what_this_one_accepted(arguments, written):
    with context(FIFO_MEMORY) as made, pytest.raises(RuleFailed) as failed:
        run_case(made, "queue.push.accept", tolerates, {"arguments": arguments})
    assert failed.value.body[1:] == [written, "length = len(queue)", "assert length == 9, f'got {length!r}'"]
    refused = ["queue.push.accept: push may raise there, and raised TypeError"]
    assert made.notes == (refused if written == SUPPRESSED else [])


def tolerates_values(queue):
    with may_raise(ValueError):
        queue.push("1", 2)


def test_a_script_fails_where_the_class_refuses_otherwise():
    with context(FIFO_MEMORY) as made, pytest.raises(RuleFailed) as failed:
        run_case(made, "queue.push.accept", tolerates_values)
    assert failed.value.body[1:] == ["queue.push('1', 2)"]


def expects_its_own_error(queue):
    error = TypeError("mine")
    with raises(error):
        queue.push("1", 2)


def test_another_error_of_the_same_class_is_not_the_one_that_is_expected():
    with context(FIFO_MEMORY) as made, pytest.raises(RuleFailed) as failed:
        run_case(made, "queue.push.accept", expects_its_own_error)
    assert failed.value.expected == "TypeError('mine')"
    made_error, tried = failed.value.body[1:]
    assert made_error == "error = TypeError('mine')"
    assert "except Exception as caught:\n    assert caught is error" in tried


def asserts_a_text(queue, item, texts):
    queue.push(item(1))
    popped = queue.pop()
    assert f"{{{popped!r:>6}}} of {texts}" == 1


def test_a_text_that_no_f_string_can_hold_is_written():
    with context(FIFO_MEMORY) as made, pytest.raises(RuleFailed) as failed:
        run_case(made, "queue.push.accept", asserts_a_text, {"texts": ["b'c", "\\"]})
    text = failed.value.body[-1].removeprefix("assert ").partition(" == ")[0]
    assert eval(text, {"popped": None}) == "{  None} of [\"b'c\", '\\\\']"


def says_something(note, number):
    note("numbers", f"have {number}")


def test_notes_on_one_topic_are_one_line():
    with context(FIFO_MEMORY) as made:
        made.notes.append("something else")
        for number in range(2):
            run_case(made, "queue.push.accept", says_something, {"number": number})
            made.notes.append(f"number {number}")
        assert made.notes == ["something else", "numbers have 0, have 1", "number 0", "number 1"]


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        (True, "request.meta['changed'] = 1"),
        (False, "queue.push(Request('https://example.com/1'))"),
    ],
)
def test_lines_are_shown_where_operations_do_not_say_what_a_name_means(changed, shown):
    with context(FIFO_MEMORY) as made, pytest.raises(RuleFailed) as failed:
        run_case(made, "queue.push.accept", pushes, {"changed": changed})
    assert shown in violation_of(made, failed.value).operations


def pushes(queue, request, changed):
    pushed = request()
    if changed:
        request = Request("https://example.com/2")
        queue.push(request)
        request.meta["changed"] = 1
    else:
        queue.push(pushed)
    assert len(queue) == 9


lambdas = {
    "one": lambda: [name * 2 for name in (1, 2)],
    "two": lambda left, right: left + (lambda: right)(),
}


def test_what_a_lambda_returns_is_an_expression():
    assert body_of(lambdas["one"]) == "[name * 2 for name in (1, 2)]"
    assert body_of(lambdas["two"]) == "left + (lambda: right)()"


def test_it_must_be_the_only_one_in_its_line():
    first, _ = lambda: 1, lambda: 2
    with pytest.raises(LookupError, match="2 lambdas begin in line"):
        body_of(first)


class Refuses(Fault):
    """The queue refuses what is pushed."""

    name, place = "refusal", "queue"

    def begin(self):
        self.before, FifoMemoryQueue.push = FifoMemoryQueue.push, refuse

    def end(self):
        FifoMemoryQueue.push = self.before


class Nothing(NoFault):
    place = "queue"

    def begin(self):
        self.begun = True

    def end(self):
        pass


class Misses(Nothing):
    def must_hit(self, seen=False):
        raise Missed("nothing came in its way")


def refuse(*_):
    raise RuntimeError("no")


def refusals(context, attempt):
    usual = Nothing()
    attempt(usual)
    assert usual.begun
    yield from (Refuses(), Misses())


def pushes_under_a_fault(queue, item, fault):
    with may_refuse("queue.push.returns-none", never=["RuntimeError"], expected="no error", soft=True) as refused, fault:
        queue.push(item(1))
    with under_test("queue.push.rebuildable"):
        assert len(queue) == (3 if refused else 1)
    fault.must_hit()


def run_all_cases(made, check, **cases):
    told = {}
    run_cases(made, "a check", cases, lambda case: run_case(made, "queue.push.accept", check, case, told=told))


def six(context, attempt):
    yield from range(6)


RUNS = []


def finds_nothing(queue, item, number):
    RUNS.append(number)
    queue.push(item(2))
    assert queue.pop() is None


def test_what_fails_alike_is_tried_with_plainer_items_once():
    RUNS.clear()
    with context(FIFO_MEMORY) as made:
        run_all_cases(made, finds_nothing, number=[six])
    assert RUNS == [0, 0, 1, 2, 3, 4, 5]
    assert not made.failed["queue.push.accept"].varied


def shows_nothing_of_plain_items(context, queue, item):
    queue.push(item(2))
    if not context.driver.varied:
        raise NotCovered("it came to nothing")
    assert queue.pop() is None


def passes_with_plain_items(context, queue, item):
    queue.push(item(2))
    popped = queue.pop()
    assert popped is None or not context.driver.varied


@pytest.mark.parametrize(("check", "told"), [(shows_nothing_of_plain_items, False), (passes_with_plain_items, True)])
def test_plain_items_of_which_nothing_is_known_are_not_said_to_pass(check, told):
    with context(FIFO_MEMORY) as made:
        made.driver.vary(made.driver.fields)
        run_all_cases(made, check)
        failure = made.failed["queue.push.accept"]
        assert len(failure.varied) == 1
        assert violation_of(made, failure).actual.endswith(", plain ones pass") is told


def test_faults_are_generated_after_a_run_without_one_and_counted():
    with context(FIFO_MEMORY) as made:
        run_all_cases(made, pushes_under_a_fault, fault=[refusals])
    assert made.notes == ["faults that hit a check: refusal (1 of 1)"]


def test_a_check_may_go_on_after_a_failure_and_shows_each_up_to_where_it_is():
    with context(FIFO_MEMORY) as made:
        run_all_cases(made, pushes_under_a_fault, fault=[refusals])
    first, second = made.failed["queue.push.returns-none"], made.failed["queue.push.rebuildable"]
    assert (first.expected, first.actual) == (
        "no error",
        "RuntimeError('no') raised by queue.push(Request('https://example.com/1'))",
    )
    assert "assert names & {'RuntimeError'} == set(), repr(error)" in first.body[-1]
    assert "else:\n    sys.exit()" in second.body[1]
    assert second.body[-1].endswith("assert length == 3, f'got {length!r}'")


def fails_without_a_fault(queue, fault):
    with fault:
        assert queue.pop() == 1


def misses(queue, fault):
    with fault:
        assert queue.pop() is None


@pytest.mark.parametrize(
    ("check", "why"),
    [(fails_without_a_fault, "it fails without a fault, too"), (misses, "no fault came in its way")],
)
def test_what_no_fault_hits_is_not_covered(check, why):
    with context(FIFO_MEMORY) as made, pytest.raises(NotCovered, match=why):
        run_all_cases(made, check, fault=[refusals])
    assert not made.failed
    assert not made.covered.total()


def of_module(module, name="queue"):
    """Return a function of a module."""
    made = FunctionType((lambda case: case).__code__, {"__name__": module}, name)
    made.__module__ = module
    return made


def test_each_kind_may_have_a_fixture_of_a_name(monkeypatch):
    monkeypatch.setitem(REGISTERED, "queue", {})
    kits, others = fixture(of_module("kit.queue.fixtures")), fixture(of_module("others.fixtures"))
    assert fixture_of(of_module("kit.queue.checks.push"), "queue") is kits
    assert fixture_of(of_module("kit.crawl.checks"), "queue") is kits
    assert fixture_of(of_module("others.checks"), "queue") is others


def test_a_check_says_which_of_two_fixtures_it_means(monkeypatch):
    monkeypatch.setitem(REGISTERED, "queue", {})
    _, other = fixture(of_module("kit.queue.fixtures")), fixture(of_module("kit.scheduler.fixtures"))
    check = of_module("kit.crawl.checks")
    with pytest.raises(ValueError, match=r"two fixtures are called queue: in kit\.queue\.\w+ and in kit\.scheduler\."):
        fixture_of(check, "queue")
    check.__globals__["queue"] = other
    assert fixture_of(check, "queue") is other


# --- What exceptions say besides ---------------------------------------------------------------------------------------


def chain(*causes):
    """Return an exception that was raised from others."""
    error = None
    for cause in reversed(causes):
        cause.__cause__, error = error, cause
    return error


class Lies(ValueError):
    """It says nothing of why it was raised."""

    def __getattribute__(self, name):
        if name in ("__cause__", "__dict__"):
            raise RuntimeError(name)
        return super().__getattribute__(name)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no"), ""),
        (chain(ValueError("no"), TypeError("why")), ", from TypeError('why')"),
        (chain(*(ValueError(number) for number in range(9))), ", from ValueError(1), from ValueError(2), from ValueError(3)"),
        (chain(Lies(), TypeError("why")), ", from TypeError('why')"),
    ],
)
def test_what_an_exception_was_raised_from_is_told(error, said):
    raised = OperationRaised("queue.pop.fifo", Step("popped = queue.pop()"), error)
    assert str(raised).endswith(f" raised by queue.pop(){said}")


def test_the_notes_of_an_exception_are_told():
    error = ValueError("no")
    error.add_note("the index is\n  gone")
    error.__notes__.append(5)
    assert (
        str(OperationRaised("", Step("queue.pop()"), error)) == "ValueError('no') raised by queue.pop(); note: the index is gone"
    )
