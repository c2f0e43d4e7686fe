"""How the kit keeps a baseline: it adds, refreshes and removes entries, and leaves every other line as its author wrote it."""

from __future__ import annotations

import glob
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from queue_conformance import __version__
from queue_conformance.baseline import FORM, OF_AUTHORS, OF_FINDINGS, PLACEHOLDER, Baseline, BaselineError, Entry, parse
from queue_conformance.baseline.comparison import Finding, Judgement, Result, Trouble
from queue_conformance.baseline.helpers import explained
from queue_conformance.baseline.tables import comments, gap, quoted, refreshed, remains, split, table
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
    preamble, blocks = split(text)
    if len(blocks) != len(baseline.known) + len(baseline.offered):
        raise BaselineError(f"{baseline.name}: write each entry as a table of its own, [[known]], so that it can be updated")
    updated = _Update(baseline, judgement, list(implementations), "\r\n" if "\r\n" in text else "\n")
    updated.parts.append(_stamped(preamble, updated.end))
    known = iter(baseline.known)
    for block in blocks:
        if offered := tomllib.loads(block).get("offered"):
            updated.bring_offer(block, **offered[0])
        else:
            updated.bring_entry(block, next(known))
    updated.add_entries(_added((*judgement.findings, *judgement.upcoming)))
    updated.add_offers()
    written = "".join(updated.parts)
    if parse(written, baseline.name).known != tuple(updated.entries):
        raise BaselineError(f"{baseline.name}: cannot be updated without changing what it says; edit it by hand")
    return written, [*dict.fromkeys(updated.changes)]  # findings that differ in their ways are told in the same words


class _Update:
    """A baseline that is being written anew: its text block by block, the entries in it, and a line for each change."""

    def __init__(self, baseline: Baseline, judgement: Judgement, results: Sequence[Result], end: str) -> None:
        self.parts: list[str] = []
        self.entries: list[Entry] = []
        self.changes: list[str] = []
        self.end = end
        self._baseline = baseline
        self._offers = {one.name: lost(one.offers, ()) for one in results if one.offers is not None}
        self._violations = {
            one.name: [(one, found) for verdict in one.verdicts if verdict.violation for found in verdict.violation.findings]
            for one in results
        }
        judged = (*judgement.findings, *judgement.outdated)
        self._judged = {id(finding.entry): finding for finding in judged if finding.entry and finding.tested}

    def bring_offer(self, block: str, implementation: str, capabilities: Sequence[str]) -> None:
        """Write again what an implementation offers, where that has changed."""
        now = self._offers.pop(implementation, capabilities)
        if sorted(now) != sorted(capabilities):
            self.changes += _changed(implementation, capabilities, now)
            block = f"{comments(block)}{_offer(implementation, now, self.end)}"
        self.parts.append(block)

    def bring_entry(self, block: str, entry: Entry) -> None:
        """Write an entry again with what this run has shown, or leave it out."""
        shown = [] if entry.unmet() else self._violations.get(entry.implementation, [])
        became = [(one, self._outcome(one, shown)) for one in entry.findings]
        remaining = [(one, outcome[0]) for one, outcome in became if outcome]
        if not remaining:
            self.parts.append(remains(block))
            return
        now = replace(remaining[0][1], also=tuple(_bare(one) for _, one in remaining[1:]))
        self._tell_refreshed((was, one) for (was, _), one in zip(remaining, now.findings, strict=True))
        if list(map(_lasting, now.findings)) != list(map(_lasting, entry.findings)):
            keys = _IDENTITY if now.rule == entry.rule else ("rule", *_IDENTITY)
            if any(getattr(now, key) != getattr(entry, key) for key in keys):
                block = refreshed(block, _given(now, keys), self.end, keys)
            entry, block = now, refreshed(block, _given(now, _EVIDENCE), self.end, _EVIDENCE)
        self.parts.append(block)
        self.entries.append(entry)
        for one, outcome in became:
            for further in outcome[1:]:
                self._add(further, f"which {one.finding} stood for, too")

    def add_entries(self, entries: Iterable[Entry]) -> None:
        """Write what is new."""
        for entry in entries:
            others = list(dict.fromkeys(one.rule for one in entry.also if one.rule != entry.rule))
            ways = sum(one.rule == entry.rule for one in entry.also)
            told = ", ".join([*([f"in {ways} more way{'s' if ways > 1 else ''}"] if ways else []), *others])
            self._add(entry, f"and {told} by the same line" if told else "")

    def add_offers(self) -> None:
        """Write what implementations offer of which the baseline says nothing yet."""
        for name, names in self._offers.items():
            self._append(_offer(name, names, self.end))
            self.changes.append(f"added: what {name} offers")

    def _add(self, entry: Entry, more: str) -> None:
        self.entries.append(entry)
        self._append(table("known", _given(entry, _WRITTEN), self.end))
        self.changes.append(f"added: {entry.finding}{more and f', {more}'}")

    def _append(self, block: str) -> None:
        self.parts.append(gap("".join(self.parts), self.end) + block)

    def _tell_refreshed(self, changed: Iterable[tuple[Entry, Entry]]) -> None:
        for was, now in changed:
            if _lasting(now) != _lasting(was):
                before, after = len(was.operations), len(now.operations)
                more = f", from {before} to {after} operations" if before != after else ""
                self.changes.append(f"refreshed: {was.finding}{more}")

    def _outcome(self, entry: Entry, shown: list[tuple[Result, Violation]]) -> list[Entry]:
        """Return what becomes of one finding: nothing if it is removed, and several where it stood for what is told apart now.

        Args:
            entry: one finding of an entry.
            shown: what the implementation fails.
        """
        finding = self._judged.get(id(entry))
        why = _REMOVED.get(finding.was or finding.trouble, "") if finding and not finding.gone else ""
        if finding and finding.trouble is Trouble.OUTDATED and not _stands_for(self._baseline, entry, shown):
            why = why or "which other entries stand for now"
        if not why:
            return _fresh(self._baseline, entry, shown, finding.gone if finding else ())
        self.changes.append(f"removed: {entry.finding}, {why}; its reason was: {entry.explanation}")
        return []


def _stamped(preamble: str, end: str) -> str:
    """Return the text before the first entry, which says that this release of the kit has written the file, in which form."""
    if tomllib.loads(preamble) == {"kit": __version__, "form": FORM}:
        return preamble
    stamp = f"kit = {quoted(__version__)}{end}form = {FORM}"
    before = re.sub(r"^form *=[^\r\n]*\r?\n?", "", preamble, flags=re.MULTILINE)
    stamped = re.sub(r"^kit *=[^\r\n]*", lambda _: stamp, before, count=1, flags=re.MULTILINE)
    if stamp in stamped:
        return stamped
    return f"{before}{'' if not before or before.endswith(end) else end}{stamp}{end}"


def _added(findings: Iterable[Finding]) -> list[Entry]:
    """Return the entries on what is new: one for all that is raised at one line, as the finding that is best mended first."""
    mistakes: dict[object, list[Entry]] = {}
    for finding in findings:
        for alike in _alike(finding.violations):
            assert finding.tested is not None
            entry = _identified(Entry(finding.tested.name, alike[0].rule, PLACEHOLDER), finding.tested, alike)
            lines = {one.line for one in alike}
            one_line = len(lines) == 1 and "" not in lines
            mistakes.setdefault((entry.implementation, *lines) if one_line else entry, []).append(entry)
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
        if BY_CHANCE in entry.ways:  # which each run shows by another sequence, or by other items
            return [kept]
        same = [one for one in exact if one[1].sequence == entry.sequence]
        return [_witnessed(kept, *one) for one in (same or exact)[:1]] or [kept]
    mine = _stands_for(baseline, entry, shown)
    entry = replace(entry, also=())
    return [_identified(entry, mine[0][0], alike) for alike in _alike(violation for _, violation in mine)] or [kept]


def _stands_for(baseline: Baseline, entry: Entry, shown: Iterable[tuple[Result, Violation]]) -> list[tuple[Result, Violation]]:
    """Return the findings that an entry is the first to be about."""
    return [one for one in shown if baseline.accepting(entry.implementation, one[1])[:1] == [entry]]


def _changed(name: str, before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    """Yield a line on what was lost, and one on what came."""
    if gone := [one for one in before if one not in now]:
        yield f"removed: {', '.join(gone)}, which {name} does not offer any more"
    if come := [one for one in now if one not in before]:
        yield f"added: {', '.join(come)}, which {name} offers"


def _offer(name: str, names: Sequence[str], end: str) -> str:
    """Return the table of what an implementation offers."""
    return table("offered", {"implementation": name, "capabilities": list(names)}, end)


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


def _given(entry: Entry, keys: Iterable[str]) -> dict[str, Any]:
    """Return the values of the keys that have not their defaults; tuples are written in several lines, lists in one."""
    values = {key: getattr(entry, key) for key in keys}
    values = {key: value for key, value in values.items() if value != Entry.__dataclass_fields__[key].default}
    values |= {key: list(values[key]) for key in ("versions", "sequence") if key in values}
    if "also" in values:
        values["also"] = tuple(_given(one, OF_FINDINGS) for one in entry.also)
    return values
