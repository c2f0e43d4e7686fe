"""How the kit keeps a baseline: it adds, refreshes and removes entries, and leaves every other line as its author wrote it.

There is no TOML writer in the standard library, and what follows needs none: the reader of TOML itself tells where each
statement ends, and reads what was written once more.
"""

from __future__ import annotations

import glob
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

from queue_conformance import __version__
from queue_conformance.baseline import FORM, OF_AUTHORS, OF_FINDINGS, PLACEHOLDER, Baseline, BaselineError, Entry, parse
from queue_conformance.baseline.comparison import Finding, Judgement, Result, Trouble
from queue_conformance.baseline.helpers import explained
from queue_conformance.engine.outcomes import Violation
from queue_conformance.engine.ways import BY_CHANCE, SOME_CASES, is_by_chance
from queue_conformance.implementation.capabilities import lost
from queue_conformance.reports.files import beside
from queue_conformance.specification import Level, load
from queue_conformance.specification.kinds import kind_named

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HEADER = """\
# What is known to fail, which does not fail a run with --conformance-baseline, and what each implementation offers, of
# which a run fails if some is lost. An entry with a cause is about what fails in that way; one without, about its whole rule.
# --conformance-update-baseline adds, refreshes and removes entries; reason, issue, expires and versions are yours.
"""

_EVIDENCE = ("expected", "actual", "operations", "sequence", "seed", "examples", "also")
"""The keys that the kit writes anew in each update."""

_IDENTITY = ("cause", "ways")
"""The keys that tell a finding from others of its rule."""

_WRITTEN = ("implementation", "rule", *_IDENTITY, *OF_AUTHORS, *_EVIDENCE)
"""All keys, in the order in which a new entry has them."""

_PASSING = re.compile(r"/[^\s'\"]*/queue-[^\s'\"]*")
"""The directories in which checks work."""


def update(text: str, baseline: Baseline, judgement: Judgement, implementations: Iterable[Result]) -> tuple[str, list[str]]:
    """Bring the text of a baseline up to date.

    Returns:
        The new text, and one line for each change.

    Raises:
        BaselineError: if the entries are not written as tables ``[[known]]``.
    """
    preamble, blocks = _blocks(text)
    if len(blocks) != len(baseline.known) + len(baseline.offered):
        raise BaselineError(f"{baseline.name}: write each entry as a table of its own, [[known]], so that it can be updated")
    end = "\r\n" if "\r\n" in text else "\n"
    implementations = list(implementations)
    violations = {
        one.name: [(one, found) for verdict in one.verdicts if verdict.violation for found in verdict.violation.findings]
        for one in implementations
    }
    judged = (*judgement.findings, *judgement.outdated)
    stale = {id(finding.entry): finding for finding in judged if finding.entry and finding.tested}
    parts, entries = [_stamped(preamble, end)], list[Entry]()
    changes: list[str] = []
    found = {one.name: _found(one) for one in implementations if one.offers is not None}
    known = iter(baseline.known)
    for block in blocks:
        if table := tomllib.loads(block).get("offered"):
            name, before = table[0]["implementation"], table[0]["capabilities"]
            if sorted(found.get(name, before)) != sorted(before):
                changes += _changed(name, before, found[name])
                block = f"{_comments(block)}{_offer(name, found[name], end)}"
            parts.append(block)
            found.pop(name, None)
            continue
        entry = next(known)
        shown = [] if entry.unmet() else violations.get(entry.implementation, [])
        outcomes = [(one, _outcome(baseline, one, shown, stale.get(id(one)), changes)) for one in entry.findings]
        if not (remaining := [(one, fresh[0]) for one, fresh in outcomes if fresh]):
            parts.append(_remains(block))
            continue
        now = replace(remaining[0][1], also=tuple(_bare(one) for _, one in remaining[1:]))
        for (was, _), one in zip(remaining, now.findings, strict=True):
            if _lasting(one) != _lasting(was):
                before, after = len(was.operations), len(one.operations)
                more = f", from {before} to {after} operations" if before != after else ""
                changes.append(f"refreshed: {was.finding}{more}")
        if list(map(_lasting, now.findings)) != list(map(_lasting, entry.findings)):
            keys = _IDENTITY if now.rule == entry.rule else ("rule", *_IDENTITY)
            if any(getattr(now, key) != getattr(entry, key) for key in keys):
                block = _refreshed(block, now, end, keys)
            entry, block = now, _refreshed(block, now, end, _EVIDENCE)
        parts.append(block)
        entries.append(entry)
        for one, further in ((one, found) for one, fresh in outcomes for found in fresh[1:]):
            entries.append(further)
            parts.append(_gap("".join(parts), end) + _table(further, end))
            changes.append(f"added: {further.finding}, which {one.finding} stood for, too")
    for entry in _added((*judgement.findings, *judgement.upcoming)):
        entries.append(entry)
        parts.append(_gap("".join(parts), end) + _table(entry, end))
        others = ", ".join(dict.fromkeys(one.rule for one in entry.also if one.rule != entry.rule))
        more = f", and {others} by the same line" if others else ""
        changes.append(f"added: {entry.finding}{more}")
    for name, names in found.items():
        parts.append(_gap("".join(parts), end) + _offer(name, names, end))
        changes.append(f"added: what {name} offers")
    written = "".join(parts)
    if parse(written, baseline.name).known != tuple(entries):
        raise BaselineError(f"{baseline.name}: cannot be updated without changing what it says; edit it by hand")
    return written, [*dict.fromkeys(changes)]  # findings that differ in their ways are told in the same words


def _stamped(preamble: str, end: str) -> str:
    """Return the text before the first entry, which says that this release of the kit has written the file, in which form."""
    if tomllib.loads(preamble) == {"kit": __version__, "form": FORM}:
        return preamble
    stamp = f"kit = {_quoted(__version__)}{end}form = {FORM}"
    before = re.sub(r"^form *=[^\r\n]*\r?\n?", "", preamble, flags=re.MULTILINE)
    stamped = re.sub(r"^kit *=[^\r\n]*", lambda _: stamp, before, count=1, flags=re.MULTILINE)
    if stamp in stamped:
        return stamped
    return f"{before}{'' if not before or before.endswith(end) else end}{stamp}{end}"


def _outcome(
    baseline: Baseline, entry: Entry, shown: list[tuple[Result, Violation]], finding: Finding | None, changes: list[str]
) -> list[Entry]:
    """Return what becomes of one finding: nothing if it is removed, and several where it stood for what is told apart now.

    Args:
        shown: what the implementation fails.
        finding: what is not right about it.
        changes: lines on what changes; one is added.
    """
    where = entry.finding
    if finding and (finding.was or finding.trouble) in _REMOVED and not finding.gone:
        changes.append(f"removed: {where}, {_REMOVED[finding.was or finding.trouble]}; its reason was: {entry.explanation}")
        return []
    if finding and finding.trouble is Trouble.OUTDATED and not _stands_for(baseline, entry, shown):
        changes.append(f"removed: {where}, which other entries stand for now; its reason was: {entry.explanation}")
        return []
    return _fresh(baseline, entry, shown, finding.gone if finding else ())


def _added(findings: Iterable[Finding]) -> list[Entry]:
    """Return the entries on what is new: one for all that is raised at one line, as the finding that is best mended first."""
    mistakes: dict[object, list[Entry]] = {}
    for finding in findings:
        for alike in _alike(finding.violations):
            assert finding.tested is not None
            entry = _identified(Entry(finding.tested.name, alike[0].rule, PLACEHOLDER), finding.tested, alike)
            places = {one.raised_at for one in alike}
            one_place = len(places) == 1 and "" not in places
            mistakes.setdefault((entry.implementation, *places) if one_place else entry, []).append(entry)
    entries = [sorted(each, key=_urgency) for each in mistakes.values()]
    return [replace(head, also=tuple(map(_bare, also))) for head, *also in entries]


def _urgency(entry: Entry) -> tuple[int, bool, int]:
    """Return what sorts findings of one mistake; what shows it best comes first."""
    return list(Level).index(load()[entry.rule].level), entry.rule.startswith("e2e."), len(entry.operations)


def _bare(entry: Entry) -> Entry:
    """Return a finding without what its entry shows already."""
    return replace(entry, expected="", actual="", operations=(), also=())


def _alike(violations: Iterable[Violation]) -> list[list[Violation]]:
    """Return violations that one entry holds: those of one cause; each sequence has an entry of its own, unless it is chance."""
    found: dict[object, list[Violation]] = {}
    violations = list(violations)
    by_chance = {one.cause for one in violations if is_by_chance(one.way)}
    for one in violations:
        found.setdefault((one.cause, one.cause not in by_chance and one.sequence and one.way), []).append(one)
    return list(found.values())


def _identified(entry: Entry, tested: Result, alike: Sequence[Violation]) -> Entry:
    """Return an entry about violations of one cause."""
    shown = {_plain(violation.way) for violation in alike if violation.way}
    cut = {f"{check}{SOME_CASES}" for check in tested.cut & {way.partition(" (")[0] for way in shown}}
    ways = tuple(sorted(shown | cut))
    ways = (BY_CHANCE,) if any(map(is_by_chance, ways)) else ways
    return replace(_witnessed(entry, tested, alike[0]), cause=_plain(alike[0].cause), ways=ways)


def _fresh(baseline: Baseline, entry: Entry, shown: Iterable[tuple[Result, Violation]], gone: Sequence[str]) -> list[Entry]:
    """Return an entry with the evidence of a run; several, where one of another release stands for findings told apart now."""
    kept = replace(entry, ways=tuple(way for way in entry.ways if way not in gone))
    exact = [one for one in shown if entry.covers(one[1]) and (kept.is_any or kept.has(one[1].way))]
    if baseline.is_current or not entry.cause:
        same = [one for one in exact if one[1].sequence == entry.sequence]
        return [_witnessed(kept, *one) for one in (same or exact)[:1]] or [kept]
    mine = _stands_for(baseline, entry, shown)
    entry = replace(entry, also=())
    return [_identified(entry, mine[0][0], alike) for alike in _alike(violation for _, violation in mine)] or [kept]


def _stands_for(baseline: Baseline, entry: Entry, shown: Iterable[tuple[Result, Violation]]) -> list[tuple[Result, Violation]]:
    """Return the findings that an entry is the first to be about."""
    return [one for one in shown if baseline.accepting(entry.implementation, one[1])[:1] == [entry]]


def _found(tested: Result) -> list[str]:
    """Return the names of what an implementation offers, as the baseline keeps them."""
    return lost(tested.offers or (), ())


def _changed(name: str, before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    """Yield a line on what was lost, and one on what came."""
    if gone := [one for one in before if one not in now]:
        yield f"removed: {', '.join(gone)}, which {name} does not offer any more"
    if come := [one for one in now if one not in before]:
        yield f"added: {', '.join(come)}, which {name} offers"


def _offer(name: str, names: Sequence[str], end: str) -> str:
    """Return the table of what an implementation offers."""
    return end.join(["[[offered]]", f"implementation = {_quoted(name)}", f"capabilities = {_quoted(list(names))}", ""])


def _comments(block: str) -> str:
    """Return the comments above a table."""
    lines = block.split("\n")
    above = next(number for number, line in enumerate(lines) if line.lstrip().startswith("["))
    return "".join(f"{line}\n" for line in lines[:above])


_REMOVED = {Trouble.FIXED: "fixed", Trouble.UNKNOWN: "no rule that is asked of it"}
"""The troubles that an update ends by removing the entry, and why."""


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until nobody else updates a file in this directory, and remove what killed updates left."""
    if fcntl is None:
        yield
        return
    target = path.resolve()
    with ExitStack() as stack:
        descriptor = os.open(target.parent, os.O_RDONLY | os.O_CLOEXEC)
        stack.callback(os.close, descriptor)
        with suppress(OSError):  # some file systems know no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            for left in target.parent.glob(f"{glob.escape(beside(target))}*"):
                left.unlink(missing_ok=True)
        yield


def _witnessed(entry: Entry, tested: Result, violation: Violation) -> Entry:
    """Return an entry with the evidence of a run; a seed matters only where no sequence can be run again."""
    return replace(
        entry,
        expected=_plain(violation.expected),
        actual=_plain(violation.actual),
        operations=tuple(map(_plain, explained(violation, kind_named(tested.kind).folders))),
        sequence=violation.sequence or None,
        seed=0 if violation.sequence else tested.seed,
        examples=100 if violation.sequence else tested.examples,
    )


def _lasting(entry: Entry) -> object:
    """Return the evidence of an entry without what differs in each run, for which no update is worth a change."""
    texts = (_PASSING.sub("...", text) for text in (entry.expected, entry.actual, *entry.operations))
    return entry.cause, entry.ways, entry.sequence, *texts


def _plain(text: str) -> str:
    """Return a text that UTF-8 can hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


# --- TOML ------------------------------------------------------------------------------------------------------------


def _statements(lines: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return the statements of TOML: the key, or the header of a table, and the lines that it takes."""
    statements = []
    start = 0
    while start < len(lines):
        end = start + 1
        while (table := _parsed(lines[start:end])) is None:
            end += 1
        if table:
            header = lines[start].lstrip().startswith("[")
            statements.append(("[]" if header else next(iter(table)), start, end))
        start = end
    return statements


def _parsed(lines: Sequence[str]) -> dict[str, Any] | None:
    """Return what some lines say, or ``None`` if a statement in them does not end."""
    try:
        return tomllib.loads("\n".join(line.rstrip("\r") for line in lines))
    except tomllib.TOMLDecodeError:
        return None


def _blocks(text: str) -> tuple[str, list[str]]:
    """Split a text into what comes before the first entry, and the entries; comments right above one belong to it."""
    lines = text.split("\n")
    starts = []
    for key, start, _ in _statements(lines):
        if key == "[]":
            while start and lines[start - 1].lstrip().startswith("#"):
                start -= 1
            starts.append(start)
    if not starts:
        return text, []
    joined = ["\n".join(lines[begin:end]) + "\n" for begin, end in pairwise([0, *starts])]
    return joined[0] if starts[0] else "", [*joined[1:], "\n".join(lines[starts[-1] :])]


def _remains(block: str) -> str:
    """Return what is left of a block without its entry: comments that stand apart from it."""
    lines = block.split("\n")
    rest = "\n".join(lines[_statements(lines)[-1][2] :])
    return rest.lstrip("\r\n") if "#" in rest else ""


def _gap(before: str, end: str) -> str:
    """Return the line breaks that make an empty line after a text."""
    if not before or before.endswith(end * 2):
        return ""
    return end if before.endswith(end) else end * 2


def _refreshed(block: str, entry: Entry, end: str, keys: Sequence[str]) -> str:
    """Replace what the kit wrote in the block of an entry, by these keys."""
    lines = block.split("\n")
    statements = _statements(lines)
    ours = [(start, stop) for key, start, stop in statements if key in keys]
    at = ours[0][0] if ours else statements[-1][2]
    dropped = {number for start, stop in ours for number in range(start, stop)}
    before = [line for number, line in enumerate(lines[:at]) if number not in dropped]
    after = [line for number, line in enumerate(lines) if number >= at and number not in dropped]
    new = [f"{line}{end[:-1]}" for line in _lines(entry, keys)]
    return "\n".join([*before, *new, *(after or [""])])


def _table(entry: Entry, end: str) -> str:
    """Return the table of an entry."""
    return end.join(["[[known]]", *_lines(entry), ""])


def _lines(entry: Entry, keys: Sequence[str] = _WRITTEN) -> list[str]:
    """Return the lines of an entry; what has its default is left out."""
    return [line for key, value in _given(entry, keys) for line in _assignment(key, value)]


def _given(entry: Entry, keys: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield the keys that have not their defaults, with their values."""
    values = ((key, getattr(entry, key)) for key in keys)
    return ((key, value) for key, value in values if value != Entry.__dataclass_fields__[key].default)


def _assignment(key: str, value: Any) -> list[str]:
    if isinstance(value, date):
        return [f"{key} = {value}"]
    if key == "also":
        return [f"{key} = [", *(f"    {_inline(one)}," for one in value), "]"]
    if isinstance(value, tuple) and key in ("operations", "ways"):
        return [f"{key} = [", *(f"    {_quoted(one)}," for one in value), "]"]
    return [f"{key} = {_quoted(value)}"]


def _inline(entry: Entry) -> str:
    """Return one of the further findings of an entry."""
    return f"{{ {', '.join(f'{key} = {_quoted(value)}' for key, value in _given(entry, OF_FINDINGS))} }}"


def _quoted(value: Any) -> str:
    """Return a value as TOML; what JSON writes of texts, numbers and lists is TOML too, but for one character."""
    if isinstance(value, str) and '"' in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
