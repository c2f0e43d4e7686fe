"""Checks of what SIGKILL leaves of a queue on disk."""

from __future__ import annotations

from collections.abc import Callable

from queue_conformance.faults import crash
from queue_conformance.faults.crash import When
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotExercised
from queue_conformance.suites.queues.aftermath import NEW, Account
from queue_conformance.suites.queues.campaign import campaign, shortened, survives_a_clean_close

PUSH = "queue.persist.crash-push"
POP = "queue.persist.crash-pop"
OPEN = "queue.persist.crash-open"
NO_PHANTOM = "queue.persist.crash-no-phantom"
TORN = "queue.persist.torn"


@check(PUSH, POP)
def crash_safe_queues_lose_nothing(bench: Bench) -> None:
    failures: dict[str, Account] = {}
    for found in _crashes(bench):
        bench.examined[PUSH] += 1
        bench.examined[POP] += found.crash.operations[-1] == "pop"
        if rule := broken_by(found):
            failures.setdefault(rule, found)
    if PUSH in failures:
        del bench.examined[POP]  # whoever loses what was pushed also loses it in a pop
        failures.pop(POP, None)
    _report(bench, failures, broken_by)


def broken_by(found: Account) -> str:
    """Return the rule that a crash-safe queue breaks, or ``""``."""
    if found.right:
        return ""
    if found.phantoms:
        return TORN
    return POP if found.crash.operations[-1] == "pop" else PUSH


@check(OPEN, NO_PHANTOM)
def other_queues_stay_honest(bench: Bench) -> None:
    failures: dict[str, Account] = {}
    for found in _crashes(bench):
        bench.examined[OPEN] += 1
        bench.examined[NO_PHANTOM] += found.look.symptom != "raised"
        if rule := dishonest_by(found):
            failures.setdefault(rule, found)
    _report(bench, failures, dishonest_by)


def dishonest_by(found: Account) -> str:
    """Return the rule that a queue breaks which may lose items in a crash, or ``""``.

    An exception is right wherever it is raised: whoever gets it knows that something is wrong.
    """
    if found.look.symptom not in ("", "raised"):
        return OPEN
    return NO_PHANTOM if found.phantoms or found.new_is_gone else ""


def _crashes(bench: Bench) -> list[Account]:
    """Return the accounts of all crashes, and note what they say of durability."""
    if not crash.AVAILABLE:
        raise NotExercised("this platform cannot fork")
    accounts = []
    for found in campaign(bench):
        accounts.append(found)
        if found.look.symptom == "hung":
            break  # each one more would take as long
    if not accounts:
        raise NotExercised("no operation was reached in which a process could be killed")
    bench.notes.append(_durability(bench, accounts))
    raised = sorted({found.look.trouble for found in accounts if found.look.trouble}, key=len)
    if raised:
        bench.notes.append(f"after a crash {raised[0]}{f' (other troubles: {len(raised) - 1})' if raised[1:] else ''}")
    return accounts


def _durability(bench: Bench, accounts: list[Account]) -> str:
    """Grade a queue by the worst end of a process that it survives."""
    if all(found.right for found in accounts):
        grade = "process crash"
    else:
        grade = "clean close" if survives_a_clean_close(bench) else "none"
    lost = sum(found.lost + found.new_is_gone for found in accounts)
    doubled = sum(len({*found.doubled, *found.copies}) for found in accounts)
    phantoms = sum(len(found.phantoms) for found in accounts)
    unusable = sum(bool(found.look.trouble) for found in accounts)
    counts = f"{lost} lost, {doubled} doubled, {phantoms} phantom at {len(accounts)} crash points"
    return f"durability: {grade} ({counts}{f', unusable after {unusable}' if unusable else ''})"


# --- Evidence --------------------------------------------------------------------------------------------------------


def _report(bench: Bench, failures: dict[str, Account], broken: Callable[[Account], str]) -> None:
    for rule, first in failures.items():
        with bench.collecting():
            found = shortened(bench, first, lambda account: (broken(account), _wrong(account)))
            lenient = rule in (OPEN, NO_PHANTOM)
            expected, actual = _texts(bench, found, lenient=lenient)
            lines = [*_life(bench, found), *_afterwards(bench, found, lenient=lenient)]
            _note_steps(bench, found)
            bench.fail(rule, expected, actual, [], body=lines)


def _wrong(found: Account) -> str:
    """Tell what is wrong in one word; the worst comes first."""
    if found.phantoms:
        return "phantom"
    if found.look.symptom:
        return found.look.symptom
    if found.lost:
        return "lost"
    return "copies" if found.copies else "new"


def _texts(bench: Bench, found: Account, *, lenient: bool) -> tuple[str, str]:
    """Return what is expected, and what came instead."""
    wrong, count = _wrong(found), len(found.stored)
    if wrong == "phantom":
        return "no item that was never pushed", f"popped {found.phantoms[0]}"
    if wrong == "lost":
        return f"{_items(count - found.spared)} after SIGKILL", f"{_items(count - len(found.missing))}"
    if wrong == "copies":
        return "each item once", f"{bench.driver.describe_item(found.copies[0])} came more than once"
    if wrong == "new":
        return "the item that was pushed after the crash", "it never comes, not even after a clean close"
    if lenient:
        return "a queue that works after SIGKILL, or an exception", found.look.trouble
    return f"a queue that works after SIGKILL, with {_items(count)}", found.look.trouble


def _items(count: int) -> str:
    return f"{count} item{'' if count == 1 else 's'}"


def _operation(bench: Bench, operation: str) -> str:
    name, _, number = operation.partition(":")
    if name == "open":
        return f"queue = {bench.driver.construction('0')[0]}"
    return f"queue.push({bench.driver.item(int(number)).source})" if number else f"queue.{name}()"


def _note_steps(bench: Bench, found: Account) -> None:
    bench.restart()
    places = {When.AFTER: "after it", When.LINE: "at its line", When.BYTE: "when a file reaches the size"}
    for operation in found.crash.operations:
        bench.recorder.note(_operation(bench, operation))
    kill = found.crash.kill
    bench.recorder.steps[-1].source += f"  # SIGKILL {places[kill.when]}{f' {kill.number}' if kill.number else ''}"
    bench.recorder.note(_operation(bench, "open"))


def _life(bench: Bench, found: Account) -> list[str]:
    """Return the lines of a script in which a child is killed."""
    *before, last = (_operation(bench, operation) for operation in found.crash.operations)
    kill = found.crash.kill
    arm = {
        When.AFTER: [],
        When.LINE: [f"    kill_at_line({bench.driver.class_name}, {kill.number})"],
        When.BYTE: [f"    kill_in_write({kill.number})"],
    }
    return [
        "child = os.fork()",
        "if child == 0:",
        *(f"    {line}" for line in before),
        *arm[kill.when],
        f"    {last}",
        "    os.kill(os.getpid(), signal.SIGKILL)",
        "os.waitpid(child, 0)",
    ]


def _afterwards(bench: Bench, found: Account, *, lenient: bool) -> list[str]:
    """Return the lines of a script that look at what is left, and complain."""
    wrong, driver = _wrong(found), bench.driver
    lines = reading(bench, _phase(found), found.crash.most, length=wrong == "length")
    if lenient:
        lines = ["try:", *(f"    {line}" for line in lines), "except Exception:"]
        lines += ["    sys.exit()  # fails with an exception, which is right too"]
    if wrong == "hung":
        return ["faulthandler.dump_traceback_later(5, exit=True)  # ends a hang with status 1", *lines]
    if wrong == "died":
        guarded = [
            "child = os.fork()",
            "if child == 0:",
            *(f"    {line}" for line in lines),
            "    os._exit(77)  # right: all returned",
        ]
        ended = "os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])"
        return [*guarded, f"assert {ended} in (0, 77), 'an operation after SIGKILL ended the process'"]
    keys = [f"left = [{driver.key_source('item')} for item in left if item is not None]"]
    if wrong == "raised":
        return lines
    if wrong == "length":
        return [*lines, f"assert length <= {found.crash.most}, f'len {{length}} after SIGKILL'"]
    if wrong == "endless":
        return [*lines, "assert left[-1] is None, 'pop goes on and on'"]
    if wrong == "lost":
        keys += [f"lost = {_keys(bench, found.stored)} - set(left)"]
        return [*lines, *keys, f"assert len(lost) <= {found.spared}, f'lost after SIGKILL: {{lost}}'"]
    if wrong == "phantom":
        keys += [f"phantoms = set(left) - {_keys(bench, (*found.crash.pushed, NEW))}"]
        return [*lines, *keys, "assert not phantoms, f'never pushed: {phantoms}'"]
    if wrong == "copies":
        keys += [f"count = left.count({driver.key_literal(driver.item(found.copies[0]))})"]
        return [*lines, *keys, "assert count <= 1, f'one item came {count} times'"]
    return [*lines, *keys, f"assert {driver.key_literal(driver.item(NEW))} in left, f'only {{left}} came'"]


def _keys(bench: Bench, numbers: tuple[int, ...]) -> str:
    return f"{{{', '.join(bench.driver.key_literal(bench.driver.item(number)) for number in numbers)}}}"


def _phase(found: Account) -> int:
    """Return how far the script must look to see what is wrong."""
    wrong = _wrong(found)
    if wrong == "phantom":
        return min(phase for phase, _, text in found.look.found if text in found.phantoms)
    return 0 if wrong == "lost" else found.look.phase


def reading(bench: Bench, phase: int, most: int, *, length: bool = False) -> list[str]:
    """Return the lines of a script that open a queue and drain it.

    Args:
        bench: whose queue it is.
        phase: 0 for that; 1 pushes and pops one more; 2 also closes it and drains it again.
        most: how many items to ask for.
        length: ask for the length instead.
    """
    opening = _operation(bench, "open")
    pops = f"[queue.pop() for _ in range({most})]"
    if length:
        return [opening, "length = len(queue)"]
    lines = [opening, f"left = {pops}"]
    if phase:
        lines += [_operation(bench, f"push:{NEW}"), f"left += {pops}"]
    if phase == 2:
        lines += ["queue.close()", opening, f"left += {pops}", "queue.close()"]
    return lines
