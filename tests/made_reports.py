"""Reports made by hand, for tests of what is made of reports."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from queue_conformance.engine.outcomes import Violation
from queue_conformance.engine.verdicts import RuleVerdict, Verdict, conclude
from queue_conformance.kinds import DOWNSTREAM_QUEUE
from queue_conformance.reports import ImplementationReport, Origin, Report
from queue_conformance.specification import Level, load
from queue_conformance.specification.kinds import SCRAPY

QUEUE = "my_package.queues.DiskQueue"
SCHEDULER = "my_package.schedulers.Scheduler"

HOSTILE = "</script></pre><img src=x onerror=alert(1)>\"'&\u2028\u202e\x1b\x00\r\ud800 `<b>`"
"""What must come to a reader as it is, and do nothing."""


def violation(rule: str = "queue.pop.empty-none", **changes: object) -> Violation:
    """Return a counterexample."""
    fields = {
        "rule": rule,
        "expected": "None",
        "actual": "IndexError('pop from an empty deque') raised",
        "operations": ("queue = DiskQueue()", "popped = queue.pop()  # raised IndexError"),
        "script": f'"""{rule}"""\n\nif 1 < 2:\n    queue = DiskQueue()\n\tqueue.pop()\n',
    }
    return Violation(**(fields | changes))  # type: ignore[arg-type]


def implementation(name=QUEUE, kind=DOWNSTREAM_QUEUE, failed=(), known=(), blocked=(), **changes) -> ImplementationReport:
    """Return a report on one implementation, whose rules pass but for some.

    Args:
        name: what it is called.
        kind: what it is.
        failed: ids of failed rules, or counterexamples.
        known: ids of those of them that a baseline expects.
        blocked: ids of rules that are blocked.
        changes: other attributes.
    """
    found = {one if isinstance(one, str) else one.rule: one for one in failed}
    verdicts = []
    for rule in load().values():
        if kind not in rule.kinds or SCRAPY not in rule.profiles:
            continue
        if rule.id in found:
            seen = violation(rule.id) if isinstance(found[rule.id], str) else found[rule.id]
            expected = "a bug of ours, `#12`" if rule.id in known else ""
            verdicts.append(RuleVerdict(rule, Verdict.FAILED, violation=seen, known=expected))
        elif rule.untestable:
            verdicts.append(RuleVerdict(rule, Verdict.UNTESTABLE, rule.untestable))
        elif rule.id in blocked:
            verdicts.append(RuleVerdict(rule, Verdict.BLOCKED, "blocked by queue.push.accept"))
        elif "persistent" in rule.needs:
            verdicts.append(RuleVerdict(rule, Verdict.NOT_APPLICABLE, "needs persistent"))
        else:
            verdicts.append(RuleVerdict(rule, Verdict.PASSED))
    fields = {
        "name": name,
        "path": name,
        "version": "my-package 1.2",
        "kind": kind,
        "profile": SCRAPY,
        "level": Level.MUST,
        "settings": {"REDIS_URL": "redis://me:***@localhost"},
        "claims": {"order": "FIFO"},
        "server": "",
        "found": "FIFO, not persistent, peek",
        "offers": frozenset({"fifo"}),
        "stores": {},
        "checks": (),
        "notes": ("machine: 100 sequences; 1691 push, 1204 pop",),
        "verdicts": tuple(verdicts),
        "verdict": conclude(verdicts),
    }
    return ImplementationReport(**(fields | changes))


def report(*found: ImplementationReport, errors=(), gate=(), **changes) -> Report:
    """Return a report on implementations; further attributes are those of its origin."""
    origin = {"seed": 7, "releases": {"scrapy": "2.19.0", "queuelib": "1.10.0"}, "created": "2026-02-03T04:05:06+00:00"}
    return Report(found, errors, Origin(**(origin | changes)), gate)


def counts(found: ImplementationReport) -> Counter[Verdict]:
    """Return how many rules have each verdict."""
    return Counter(verdict.verdict for verdict in found.verdicts)


def hostile() -> Report:
    """Return a report in which everything that comes from elsewhere is hostile."""
    evil = dict.fromkeys(("expected", "actual", "script", "stacks", "base"), HOSTILE)
    found = implementation(failed=[violation(**evil, operations=(HOSTILE,)), "queue.peek.then-push"], name=HOSTILE)
    verdicts = [
        replace(
            verdict,
            rule=replace(verdict.rule, sentence=HOSTILE, source=HOSTILE, hints=(HOSTILE,)),
            reason=HOSTILE,
            known=HOSTILE if verdict.violation else "",
        )
        for verdict in found.verdicts
    ]
    found = replace(
        found,
        verdicts=tuple(verdicts),
        path=HOSTILE,
        version=HOSTILE,
        settings={HOSTILE: HOSTILE},
        claims={HOSTILE: HOSTILE},
        server=HOSTILE,
        found=HOSTILE,
        notes=(HOSTILE,),
    )
    return report(found, replace(found, name="other"), errors=[HOSTILE], gate=[HOSTILE], releases={HOSTILE: HOSTILE}, kit=HOSTILE)
