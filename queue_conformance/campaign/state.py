"""What is known of a campaign, in a directory: each task and each finding as a JSON line, and the report on all of them."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from msgspec import Struct, convert, to_builtins

from queue_conformance.campaign import CampaignError
from queue_conformance.campaign.task import Outcome, Part, Task
from queue_conformance.engine.outcomes import Violation
from queue_conformance.engine.verdicts import RuleVerdict, RunVerdict, Verdict, combined, conclude, worst
from queue_conformance.processes.files import LONGEST
from queue_conformance.reports import ImplementationReport, Report, files, jsonl, provenance
from queue_conformance.specification.words import shortened

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LOCK, LINES, REPORT, PAGE = "lock", "campaign.jsonl", "report.jsonl", "status.html"

_BEGINNING = b'{"type"'
"""How each line begins."""


class Done(Struct, tag="task", tag_field="type", frozen=True):
    """A task that has ended, with the ids of what it found, and the operations whose coverage is new."""

    implementation: str
    seed: int
    part: Part
    longest: int
    sequences: int
    drawing: float
    checking: float
    seconds: float
    worker: str
    at: datetime
    findings: list[str]
    operations: dict[str, bool] = {}


class Finding(Struct, tag="finding", tag_field="type", frozen=True):
    """A finding, with the first task that showed it."""

    id: str
    implementation: str
    level: str
    violation: Violation
    seed: int
    at: datetime


class State:
    """What is known of a campaign.

    Args:
        directory: where it is kept; what an earlier campaign left there is taken up.

    Attributes:
        findings: by id.
        times: in how many tasks each of them was seen.
        seeds: those of the tasks that have ended, by implementation.
        drawn: how many sequences the tasks drew, by implementation.
        drawing: seconds that they took for these.
        operations: the commands of the machine of each implementation; whether they were run.
        took: seconds of the last task that ran the checks that draw none, by implementation.
        sequences: how many were drawn.
        report: what is known of all implementations, or ``None``.

    Raises:
        CampaignError: if another campaign has the directory, or it cannot be used.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.findings: dict[str, Finding] = {}
        self.times: Counter[str] = Counter()
        self.seeds: defaultdict[str, set[int]] = defaultdict(set)
        self.drawn: Counter[str] = Counter()
        self.drawing: defaultdict[str, float] = defaultdict(float)
        self.operations: defaultdict[str, dict[str, bool]] = defaultdict(dict)
        self.took: dict[str, float] = {}
        self.sequences = 0
        self.report: Report | None = None
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for path in (directory / name for name in (LOCK, LINES, REPORT, PAGE)):
                if path.is_symlink() or (path.exists() and not path.is_file()):
                    raise CampaignError(f"{path} is no file, and may lead elsewhere: give another --directory")
            self._lock = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            if fcntl is not None:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CampaignError(f"another campaign works in {directory}: let it end, or give --directory") from None
        except OSError as error:
            raise CampaignError(f"{directory}: {error.strerror}") from error
        self._resume()

    def _resume(self) -> None:
        path = self.directory / LINES
        try:
            if (self.directory / REPORT).exists():
                self.report = jsonl.read(self.directory / REPORT)
            whole = 0
            with path.open("a+b") as file:
                file.seek(0)
                for line in iter(partial(file.readline, LONGEST), b""):
                    if line.endswith(b"\n"):
                        whole += len(line)
                        self._know(convert(json.loads(line), Done | Finding))
                    elif line[: len(_BEGINNING)] != _BEGINNING[: len(line)]:  # else the campaign ended while it wrote this
                        raise ValueError("its last line is of no campaign")
                file.truncate(whole)
            self._lines = path.open("a", encoding="utf-8")
        except (ValueError, RecursionError) as error:  # no JSON, or not what a campaign writes
            raise CampaignError(f"{path}: {shortened(str(error), 500)}; give another --directory") from error
        except OSError as error:
            raise CampaignError(f"{path}: {error.strerror}") from error

    def _know(self, record: Done | Finding) -> None:
        if isinstance(record, Finding):
            self.findings[record.id] = record
            return
        self.seeds[record.implementation].add(record.seed)
        self.operations[record.implementation].update(record.operations)
        self.times.update(record.findings)
        self.sequences += record.sequences
        self.drawn[record.implementation] += record.sequences
        self.drawing[record.implementation] += record.drawing
        if record.part is not Part.SEQUENCES:
            self.took[record.implementation] = record.seconds

    def add(self, task: Task, outcome: Outcome) -> list[Finding]:
        """Keep the result of a task, and return the new findings.

        Raises:
            OSError: if it cannot be written; then the task has not been.
        """
        assert outcome.report is not None
        provenance.remember(outcome.report)
        now = datetime.now(UTC).replace(microsecond=0)
        seen = _seen(task, outcome, now)
        new = [finding for name, finding in seen.items() if name not in self.findings]
        before = self.report
        if new or self.report is None or task.part is not Part.OTHERS:  # what these see of a known cause may not come again
            self.report = outcome.report if self.report is None else joined(self.report, outcome.report)
        self.report = _with_passed(self.report, task.implementation, outcome.passed)
        if self.report != before:
            files.save(jsonl.render(self.report), self.directory / REPORT)
        known = self.operations[task.implementation]
        done = Done(
            task.implementation,
            task.seed,
            task.part,
            task.drawing.longest,
            outcome.sequences,
            round(outcome.drawing, 3),
            round(outcome.checking, 3),
            round(outcome.seconds, 3),
            outcome.worker,
            now,
            list(seen),
            {name: ran for name, ran in outcome.operations.items() if name not in known or ran > known[name]},
        )
        self._lines.write("".join(f"{json.dumps(to_builtins(record))}\n" for record in (*new, done)))
        self._lines.flush()
        for finding in new:
            self._know(finding)
        self._know(done)
        return new

    def doubtful(self, task: Task, outcome: Outcome) -> frozenset[str]:
        """Return the checks that must see again what is not known yet: it may be the fault of what ran beside them."""
        new = {finding.violation.rule for name, finding in _seen(task, outcome).items() if name not in self.findings}
        return frozenset(check for rule, check in outcome.once.items() if rule in new)

    def covered(self) -> tuple[int, int]:
        """Return how many rules, of all implementations, were covered, and of how many that apply."""
        found = [v.verdict for one in self.report.implementations for v in one.verdicts] if self.report else []
        covered = found.count(Verdict.PASSED) + found.count(Verdict.FAILED)
        return covered, len(found) - found.count(Verdict.NOT_APPLICABLE) - found.count(Verdict.UNTESTABLE)

    def ran(self) -> tuple[int, int]:
        """Return how many operations, of all implementations, were run, and of how many."""
        found = [ran for operations in self.operations.values() for ran in operations.values()]
        return sum(found), len(found)

    def by_seed(self, report: Report) -> Iterator[Report]:
        """Yield what a report says of failed rules, in a report for each of the seeds that showed a cause first."""
        seeds = {(one.implementation, one.violation.rule, one.violation.cause): one.seed for one in self.findings.values()}

        def of_seed(seed: int, name: str, verdicts: Iterable[RuleVerdict]) -> Iterator[RuleVerdict]:
            for verdict in verdicts:
                findings = verdict.violation.findings if verdict.violation else ()
                if mine := [one for one in findings if seeds.get((name, one.rule, one.cause), 0) == seed]:
                    yield replace(verdict, violation=combined(mine))

        for seed in sorted({0, *seeds.values()}):
            found = (replace(one, verdicts=tuple(of_seed(seed, one.name, one.verdicts))) for one in report.implementations)
            yield replace(report, implementations=tuple(found), origin=replace(report.origin, seed=seed))

    def close(self) -> None:
        """Let another campaign have the directory."""
        with suppress(OSError):  # the disk was full already
            self._lines.close()
        os.close(self._lock)


# --- Findings --------------------------------------------------------------------------------------------------------


def _seen(task: Task, outcome: Outcome, now: datetime = datetime.min) -> dict[str, Finding]:
    """Return the findings of a task by their ids: those of one rule and one cause are the same."""
    seen = {}
    for found in outcome.report.implementations if outcome.report else ():
        for verdict in found.verdicts:
            for violation in verdict.violation.findings if verdict.violation else ():
                about = "\n".join([task.implementation, violation.rule, violation.cause])
                name = hashlib.sha256(about.encode("utf-8", "backslashreplace")).hexdigest()[:10]
                seen[name] = Finding(name, task.implementation, verdict.rule.level, violation, task.seed, now)
    return seen


GONE = "it failed once in a campaign, and not again when its check was run once more"


def seen_again(first: Outcome, again: frozenset[str], second: Outcome) -> Outcome:
    """Return an outcome without what the checks that were run once more did not see again."""
    still = {v.rule.id for found in (second.report or Report(())).implementations for v in found.verdicts if v.violation}
    gone = {rule for rule, check in first.once.items() if check in again and rule not in still}
    if not gone or first.report is None:
        return first

    def without(found: ImplementationReport) -> ImplementationReport:
        unsaid = (RuleVerdict(v.rule, Verdict.NOT_COVERED, GONE) if v.rule.id in gone else v for v in found.verdicts)
        return _with_verdicts(found, (v for v in unsaid if found.checks or v.violation))  # of a part, failed rules alone are kept

    return replace(first, report=replace(first.report, implementations=tuple(map(without, first.report.implementations))))


def _with_passed(report: Report, name: str, passed: Set[str]) -> Report:
    """Return a report in which rules that were not covered in an implementation have passed; the same one, if there are none."""

    def late(verdict: RuleVerdict) -> bool:
        return verdict.verdict is Verdict.NOT_COVERED and verdict.rule.id in passed

    found = {one.name: one for one in report.implementations}
    if name not in found or not any(map(late, found[name].verdicts)):
        return report
    verdicts = (replace(v, verdict=Verdict.PASSED, reason="") if late(v) else v for v in found[name].verdicts)
    found[name] = _with_verdicts(found[name], verdicts)
    return replace(report, implementations=tuple(found.values()))


def joined(old: Report, new: Report) -> Report:
    """Return a report with what another one on the same implementations, or on others, knows besides."""
    found = {one.name: one for one in old.implementations}
    for one in new.implementations:
        found[one.name] = _joined(found[one.name], one) if one.name in found else one
    return replace(old, implementations=tuple(found.values()))


def _joined(old: ImplementationReport, new: ImplementationReport) -> ImplementationReport:
    if len(new.verdicts) > len(old.verdicts):  # one of failed rules alone came before the whole one
        old, new = new, old
    later = {verdict.rule.id: verdict for verdict in new.verdicts}
    return _with_verdicts(old, (_worse(verdict, later.get(verdict.rule.id)) for verdict in old.verdicts))


def _worse(old: RuleVerdict, new: RuleVerdict | None) -> RuleVerdict:
    if new is None or new.verdict is not Verdict.FAILED or new.violation is None:
        return old
    return replace(new, violation=combined([old.violation, new.violation])) if old.violation else new


def _with_verdicts(found: ImplementationReport, verdicts: Iterable[RuleVerdict]) -> ImplementationReport:
    """Return a report with other verdicts on rules.

    What else its run told of itself stays: that the kit failed in a check, or that not all of them ran to their ends.
    """
    verdicts, told = tuple(verdicts), found.verdict is not conclude(found.verdicts)
    kept = [found.verdict] if told else []
    verdict = worst([*kept, conclude(verdicts)]) or RunVerdict.INCONCLUSIVE
    return replace(found, verdicts=verdicts, verdict=verdict)
