"""Statements that are alike become a loop, which does the same."""

import pytest

from queue_conformance.engine.scripts import with_loops


def pushes(template, values):
    return [template.format(*(value if isinstance(value, tuple) else (value,))) for value in values]


CASES = {
    "numbers": (pushes("push({})", range(0, 21, 3)), ["for n in range(0, 21, 3):", "    push(n)"]),
    "texts": (pushes("push('item {0}{{}}', {0})", range(9)), ["for n in range(9):", "    push(f'item {n}{{}}', n)"]),
    "bytes": (pushes("push(b'{}% ' * 9)", range(5, 9)), ["for n in range(5, 9):", "    push((b'%d%% ' % n) * 9)"]),
    "powers": (
        pushes("push('{}' * {})", [(n, n + 3) for n in range(4)]),
        ["for n in range(4):", "    push(f'{n}' * (n + 3))"],
    ),
    "methods": (pushes("push(b'{}'.decode())", range(4)), ["for n in range(4):", "    push((b'%d' % n).decode())"]),
    "downwards": (pushes("push({})", range(4, 0, -1)), ["for n in range(4, 0, -1):", "    push(n)"]),
    "beside": (
        pushes("push('{}', priority={})", enumerate([3, -5, 3, 3, 0, 7], 2)),
        ["for n, priority in enumerate([3, -5, 3, 3, 0, 7], 2):", "    push(f'{n}', priority=priority)"],
    ),
    "values": (
        pushes("push({{'slot': '{}'}})", "abab"),
        ["for slot in ['a', 'b', 'a', 'b']:", "    push({'slot': slot})"],
    ),
    "in turn": (
        [line for n in range(10, 22, 3) for line in (f"push({n})", f"push({n + 1})", "pop()")],
        ["for n in range(10, 22, 3):", "    push(n)", "    push(n + 1)", "    pop()"],
    ),
    "a block": (
        pushes("try:\n    push({})\nexcept ValueError:\n    pop()  # full", range(4)),
        ["for n in range(4):", "    try:", "        push(n)", "    except ValueError:", "        pop()  # full"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_statements_that_are_alike_become_a_loop(name):
    statements, loop = CASES[name]
    written = with_loops(statements, alike=True)
    assert written == loop
    assert done(written) == done(statements)


@pytest.mark.parametrize(
    "statements",
    [
        pushes("push({})", [1, 5, 2]),
        pushes("push({}, {})", [(1, 7), (5, 3), (2, 2), (9, 1)]),
        pushes("push(lambda: {})", range(9)),
        pushes("push(n, {})", range(9)),
        pushes("push({{'class': '{}'}})", "abab"),
        pushes("push(<Item {}>)", range(9)),
        ["push(1)", "pop()", "push('1')", "pop()", "push(b'1')", "push(2)"],
    ],
)
def test_other_statements_stay_as_they_are(statements):
    assert with_loops(statements, alike=True) == statements


def test_literals_differ_only_where_they_may():
    statements = CASES["numbers"][0]
    assert with_loops(statements) == statements


def test_a_loop_over_many_values_has_short_lines():
    statements = pushes("push('{}')", ["abcdefghij"[n % 10] * 20 for n in range(40)])
    written = with_loops(statements, alike=True)
    assert max(map(len, written)) <= 110
    assert done(written) == done(statements)


def test_a_loop_is_indented_as_what_it_stands_for():
    assert with_loops(pushes("    push({})", range(4)), alike=True) == ["    for n in range(4):", "        push(n)"]


def done(lines):
    """Return the calls that lines of Python make."""
    calls = []
    names = {name: lambda *args, _name=name, **kwargs: calls.append((_name, args, kwargs)) for name in ("push", "pop")}
    exec("\n".join(lines), names)
    return calls
