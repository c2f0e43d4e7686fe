"""The report at the end of a run in a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields
from typing import NamedTuple, TextIO

from queue_conformance.engine.kept_outcome import KEPT
from queue_conformance.engine.verdicts import NOT_TESTED, RuleVerdict, RunVerdict, Verdict
from queue_conformance.implementation.capabilities import FLAGS, UNSEEN, Capabilities, Order
from queue_conformance.reports import ImplementationReport, Report
from queue_conformance.reports.failure import cut
from queue_conformance.reports.losses import concluded
from queue_conformance.reports.placement import blocks, most_urgent_first
from queue_conformance.specification import Level
from queue_conformance.specification.settings import AS_WRITTEN

_ALWAYS_TOLD = (KEPT, AS_WRITTEN)
_ONE_BY_ONE = (Verdict.FAILED, Verdict.NOT_COVERED)
_IN_GROUPS = (Verdict.ERROR, Verdict.BLOCKED, Verdict.NOT_APPLICABLE, Verdict.UNTESTABLE)
_NOT_ASKED = {Verdict.NOT_APPLICABLE, Verdict.UNTESTABLE}
_COLOURS = {
    Verdict.PASSED: "green",
    Verdict.FAILED: "red",
    Verdict.BLOCKED: "yellow",
    Verdict.NOT_COVERED: "yellow",
    RunVerdict.CONFORMANT: "green",
    RunVerdict.PARTIAL: "yellow",
    RunVerdict.NON_CONFORMANT: "red",
    RunVerdict.INCONCLUSIVE: "yellow",
}


class Line(NamedTuple):
    """One line of the report.

    Attributes:
        text: without a line break.
        colour: the name of a colour, or ``""``.
        bold: whether it stands out.
    """

    text: str
    colour: str = ""
    bold: bool = False


def render(
    report: Report, width: int = 100, verbosity: int = 0, named: Collection[tuple[str, str]] = frozenset()
) -> Iterator[Line]:
    """Yield the lines of the report.

    Args:
        verbosity: 1 to also show notes and the rules of which nothing is known, 2 to also name those that passed; less than 0 not
            to say how to see more.
        named: implementations, and failed rules of theirs, that have a line elsewhere; in brief they have none here.
    """
    for number, implementation in enumerate(report.implementations):
        elsewhere = {rule for name, rule in named if name == implementation.name}
        yield from [Line("")] if number else []
        yield from _implementation(report, implementation, width, verbosity, elsewhere)
    if len(report.implementations) > 1:
        yield from _table(report.implementations)
    for label, lines in (("baseline", report.gate), ("ERROR", report.errors), ("INTERNAL ERROR", report.internal_errors)):
        for text in lines:
            yield from (Line(line, "red", True) for line in wrapped(f"{label}: {text}", width, "", whole=True))


def _implementation(
    report: Report, found: ImplementationReport, width: int, verbosity: int, named: Collection[str]
) -> Iterator[Line]:
    about = [found.path if found.name != found.path else "", found.version, found.kind.replace("-", " ")]
    about += [f"profile {found.profile}", f"seed {report.origin.seed}"]
    yield from _in_one_line([found.name, ", ".join(part for part in about if part)], ": ", width, bold=True)
    if found.found:
        yield from _lines(f"found: {found.found}", width)
    if claimed := ", ".join(f"{name}={value}" for name, value in found.claims.items() if name != "kind"):  # that is told above
        yield from _lines(f"claimed: {claimed}", width)
    for note in found.notes:
        if note.startswith(_ALWAYS_TOLD):
            yield from _lines(note, width)
    yield from _rules_of(found, width, verbosity, named)
    says_all = verbosity <= 0 and _only_should_failed(found)
    if not says_all:
        yield from _counts(found, width, verbosity)
    how = ": -v shows how" if says_all and verbosity == 0 else ""
    yield from _lines(f"verdict: {concluded(found)} ({why(found)}{how})", width, _COLOURS[found.verdict], bold=True)
    if found.also:
        yield from _lines(second(found.also), width)
        for verdict in found.also.verdicts:
            if verdict.violation and not any(verdict.rule.id == other.rule.id and other.violation for other in found.verdicts):
                yield from _rule(verdict, width)


def _only_should_failed(found: ImplementationReport) -> bool:
    """Whether a class conforms, and fails rules that fail no run: the verdict says how many, the lines above it which."""
    return found.verdict is RunVerdict.CONFORMANT and found.level is Level.MUST and bool(found.failed_rules(Level.SHOULD))


def _counts(found: ImplementationReport, width: int, verbosity: int) -> Iterator[Line]:
    """Yield how many rules of each level have each verdict; in brief of those that are asked of the class."""
    asked = set(Verdict) - (_NOT_ASKED if verbosity <= 0 else set())
    parts = []
    for level, counts in found.counts().items():
        if said := _counted(counts, sum(1 for verdict in found.failed_rules(level) if verdict.known), asked):
            parts.append(f"{level}: {said}")
    if provisional := _counted(Counter(verdict.verdict for verdict in found.verdicts if not verdict.rule.counts), 0, asked):
        parts.append(f"provisional, in no count: {provisional}")
    yield from _in_one_line(parts, "; ", width)


def _table(implementations: Sequence[ImplementationReport]) -> Iterator[Line]:
    """Yield a line for each of several implementations, below how many rules of each level failed."""
    yield Line("")
    yield Line(f"  {'':<14}  failed MUST  SHOULD", bold=True)
    for found in implementations:
        failed_rules = f"{len(found.failed_rules(Level.MUST)):>13}{len(found.failed_rules(Level.SHOULD)):>8}"
        yield Line(f"  {found.verdict:<14}{failed_rules}  {found.name}", _COLOURS[found.verdict])
    yield Line("")


def _rules_of(found: ImplementationReport, width: int, verbosity: int, named: Collection[str]) -> Iterator[Line]:
    """Yield what there is to say of single rules: in brief what fails, and how much else is not known."""
    if verbosity <= 0:
        yield from _brief(found, width, verbosity, named)
        return
    for note in _further_notes(found):
        yield from _lines(f"note: {note}", width)
    for verdict in found.verdicts:
        if verdict.verdict in _ONE_BY_ONE or (verbosity > 1 and verdict.verdict is Verdict.PASSED):
            yield from _rule(verdict, width)
    for kind in _IN_GROUPS:
        yield from map(Line, _groups(found, kind, width))


def _brief(found: ImplementationReport, width: int, verbosity: int, named: Collection[str]) -> Iterator[Line]:
    """Yield a line for each failed rule that has none elsewhere, and what else is known in the fewest lines."""
    failed_rules = most_urgent_first(found)
    for verdict in failed_rules:
        if verdict.rule.id not in named:
            yield from (line._replace(text=cut(line.text, width)) for line in _rule(verdict, 10**6))
    several = len(failed_rules) > 1 and not failed_rules[0].known
    if several and (found.failed or blocks(found, failed_rules[0].rule)):
        blocked = blocks(found, failed_rules[0].rule)
        also = f", which blocks {blocked} other{'s' if blocked > 1 else ''}" if blocked else ""
        yield Line(f"  start with {failed_rules[0].rule.id}{also}", bold=True)
    decided = several and found.verdict in (RunVerdict.CONFORMANT, RunVerdict.NON_CONFORMANT)
    counted = (Verdict.BLOCKED, Verdict.NOT_COVERED) if decided else ()
    for kind in (verdict for verdict in NOT_TESTED if verdict not in counted):
        yield from (Line(cut(line, width)) for line in _groups(found, kind, 10**6, number=True))
    notes = _further_notes(found)
    more = [f"{len(notes)} note{'s' * (len(notes) != 1)}"] if notes else []
    if any(verdict.verdict in counted for verdict in found.verdicts):
        more.append("why rules were not tested")
    if found.level is Level.MUST and any(verdict.rule.level is not Level.MUST for verdict in failed_rules):
        more.append("how SHOULD rules fail")
    if more and verbosity >= 0 and not _only_should_failed(found):
        yield from _lines(f"-v shows {', '.join(more)}", width)


def _further_notes(found: ImplementationReport) -> list[str]:
    """Return the notes that are not always told."""
    return [note for note in found.notes if not note.startswith(_ALWAYS_TOLD)]


def _counted(counts: Counter[Verdict], known: int, asked: Collection[Verdict]) -> str:
    parts = [f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict] and verdict in asked]
    return ", ".join(f"{part} ({known} known)" if known and part.endswith(Verdict.FAILED) else part for part in parts)


def _rule(verdict: RuleVerdict, width: int) -> Iterator[Line]:
    rule = verdict.rule
    state = verdict.verdict.upper() if verdict.verdict is Verdict.FAILED else str(verdict.verdict)
    said = verdict.reason
    if verdict.known:
        state, said = "known", verdict.known
    elif verdict.violation:
        told = dict.fromkeys(other.actual for other in verdict.violation.others if other.actual != verdict.violation.actual)
        said = "; also ".join((verdict.violation.said, *told))
    colour = _COLOURS.get(verdict.verdict, "")
    if verdict.verdict is Verdict.FAILED and (rule.level is not Level.MUST or not rule.counts or verdict.known):
        colour = "yellow"
    text = f"  {state:<14}{rule.level:<7}{rule.id}{' (provisional)' if rule.provisional else ''}"
    if len(text) + len(said) + 2 <= width:
        yield Line(f"{text}  {said}".rstrip(), colour)
    else:
        yield Line(text, colour)
        yield from (Line(line, colour) for line in wrapped(said, width, " " * 23))


def _groups(found: ImplementationReport, kind: Verdict, width: int, *, number: bool = False) -> Iterator[str]:
    """Yield the rules with a verdict, or only their number, grouped by its reason."""
    groups: dict[str, list[str]] = {}
    for verdict in found.verdicts:
        if verdict.verdict is kind:
            groups.setdefault(verdict.reason, []).append(verdict.rule.id)
    for reason, rules in groups.items():
        named = f"{len(rules)} rules" if number and len(rules) > 2 else ", ".join(rules)
        yield from wrapped(f"{kind}: {named} ({reason})", width, "  ")


def second(also: ImplementationReport) -> str:
    """Return what is known by a second contract, in one sentence."""
    return f"by the profile {also.profile}, which fails no run: {concluded(also)} ({why(also)})"


def why(found: ImplementationReport) -> str:
    """Return why the verdict of a run is what it is."""
    must, should = found.failed_rules(Level.MUST), found.failed_rules(Level.SHOULD)
    said = {
        RunVerdict.CONFORMANT: _covered(found),
        RunVerdict.PARTIAL: f"no MUST rule failed, but {_untested(found)}; {_covered(found)}",
        RunVerdict.NON_CONFORMANT: _failed(must),
        RunVerdict.INCONCLUSIVE: "no MUST rule passed, so nothing is proven",
    }[found.verdict]
    if found.verdict is RunVerdict.INCONCLUSIVE and found.counts()[Level.MUST][Verdict.PASSED]:
        said = f"{_failed_around(found)}, so nothing is proven"
    elif found.verdict is RunVerdict.INCONCLUSIVE and (reason := _only_reason(found)):
        said = reason
    if should:
        gates = ", which fails this run" if found.failed and not must else ""
        said += f"; {_failed(should)}{gates}"
    return said


def _failed_around(found: ImplementationReport) -> str:
    """Return what failed but the class: the kit, or something around, which a note names as rules do that were not tested."""
    if any(verdict.verdict is Verdict.ERROR for verdict in found.verdicts):
        return "the kit itself failed"
    reasons = (verdict.reason for verdict in found.verdicts if verdict.verdict is Verdict.NOT_COVERED)
    return next((reason for reason in reasons if reason in found.notes), "something around the class failed")


def _untested(found: ImplementationReport) -> str:
    """Return what a run left out that found nothing."""
    counts = found.counts()[Level.MUST]
    return "not all could be tested" if counts[Verdict.NOT_COVERED] or counts[Verdict.BLOCKED] else "not all checks were run"


def _only_reason(found: ImplementationReport) -> str:
    """Return why all rules that apply are blocked, if that is one reason, or ``""``."""
    known = [verdict for verdict in found.verdicts if verdict.verdict not in (Verdict.NOT_APPLICABLE, Verdict.UNTESTABLE)]
    reasons = {verdict.reason if verdict.verdict is Verdict.BLOCKED else "" for verdict in known}
    return reasons.pop() if len(reasons) == 1 else ""


_NAMES = tuple(found.name.replace("_", "-") for found in fields(Capabilities))
_COVERED = tuple(name for name in _NAMES if name in FLAGS and name != "real-loop")
"""The capabilities that a verdict names, in the order in which it does."""


def _covered(found: ImplementationReport) -> str:
    """Say what a verdict covers: a class that offers less is asked for less."""
    order = found.claims.get("order") or next((order.value for order in Order if order.lower() in found.offers), "none")
    parts = [] if order == Order.NONE else [order]
    if found.claims.get("priority", "higher-first" if "by-priority" in found.offers else "none") != "none":
        parts.append("by priority")
    for name in _COVERED:
        claimed = found.claims.get(name)
        if name in found.offers or (claimed == "yes" and name in UNSEEN):
            parts.append(name)
        elif claimed == "no":
            parts.append(f"{name}=no as claimed")
    if ignored := found.claims.get("ignores"):
        parts.append(f"ignores={ignored} as claimed")
    must = [v for v in found.verdicts if v.rule.level is Level.MUST and v.rule.counts and v.verdict is not Verdict.UNTESTABLE]
    apply = sum(1 for v in must if v.verdict is not Verdict.NOT_APPLICABLE)
    return "; ".join(filter(None, [", ".join(parts), f"{apply} of {len(must)} MUST rules apply"]))


def _failed(verdicts: Sequence[RuleVerdict]) -> str:
    """Say how many rules of a level failed, and how many of them are known to fail."""
    if not verdicts:
        return ""
    text = f"{len(verdicts)} {verdicts[0].rule.level} rule{'s' if len(verdicts) != 1 else ''} failed"
    known = sum(1 for verdict in verdicts if verdict.known)
    if known == len(verdicts):
        return f"{text}, {'all' if known > 1 else 'and'} known"
    return f"{text}, {known} of them known" if known else text


def _in_one_line(parts: Sequence[str], between: str, width: int, *, bold: bool = False) -> Iterator[Line]:
    """Yield some texts in one line if they fit, or each of them by itself; a first one that is bold begins at the margin."""
    if not parts:
        return
    first, *others = parts
    whole = Line(f"{'' if bold else '  '}{between.join(parts)}", bold=bold)
    if len(whole.text) <= width:
        yield whole
        return
    yield from [Line(first, bold=True)] if bold else _lines(first, width)
    for part in others:
        yield from _lines(part, width)


def _lines(text: str, width: int, colour: str = "", *, bold: bool = False) -> Iterator[Line]:
    return (Line(line, colour, bold) for line in wrapped(text, width, "  "))


def for_stream(text: str, stream: TextIO) -> str:
    """Return a line as it is printed: no word in two parts in a terminal, and in one line for what else reads it."""
    return "\n".join(wrapped(text, shutil.get_terminal_size().columns, "", whole=True)) if stream.isatty() else text


def wrapped(text: str, width: int, indent: str, *, whole: bool = False) -> list[str]:
    """Return a text as lines of so many columns; words that are longer may stay whole, to be copied."""
    later = indent + "  "
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=later, break_on_hyphens=False, break_long_words=not whole
    )
