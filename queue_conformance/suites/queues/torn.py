"""The check of records that a crash has cut."""

from __future__ import annotations

import shutil
from pathlib import Path

from queue_conformance.faults import crash
from queue_conformance.faults.crash import Say, die
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotExercised
from queue_conformance.suites.queues.aftermath import NEW, Account, Crash, Life, account, look
from queue_conformance.suites.queues.campaign import evenly
from queue_conformance.suites.queues.crash import reading

RULE = "queue.persist.torn"

BEFORE = (10, 11, 12)
"""The items before the one that is cut."""

CUT = 13

CRASH = Crash(("open", *(f"push:{number}" for number in (*BEFORE, CUT))))

OFFSETS = 64
"""Places at which what was appended is cut."""

EDGE = 6
"""The first and last places that are always among them."""

Files = dict[str, bytes]


@check(RULE)
def cut_records_are_detected(bench: Bench) -> None:
    if not crash.AVAILABLE:
        raise NotExercised("this platform cannot fork")
    before, after = _contents_before_and_after(bench)
    starts = {name: before.get(name, b"") for name in after}
    appended = [name for name, start in starts.items() if after[name] != start and after[name].startswith(start)]
    if not appended:
        raise NotExercised("no file is only appended to")
    if _damage(bench, after):
        raise NotExercised("items are lost or damaged even where nothing is cut")
    for name in appended:
        start = len(starts[name])
        for offset in _offsets(len(after[name]) - start, OFFSETS // len(appended), bench.seed):
            bench.examined[RULE] += 1
            cut = {name: after[name][: start + offset]}
            # Nobody knows in which order the files were written: the others are as before the push, or as after it.
            if _damage(bench, {**before, **cut}) and (damage := _damage(bench, {**after, **cut})):
                _fail(bench, offset, damage)


def _contents_before_and_after(bench: Bench) -> tuple[Files, Files]:
    """Push, crash, and return the files as they were before the last push and as they are after it."""
    bench.restart()

    def live(say: Say) -> None:
        life = Life(bench)
        for operation in CRASH.operations[:-1]:
            life.do(operation)
        say(_contents(bench.driver.directory))
        life.do(CRASH.operations[-1])
        die()

    lived = crash.run(live, time_limit=bench.time_limit)
    if not lived.hit:
        raise NotExercised("the process was not killed")
    return lived.said[0], _contents(bench.driver.directory)


def _contents(directory: Path) -> Files:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def _offsets(length: int, number: int, seed: int) -> list[int]:
    """Return places inside something of that length: all of them, or the first and last and some in between."""
    places = range(length)
    if length <= number:
        return list(places)
    return sorted({*places[:EDGE], *evenly(places[EDGE:-EDGE], number - 2 * EDGE, seed), *places[-EDGE:]})


def _damage(bench: Bench, files: Files) -> str:
    """Open a queue whose files have these contents, and tell what is wrong with what comes out."""
    bench.restart()
    directory = bench.driver.directory
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
    found = account(CRASH, [None] * (len(CRASH.operations) - 1), look(bench, CRASH.most))
    shutil.rmtree(directory, ignore_errors=True)
    if found.phantoms:
        return f"popped {found.phantoms[0]}"
    if found.look.trouble:
        return found.look.trouble
    if found.missing:
        return f"{len(found.missing)} of them are lost"
    if found.copies or found.new_is_gone:
        return "items come more than once" if found.copies else "an item that is pushed afterwards never comes"
    return "" if _ordered(bench, found) else "they come in another order"


def _ordered(bench: Bench, found: Account) -> bool:
    came = [number for phase, number, _ in found.look.found if phase == 0 and number != CUT]
    if not bench.offers("ordered"):
        return True
    return came == list(BEFORE if bench.offers("fifo") else reversed(BEFORE))


def _fail(bench: Bench, offset: int, damage: str) -> None:
    driver = bench.driver
    bench.restart()
    opening, _ = driver.construction("0")
    pushes = [f"queue.push({driver.item(number).source})" for number in (*BEFORE, CUT)]
    bench.recorder.note(f"queue = {opening}")
    for push in pushes:
        bench.recorder.note(push)
    bench.recorder.note(f"# SIGKILL; what the last push appended is cut after {offset} bytes")
    bench.recorder.note(f"queue = {opening}")
    keys = [driver.key_literal(driver.item(number)) for number in (*BEFORE, CUT)]
    body = [
        "before = tempfile.TemporaryDirectory()",
        "child = os.fork()",
        "if child == 0:",
        f"    queue = {opening}",
        *(f"    {push}" for push in pushes[:-1]),
        "    shutil.copytree(directory, before.name, dirs_exist_ok=True)",
        f"    {pushes[-1]}",
        "    os.kill(os.getpid(), signal.SIGKILL)",
        "os.waitpid(child, 0)",
        "for file in [file for file in Path(directory).rglob('*') if file.is_file()]:",
        "    old = Path(before.name, file.relative_to(directory))",
        "    start = old.read_bytes() if old.exists() else b''",
        f"    size = len(start) + {offset}",
        "    if size < file.stat().st_size and file.read_bytes().startswith(start):",
        "        os.truncate(file, size)  # inside what the last push appended",
        *reading(bench, 2, CRASH.most),
        f"left = [{driver.key_source('item')} for item in left if item is not None]",
        f"kept = [item for item in left if item in ({', '.join(keys[:-1])})]",
        *_claims(bench, keys),
    ]
    bench.fail(RULE, f"the {len(BEFORE)} items before the cut one, and nothing damaged", damage, [], body=body)


def _claims(bench: Bench, keys: list[str]) -> list[str]:
    """Return the assertions of the script."""
    first = keys[:-1] if not bench.offers("lifo") else keys[-2::-1]
    kept = f"kept == [{', '.join(first)}]" if bench.offers("ordered") else f"sorted(kept) == sorted([{', '.join(first)}])"
    new = bench.driver.key_literal(bench.driver.item(NEW))
    return [
        f"assert {kept}, f'{{kept}} survived'",
        f"assert set(left) <= {{{', '.join([*keys, new])}}}, f'never pushed: {{left}}'",
    ]
