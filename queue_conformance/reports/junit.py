"""The report as JUnit XML, which the servers of continuous integration read.

There is no standard; this is what Jenkins, GitLab and the usual actions of GitHub agree on: one test suite per
implementation, one test case per rule.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable

from queue_conformance.engine.verdicts import RuleVerdict, RunVerdict, Verdict
from queue_conformance.reports import ImplementationReport, Report, failure
from queue_conformance.reports.losses import concluded
from queue_conformance.reports.terminal import second, why

NAME = "queue conformance"
"""The name of the root, and of the suite with what went wrong beside the rules."""

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """Return the text of the file."""
    root = ET.Element("testsuites", name=NAME)
    for found in report.implementations:
        root.append(_suite(report, found))
    beside = {"implementation": report.errors, "baseline": report.gate, "internal error": report.internal_errors}
    if any(beside.values()):
        cases = [_error(classname, line) for classname, lines in beside.items() for line in lines]
        suite = ET.SubElement(root, "testsuite", name=NAME, timestamp=report.origin.created)
        suite.extend(cases)
        _count(suite, cases, 0.0)
    seconds = sum(float(suite.get("time", 0)) for suite in root)
    _count(root, root.findall("testsuite/testcase"), seconds)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, "unicode")}\n'


def _suite(report: Report, found: ImplementationReport) -> ET.Element:
    suite = ET.Element("testsuite", name=_xml(found.name), timestamp=report.origin.created)
    properties = ET.SubElement(suite, "properties")
    about = {
        "path": found.path,
        "version": found.version,
        "kind": found.kind,
        "profile": found.profile,
        "level": found.level,
        "seed": str(report.origin.seed),
        "verdict": f"{concluded(found)} ({why(found)})",
        **({"also": second(found.also)} if found.also else {}),
    }
    for name, value in about.items():
        ET.SubElement(properties, "property", name=name, value=_xml(value))
    seconds = {check.name: check.seconds for check in found.checks}
    cases = [_case(found, verdict, seconds.get(verdict.rule.id, 0.0)) for verdict in found.verdicts]
    if found.verdict is RunVerdict.INCONCLUSIVE:
        # All of its rules are skipped, which a server would show in green.
        cases.append(_error(found.name, f"{found.verdict}: {why(found)}", name="verdict"))
    suite.extend(cases)
    _count(suite, cases, sum(seconds.values()))
    return suite


def _case(found: ImplementationReport, verdict: RuleVerdict, seconds: float) -> ET.Element:
    rule = verdict.rule
    case = ET.Element("testcase", classname=_xml(found.name), name=rule.id, time=f"{seconds:.3f}")
    if verdict.verdict is Verdict.PASSED:
        return case
    if verdict.violation is None:
        tag = "error" if verdict.verdict is Verdict.ERROR else "skipped"
        _outcome(case, tag, str(verdict.verdict), f"{verdict.verdict}: {verdict.reason}", verdict.reason)
        return case
    said = verdict.violation.said
    screen = failure.render(rule, verdict.violation)
    if found.gates(verdict):
        _outcome(case, "failure", f"{rule.level} failed", said, screen)
    else:
        # As pytest does for an expected failure. A test case that passes, with the evidence in its output, would be green, and
        # GitLab does not show the output of those. GitLab shows the text of what is skipped, Jenkins and GitHub its message.
        provisional = f"provisional, new in {rule.provisional}" if rule.provisional else "does not fail this run"
        why_not = f"known: {verdict.known}" if verdict.known else provisional
        message = f"{rule.level} failed, {why_not}: {said}"
        _outcome(case, "skipped", f"{rule.level} failed", message, f"{message}\n\n{screen}")
    return case


def _error(classname: str, line: str, name: str = "") -> ET.Element:
    case = ET.Element("testcase", classname=_xml(classname), name=_xml(name or line), time="0.000")
    _outcome(case, "error", "error", line, line)
    return case


def _outcome(case: ET.Element, tag: str, kind: str, message: str, text: str) -> None:
    ET.SubElement(case, tag, type=kind, message=_xml(message)).text = _xml(text)


def _count(element: ET.Element, cases: Iterable[ET.Element], seconds: float) -> None:
    """Add the attributes that say how many test cases there are, and how they ended."""
    outcomes = [case[0].tag if len(case) else "" for case in cases]
    element.set("tests", str(len(outcomes)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(attribute, str(outcomes.count(tag)))
    element.set("time", f"{seconds:.3f}")


def _xml(text: str) -> str:
    """Return a text with an escape for each character that XML cannot hold."""
    return _NOT_XML.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
